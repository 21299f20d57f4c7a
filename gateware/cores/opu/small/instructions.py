# SPDX-License-Identifier: BSD-2-Clause
"""Micro-instructions of the small OPU engine: fields, operations, conditions, registers, hazards
(docs/how/microcode.md). Pure Python.

What stands behind an operation, ``operation [register] [*count] [action]``:

* ``*n`` repeats it n times (1 to 30), ``**`` as often as the count register says (0 to 31).
* The register is read a cycle before the operation, so that X must have been set by the last
  instruction but one.
* Actions: ``>REG`` writes the result to a register, ``>REG+X`` to an entry of an array;
  ``=U``/``=U+X``/``=B+X`` to the tables of the rounder; ``=M`` puts the register (not the result)
  into M; ``?COND label`` jumps; ``!COMMAND`` or ``!COMMAND:n``; ``<NAME REG`` writes a register of
  the control block to the register named.

What an instruction writes may be read by the next but one. A jump that is taken costs one cycle
more.
"""

import enum

from ....microcode.layout import Layout
from ....microcode.machine import Hazard, MachineFormat, Operation
from ....microcode.operands import Choice, Label, Number, Register
from ....microcode.registers import RegisterFile

__all__ = ["DYNAMIC", "FIXED", "LAYOUT", "MACHINE", "Act", "Alu", "Command", "Cond"]


class Alu(enum.IntEnum):
    HOLD = 0  #: A
    LOAD = 1  #: R
    ADD = 2  #: A + R
    SUB = 3  #: A - R
    SHL = 4  #: 2A
    SHR = 5  #: A/2, sign kept
    #: 2A + (top bit of M ? R : 0), from A = 0 in the first of a repetition; M turns left by one
    MUL = 6


class Act(enum.IntEnum):
    NONE, WRITE, JUMP, COMMAND, LOAD_M, COPY, WRITE_U, WRITE_B = range(8)


class Cond(enum.IntEnum):
    ALWAYS, CARRY, NO_CARRY = range(3)
    NEG = 3  #: the result is negative
    HIGH_OPCODE = 4  #: opcode of 32 or more, in M
    HALT = 5  #: a request failed, or the host ends the run
    TROUBLE = 6  #: a request failed
    NO_WORD = 7  #: the instruction word is not there yet
    DMA = 8  #: requests or results are under way
    CONV = 9  #: a convolution is under way
    BUSY = 10  #: any of both
    LOOP = 11  #: the counter is not 0; it goes down by one
    MORE = 12  #: the counter is not 0


class Command(enum.IntEnum):
    """Commands to the units. Each takes its value from R (configuration, which is needed later) or
    from A (addresses)."""

    DISPATCH = 0  #: jump to entry 32 * n + opcode
    X = 1  #: index = R
    COUNT = 2  #: count register of ``**`` = R
    CNT = 3  #: counter of LOOP = R
    FETCH = 4  #: ask for the word at A
    READ = 5  #: ask for BEATS + 1 beats at A
    WRITE = 6  #: announce them; the next RUN begins a new position
    BEATS = 7
    SINK = 8  #: n = 1: loads go to bias, 2: to the line at the pointer
    STORING = 9  #: a store or pad begins
    MOVED = 10  #: a DMA instruction is over
    RETIRE = 11
    FINISH = 12  #: with code R; the next instruction reads the detail, A is the pc
    READY = 13  #: idle
    WHERE = 14  #: index = number of the request that failed
    LINE = 15  #: pointer = line A
    SLICE = 16  #: pointer = line A; copy a tap's weights
    CONV = 17  #: pointer = line A; convolve, R: kind
    #: requantise a position from A on, residual at line R; n: 1 writes it, 2 takes it from the pool
    RUN = 18
    ZEROS = 19  #: write a slot of zeros
    LINE_STEP, ROW_STEP, COLUMNS, ROWS, CHANNELS, CHUNKS, WORDS, SHIFT, MASK, POST = range(20, 30)


#: Fields. ``what``: condition of a jump, else repetitions.
LAYOUT = Layout(rs=8, alu=(3, Alu), act=(3, Act), x=10, what=5, rs_x=1, x_x=1)
#: ``what`` of an operation that is repeated as often as the count register says.
DYNAMIC = 31

_ARRAYS = {"BASE": (64, 16), "LIMIT": (80, 16), "RING": (124, 4), "BIAS": (128, 64)}
#: Registers with a place that the hardware knows: the word and its address field, arrays.
FIXED = {"WORD": 0, "OFFSET": 1} | {name: place for name, (place, _) in _ARRAYS.items()}
_SOURCES = ("PROGRAM", "LENGTH", "WINDOW_BASE", "WINDOW_LIMIT")
#: M, and the rounder's tables: first values of sums for ``conv.bias`` (and, at ``U``, of all
#: others), and addends.
_TAKERS = {
    "M": {"act": Act.LOAD_M},
    "U": {"act": Act.WRITE_U, "x": 128},
    "U+X": {"act": Act.WRITE_U, "x": 64, "x_x": 1},
    "B+X": {"act": Act.WRITE_B, "x": 64, "x_x": 1},
}

_OPERANDS = {
    "": (Register("rs", indexed={"rs_x": 1}),),
    ">": (Register("x", indexed={"x_x": 1}, written=True), {"act": Act.WRITE}),
    "=": (Choice("act", _TAKERS),),
    "?": (Choice("what", Cond), Label("x"), {"act": Act.JUMP}),
    "!": (Choice("x", Command, argument=5), {"act": Act.COMMAND}),
    "<": (
        Choice("rs", {name: number for number, name in enumerate(_SOURCES)}),
        Register("x", written=True),
        {"act": Act.COPY},
    ),
}
_REPEATED = _OPERANDS | {"*": (Number("what", "Repetition", range(1, DYNAMIC), {"*": DYNAMIC}),)}


def _reads_too_early(first, second):
    return (
        first["act"] in (Act.WRITE, Act.COPY)
        and second["rs"] == first["x"]
        and second["act"] != Act.COPY
    )


def _index_too_late(first, second):
    return (
        first["act"] == Act.COMMAND
        and first["x"] & 31 in (Command.X, Command.WHERE)
        and second["rs_x"]
    )


MACHINE = MachineFormat(
    layout=LAYOUT,
    size=1024,
    defaults={"rs": "#0"},
    registers=RegisterFile(
        256,
        FIXED,
        _ARRAYS,
        variables=(*range(2, 64), *range(96, 124), *range(192, 208)),
        constants=range(208, 256),
    ),
    operations={
        alu.name.lower(): Operation(
            {"alu": alu}, _REPEATED if alu in (Alu.SHL, Alu.SHR, Alu.MUL) else _OPERANDS
        )
        for alu in Alu
    },
    hazards=(
        Hazard(_reads_too_early, "{second} reads what the one before it writes"),
        Hazard(_index_too_late, "{second} is read with the index before this one"),
    ),
)
