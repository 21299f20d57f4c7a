# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's micro-instructions: fields, operations, sources, sinks, registers (docs/how/microcode.md). Pure Python.

Operands of ``ld``, ``add``, ``sub``, ``and``, ``mul`` (and of ``st``, but for the last two): ``name``, a variable; ``name.2``, an entry of an
array; ``name+X``, the entry that the index says; ``#n``, a number; ``$NAME``, a :class:`Source`.
"""
import enum

from ....isa.registers import StallClass
from ....microcode.layout import Layout
from ....microcode.machine import MachineFormat, Operation
from ....microcode.operands import Choice, Label, Number, Register
from ....microcode.registers import RegisterFile

__all__ = ["ARRAYS", "MACHINE", "RETURNS", "Count", "Mode", "Op", "Sink", "Source"]


class Op(enum.IntEnum):
    """Operations; A: the accumulator, C: the carry, P: an address, X: an index, R: the operand."""
    LD = 0              #: A = R
    ADD = 1             #: A = A + R; C
    SUB = 2             #: A = A - R; C: A was at least R
    AND = 3             #: A = A & R
    ST = 4              #: R = A
    SHL = 5             #: A turns left by a number, or X; zeros follow. C: the last bit that left
    SHR = 6             #: right
    OUT = 7             #: a sink takes A
    READ = 8            #: A = word of main memory at A; C: error
    REQUEST = 9         #: a word is going to be written at A
    SEND = 10           #: it is A; C: error
    RUN = 11            #: an operation of a unit, from A
    CNT = 12            #: counters
    CLS = 13            #: the class of cycles from here on
    JMP = 14
    JZ = 15             #: A is 0
    JNZ = 16
    JC = 17
    JNC = 18
    JABORT = 19         #: the run is to be aborted
    CALL = 20
    RET = 21
    JTAB = 22           #: jump to label + A
    WAIT = 23           #: idle until a run starts; no call is open then
    MUL = 24            #: A = upper half of A * R; C: the bit below it


class Mode(enum.IntEnum):
    """Where R comes from."""
    PLACE, INDEXED, SOURCE, NUMBER = range(4)


class Source(enum.IntEnum):
    """What else is read; the last two at P."""
    WINDOW_BASE, WINDOW_LIMIT, PROGRAM_ADDRESS, PROGRAM_LENGTH, DMA_IN_LIST, DMA_OUT_LIST, TABLE, MEM = range(8)


class Sink(enum.IntEnum):
    """What takes A; TABLE and MEM at P. FINISH: the run is over, A is the fault's detail until the next."""
    X, P, TABLE, MEM, PC, STEP, CONTEXT, CODE, FINISH = range(9)


class Count(enum.IntFlag):
    """What a CNT counts: an instruction, element operations, bytes."""
    RETIRED, OPS16, OPS64, READ4, READ32, WRITTEN4 = 1, 2, 8, 16, 32, 64


#: Arrays: name -> (place, entries). The index is OR'ed to the place.
ARRAYS = {"INFO": (0x80, 32), "DESC": (0xA0, 8), "STACK": (0xA8, 8), "LCOUNT": (0xB0, 8), "BODY": (0xB8, 8), "ADDR": (0xC0, 16),
          "ITER": (0xD0, 8), "START": (0xD8, 8), "SERIES": (0x60, 19), "RECIPROCAL": (0xE0, 8), "LOGARITHM": (0xE8, 8), "ROOT": (0xF0, 8)}
#: Places of the return addresses.
RETURNS = 0xF8

_INDEXED = {"x": Mode.INDEXED << 9}
_READ = {"": (Register("x", indexed=_INDEXED, limit=512, immediate={"x": Mode.NUMBER << 9}),),
         "$": (Choice("x", {source.name: Mode.SOURCE << 9 | source for source in Source}),)}
_SHIFT = {"": (Number("x", "Shift", range(1, 32), {"X": 1 << 10}),)}
_OPERANDS = {
    **dict.fromkeys((Op.LD, Op.ADD, Op.SUB, Op.AND, Op.MUL), _READ), Op.ST: {"": (Register("x", indexed=_INDEXED, written=True),)},
    **dict.fromkeys((Op.SHL, Op.SHR), _SHIFT), Op.OUT: {"": (Choice("x", Sink),)}, Op.CNT: {"": (Choice("x", Count, several=True),)},
    Op.CLS: {"": (Choice("x", {name: number for name, number in vars(StallClass).items() if name.isupper()}),)},
    **dict.fromkeys((Op.JMP, Op.JZ, Op.JNZ, Op.JC, Op.JNC, Op.JABORT, Op.CALL, Op.JTAB), {"": (Label("x"),)})}

MACHINE = MachineFormat(
    layout=Layout(x=11, op=(5, Op)), size=2048, filler="wait",
    registers=RegisterFile(256, arrays=ARRAYS, variables=(*range(0x60), *range(0x60 + 19, 0x80))),
    operations={op.name.lower(): Operation({"op": op}, _OPERANDS.get(op, {}), int(op in _OPERANDS)) for op in Op})
