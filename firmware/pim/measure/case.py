# SPDX-License-Identifier: BSD-2-Clause
"""Test case of PIM: a program image with its registers and memory, and its run on the golden
model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....gateware.cores.pim.image.image import Image, code_of
from ....gateware.cores.pim.model.model import Model
from ....gateware.isa.outcome import Outcome
from ....tools.measure.case import Case as BaseCase
from ....tools.measure.case import registers_of

__all__ = ["Case", "make_case", "run_model"]


@dataclass
class Case(BaseCase):
    """A run: ``image`` lies in ``memory`` at ``registers["program_address"]``; ``words`` are pairs
    (core, word)."""

    image: Image | None = None


def make_case(
    name: str,
    params: dict[str, Any],
    image: Image,
    words: Iterable[tuple[int, int]],
    memory: np.ndarray,
    at: int,
    registers: Mapping[str, int] | None = None,
    *,
    cycles: int = 0,
    patch: Iterable[tuple[int, bytes]] = (),
    **notes: Any,
) -> Case:
    """Builds a :class:`Case` of ``image``, with its cores' code filled in from ``words``;
    ``patch``: pairs (offset, bytes)."""
    cores = []
    for number, core in enumerate(image.cores):
        own = np.array([w for n, w in words if n == number], dtype=np.uint64)
        cores.append(
            replace(core, code=code_of(own, core.mode), count=len(own)) if len(own) else core
        )
    image = replace(image, cores=cores)
    data = bytearray(image.data())
    for offset, piece in patch:
        data[offset : offset + len(piece)] = piece
    memory = memory.copy()
    memory[at : at + len(data)] = np.frombuffer(bytes(data), np.uint8)
    registers = {"program_address": at, "program_length": len(data), **(registers or {})}
    return Case(
        name, params, list(words), registers, memory, cycles=cycles, notes=notes, image=image
    )


def run_model(case: Case, **more: int) -> tuple[Outcome, np.ndarray, Model]:
    """Runs a case on the golden model: ``(outcome, memory, model)``."""
    memory = case.memory.copy()
    model = Model(dict(case.params), memory)
    return model.run({**registers_of(case), **more}), memory, model
