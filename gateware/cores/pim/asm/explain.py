# SPDX-License-Identifier: BSD-2-Clause
"""Description of the instruction at which a run of PIM ended."""

from dataclasses import replace

import numpy as np

from ....isa.asm.program import Program
from ....isa.outcome import Outcome
from ..image.image import words_of
from ..image.reading import TableFault
from .listing import core_lines, image_of

__all__ = ["explain"]


def explain(program: Program, at: int, outcome: Outcome) -> list[str]:
    """Implements the hook ``Software.explain``: describes the core, the instruction's number in it,
    and its text. Empty if the address is not an instruction of this program (a fault of LOAD, or an
    image chosen by ``core_table``)."""
    number = outcome.values.get("fault_core", 0)
    try:
        image, tables = image_of(program.data)
    except TableFault:
        return []
    fault = outcome.fault
    if fault is None or fault.name == "table" or number >= len(image.cores):
        return []
    core = image.cores[number]
    words, offsets = words_of(core.code, core.mode, core.count)
    offset = fault.pc - at - tables.cores[number].code
    index = int(np.searchsorted(offsets, offset))
    if index >= len(words) or offsets[index] != offset:
        return []
    alone = replace(core, code=core.code[offset : int(offsets[index + 1])], count=1)
    return [f"core {number}, instruction {index}: {core_lines(alone, number, len(image.cores))[0]}"]
