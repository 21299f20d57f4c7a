# SPDX-License-Identifier: BSD-2-Clause
"""Estimated cycles of a program, from the timing of its instructions."""
from ..base import LoweringError
from .program import ProgramWriter
from .timing import play

__all__ = ["load_cycles", "played", "program_cycles"]

#: Bytes a cycle of a 16-bit SDRAM.
BEAT = 2
#: Measured: cycles of LOAD with weights that stay: always, and for a group.
_LOAD, _LOAD_GROUP = 600, 500


def load_cycles(writer):
    """Cycles before the cores begin, from the second run on."""
    return _LOAD + _LOAD_GROUP * sum(len(core.groups) for core in writer.cores)


def program_cycles(writer):
    """(cycles, bytes of main memory) of each stretch of a program that is written; LOAD, which reads the tables, counts to the first."""
    cores = writer.cores
    marks = [[after[k] for _, _, after in writer.stretches] for k in range(len(cores))]
    ends = play([core.words for core in cores], [core.groups for core in cores], marks, writer.params, load_cycles(writer), BEAT)
    return [(round(end - before), moved) for (before, _), (end, moved) in zip([(0, 0), *ends], ends, strict=False)]


def played(quantised, params, joined):
    """Cycles of the program that :class:`~.program.ProgramWriter` makes with ``joined``; infinite where it cannot."""
    writer = ProgramWriter(quantised, params, joined)
    try:
        writer.place_all(1 << 20)
        writer.write()
    except LoweringError:
        return float("inf")
    return sum(cycles for cycles, _ in program_cycles(writer))
