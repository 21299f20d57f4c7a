# SPDX-License-Identifier: BSD-2-Clause
"""Programming model of the accumulator machine: operations, operands, registers
(docs/how/microcode.md). Pure Python.

Operands of ``ld``, ``add``, ``sub``, ``and``, ``adc``, ``mul``, ``idx`` (and of ``st``, but for the
last two): ``name``, a variable; ``name.2``, an entry of an array; ``name+X``, the entry that the
index says; ``#n``, a number; ``$NAME``, a source of the core's.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..isa.registers import StallClass
from .layout import Layout
from .machine import MachineFormat, Operation
from .operands import Choice, Label, Number, Register
from .registers import RegisterFile

if TYPE_CHECKING:
    from enum import IntEnum, IntFlag


__all__ = ["OPERAND_BITS", "AccumulatorFormat", "Mode", "Op", "accumulator_machine"]

#: Bits of an operand; of a number in it.
OPERAND_BITS, _NUMBER_BITS = 11, 9


class Op(enum.IntEnum):
    """Operations of the accumulator machine. A: accumulator, C: carry, P: address, X: index, R:
    operand."""

    LD = 0  #: A = R
    ADD = 1  #: A = A + R; C
    SUB = 2  #: A = A - R; C: A was at least R
    AND = 3  #: A = A & R
    ST = 4  #: R = A
    SHL = 5  #: A turns left by a number, or X; zeros follow. C: the last bit that left
    SHR = 6  #: right
    OUT = 7  #: a sink takes A
    READ = 8  #: A = word of main memory at A; C: error
    REQUEST = 9  #: a word is going to be written at A
    SEND = 10  #: it is A; C: error
    RUN = 11  #: an operation of a unit, from A
    CNT = 12  #: counters
    CLS = 13  #: the class of cycles from here on
    JMP = 14
    JZ = 15  #: A is 0
    JNZ = 16
    JC = 17
    JNC = 18
    JABORT = 19  #: the run is to be aborted
    CALL = 20
    RET = 21
    JTAB = 22  #: jump to label + A
    WAIT = 23  #: idle until a run starts; no call is open then
    #: A = upper half of A * R, without signs; the source LOW: the lower half; C: its highest bit
    MUL = 24
    IDX = 25  #: X = R
    JNEG = 26  #: A's highest bit is set
    JPOS = 27
    ADC = 28  #: A = A + R + C; C


class Mode(enum.IntEnum):
    """Addressing modes, which select the operand R."""

    PLACE, INDEXED, SOURCE, NUMBER = range(4)


_INDEXED = {"x": Mode.INDEXED << _NUMBER_BITS}
_SHIFT = {"": (Number("x", "Shift", range(1, 32), {"X": 1 << OPERAND_BITS - 1}),)}
_JUMPS = (Op.JMP, Op.JZ, Op.JNZ, Op.JC, Op.JNC, Op.JNEG, Op.JPOS, Op.JABORT, Op.CALL, Op.JTAB)


@dataclass(frozen=True)
class AccumulatorFormat(MachineFormat):
    """Declaration of an accumulator machine, the result of :func:`accumulator_machine`."""

    sources: Any = None
    sinks: Any = None
    counts: Any = None
    returns: int = 0
    shown: str = ""

    @property
    def arrays(self) -> dict[str, tuple[int, int]]:
        """Arrays by name: (address, entries)."""
        return self.registers.arrays

    def cycles(self, word: int) -> str:
        """Cycles of an operation, as text. Most take two; a shift one per bit plus one, a product
        33 to 65 (``33+``); an operation that waits for units or memory takes ``2+``."""
        op, x = word >> OPERAND_BITS, word & (1 << OPERAND_BITS) - 1
        if op in (Op.SHL, Op.SHR):
            return "2+" if x >> OPERAND_BITS - 1 else str(1 + max(1, x))
        return (
            "33+"
            if op == Op.MUL
            else "2+"
            if op in (Op.READ, Op.REQUEST, Op.SEND, Op.RUN, Op.WAIT)
            else "2"
        )


def accumulator_machine(
    *,
    sources: type[IntEnum],
    sinks: type[IntEnum],
    counts: type[IntFlag],
    arrays: dict[str, tuple[int, int]],
    returns: int,
    variables: Iterable[int],
    shown: str,
    fixed: Mapping[str, int] | None = None,
    size: int = 2048,
) -> AccumulatorFormat:
    """Declares the accumulator machine of a core: 256 registers of 32 bits, programs of up to 2048
    micro-instructions of 16 bits.

    Parameters
    ----------
    sources : enumeration of the sources that ``$NAME`` reads besides registers; ``LOW`` is the
        machine's own
    sinks : enumeration of the destinations of ``out``; ``X`` and ``P``, the first two,
        are the machine's own
    counts : flags of the counters of ``cnt``
    arrays : dict, name -> (place, entries); the index is OR'ed to the place
    returns : place of eight return addresses
    variables : places of variables and of constants beyond 511
    fixed : dict, name -> place, of what has one that the core knows
    shown : array whose entries are shown while the machine waits
    """
    if [sink.name for sink in sinks][:2] != ["X", "P"]:
        raise ValueError(
            f"Sinks of a machine begin with X and P, not with "
            f"{', '.join(sink.name for sink in sinks)}"
        )
    for kind, most in ((sources, 32), (sinks, 16)):
        if len(kind) > most:
            raise ValueError(
                f"A machine has at most {most} members of {kind.__name__}, not {len(kind)}"
            )
    given = {source.name: Mode.SOURCE << _NUMBER_BITS | source for source in sources}
    plain = Register(
        "x", indexed=_INDEXED, limit=1 << _NUMBER_BITS, immediate={"x": Mode.NUMBER << _NUMBER_BITS}
    )
    # A product changes LOW while it reads the operand.
    factors = {
        "": (plain,),
        "$": (Choice("x", {name: number for name, number in given.items() if name != "LOW"}),),
    }
    operands: dict[Op, dict[str, tuple[Any, ...]]] = {
        **dict.fromkeys(
            (Op.LD, Op.ADD, Op.SUB, Op.AND, Op.ADC, Op.IDX),
            {"": (plain,), "$": (Choice("x", given),)},
        ),
        Op.MUL: factors,
        Op.ST: {"": (Register("x", indexed=_INDEXED, written=True),)},
        **dict.fromkeys((Op.SHL, Op.SHR), _SHIFT),
        Op.OUT: {"": (Choice("x", sinks),)},
        Op.CNT: {"": (Choice("x", counts, several=True),)},
        Op.CLS: {
            "": (
                Choice(
                    "x",
                    {name: number for name, number in vars(StallClass).items() if name.isupper()},
                ),
            )
        },
        **dict.fromkeys(_JUMPS, {"": (Label("x"),)}),
    }
    return AccumulatorFormat(
        layout=Layout(x=OPERAND_BITS, op=(5, Op)),
        size=size,
        filler="wait",
        registers=RegisterFile(256, dict(fixed or {}), arrays, variables=tuple(variables)),
        operations={
            op.name.lower(): Operation({"op": op}, operands.get(op, {}), int(op in operands))
            for op in Op
        },
        sources=sources,
        sinks=sinks,
        counts=counts,
        returns=returns,
        shown=shown,
    )
