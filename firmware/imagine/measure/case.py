# SPDX-License-Identifier: BSD-2-Clause
"""Test case of IMAGine: a program with its registers and memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ....gateware.cores.imagine.isa import ISA
from ....gateware.cores.imagine.model import cycles
from ....tools.measure.case import Case

__all__ = ["Case", "case_of"]


def case_of(
    name: str,
    params: dict[str, Any],
    words: Sequence[int],
    *,
    program: int = 0x400,
    gap: int = 64,
    size: int | None = None,
    fault: str | None = None,
    registers: Mapping[str, int] | Iterable[tuple[str, int]] = (),
) -> Case:
    """A case of ``words`` at ``program``, with results ``gap`` bytes after them, in the smallest
    memory that holds both."""
    vectors = sum(word == 0x48000000 for word in words)
    output = (program + 4 * len(words) + gap + 63) // 64 * 64
    limit = output + 4 * params["rows"] * vectors
    rng = np.random.default_rng(len(words))
    memory = rng.integers(0, 256, size or (limit + 63) // 64 * 64 + 64).astype(np.uint8)
    data = np.frombuffer(ISA.store(words), np.uint8)
    memory[program : program + data.size] = data
    given = {
        "program_address": program,
        "program_length": data.size,
        "output_at": output,
        "output_limit": limit,
        **dict(registers),
    }
    return Case(
        name, params, list(words), given, memory, fault, cycles.estimate(words, dict(params))
    )
