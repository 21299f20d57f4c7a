# SPDX-License-Identifier: BSD-2-Clause
"""Address resolution of a straight-line program: register values followed from the start (for
``densify``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..asm.listing import undefined

__all__ = ["Operand", "Step", "Unresolved", "resolve"]

_LOW32, _LOW64 = (1 << 32) - 1, (1 << 64) - 1


class Unresolved(Exception):
    """The program cannot be followed; the message says from where on and why."""


class Operand(NamedTuple):
    """Resolved operand. ``value``: the final address (or a plain value), ``low``: lowest bit of
    its register's field, ``scale``: bytes that one unit of the offset is (0: the offset does not
    reach it), ``bit``: of ``offset_select`` (0: it always applies); ``pair``: a 64-bit address
    in two registers."""

    low: int
    value: int
    scale: int = 0
    bit: int = 0
    pair: bool = False


@dataclass
class Step:
    """Resolved instruction without its registers: ``word`` has those fields and the offset zero."""

    op: int
    word: int
    widths: tuple[int, int]
    operands: list[Operand] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of elements or bytes."""
        return self.word >> 21 & 2047


def _signed(value, bits):
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


#: Opcode -> operands: (lowest bit, select bit or None for none, True if its unit is an element of
#: the result).
_VECTOR = {
    **dict.fromkeys((10, 11, 14), ((6, 1, 0), (11, 2, 0), (16, 4, 0))),
    **dict.fromkeys((12, 15, 16), ((6, 1, 1), (11, 2, 0), (16, 4, 0))),
    13: ((6, None, 1), (11, 2, 0), (16, 4, 0)),
    18: ((6, 1, 0), (11, 2, 0)),
    **dict.fromkeys((19, 20), ((6, 1, 1), (11, 2, 0))),
    **dict.fromkeys((23, 24), ((6, 1, 1), (11, 2, 0), (16, None, 0))),
    17: ((6, None, 1), (11, 0, 0), (16, None, 0)),
    22: ((6, None, 0), (11, None, 0), (16, None, 0)),
    9: ((6, None, 0), (11, None, 0)),
}
#: The same for transfers, whose unit is a byte: (lowest bit, select bit, pair).
_MOVES = {
    25: ((6, 1, False), (11, 2, True)),
    26: ((6, 1, True), (11, 2, False)),
    27: ((6, 0, False),),
    28: ((6, 1, False), (11, 2, False)),
    29: ((6, 0, False),),
    30: ((6, 0, False),),
}
_FIELDS = {
    op: sum(31 << low for low, *_ in operands) for op, operands in {**_VECTOR, **_MOVES}.items()
}


def resolve(words: np.ndarray, ibiw: int, obiw: int) -> list[Step]:
    """Steps of a program; scalar instructions are executed and vanish, as do instructions without
    effect.

    Parameters
    ----------
    words : uint64 array, 64-bit words
    ibiw, obiw : widths at the start

    Raises
    ------
    Unresolved
        An instruction that is not legal, or ``sld``.
    """
    regs, steps, bad = [0] * 32, [], undefined(np.asarray(words, np.uint64))
    if bad.any():
        raise Unresolved(f"instruction {int(bad.argmax())} is not legal")
    for index, word in enumerate(words.tolist()):
        op, a, b, c, imm = word & 63, word >> 6 & 31, word >> 11 & 31, word >> 16 & 31, word >> 32
        if op == 2:
            raise Unresolved(f"instruction {index} loads a register from memory")
        if op == 0:
            continue
        if op == 1:
            regs[a] = imm
        elif op in (3, 4, 5):
            regs[a] = (
                regs[b] + regs[c]
                if op == 3
                else regs[b] - regs[c]
                if op == 4
                else regs[b] * regs[c]
            ) & _LOW32
        elif op in (6, 7):
            regs[a] = (regs[b] + imm if op == 6 else regs[b] * imm) & _LOW32
        elif op == 8:
            ibiw, obiw = a or 32, b or 32
        else:
            step = _step(index, word, op, regs, ibiw, obiw)
            if op in (9, 31, 32) or step.count:
                steps.append(step)
    return steps


def _step(index, word, op, regs, ibiw, obiw):
    offset, select = _signed(word >> 35, 29), word >> 32 & 7
    step = Step(op, word & _LOW32 & ~_FIELDS.get(op, 0), (ibiw, obiw))
    inwards, outwards = (ibiw + 7) // 8, (obiw + 7) // 8
    for low, bit, out in _VECTOR.get(op, ()):
        scale = 0 if bit is None else outwards if out else inwards
        applies = bit is not None and (bit == 0 or select & bit)
        value = regs[word >> low & 31] + (offset * scale if applies else 0) & _LOW32
        step.operands.append(Operand(low, value, scale, bit or 0))
    for low, bit, pair in _MOVES.get(op, ()):
        register = word >> low & 31
        if pair and register & 1:
            raise Unresolved(f"instruction {index} names an odd pair")
        value = regs[register] << 32 | regs[register + 1] if pair else regs[register]
        value = value + (offset if bit == 0 or select & bit else 0) & (_LOW64 if pair else _LOW32)
        step.operands.append(Operand(low, value, 1, bit, pair))
    return step
