# SPDX-License-Identifier: BSD-2-Clause
"""Test case of any ISA: a program with registers and a memory image, for gateware and golden model
alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Case", "registers_of"]


@dataclass
class Case:
    """A program with its inputs and its expected end.

    Attributes
    ----------
    name : str
    params : dict of build parameters
    words : list of the program's words
    registers : dict, what ``Model.run`` takes
    memory : uint8 image from address 0, program included;
        its size is a multiple of 64 and is the main memory's
    fault : name of the fault that the program raises, or ``None``
    cycles : estimate of the cycles on a core with these parameters
    """

    name: str
    params: Mapping[str, Any]
    words: list[Any]
    registers: dict[str, int]
    memory: np.ndarray
    fault: str | None = None
    cycles: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


def registers_of(case: Case) -> dict[str, int]:
    """Registers of a run: a case's main memory ends with its image; the build's is larger."""
    return {"window_limit": case.memory.size, **case.registers}
