# SPDX-License-Identifier: BSD-2-Clause
"""Memory accesses and durations of the instructions of a resolved program (for ``densify``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..image.image import Group
from ..isa import TWO_SOURCES
from ..model.elements import ELEMENTWISE, bytes_of
from .resolve import Step

__all__ = ["Access", "Range", "access_of", "crosses"]

#: Instructions with one element a cycle.
_SINGLY = frozenset((19, 20))


class Range(NamedTuple):
    """Byte range from ``low`` to ``high`` (exclusive). ``operand``: index of the operand that
    alone says where they lie, or ``None``."""

    low: int
    high: int
    operand: int | None = None


class Access(NamedTuple):
    """Memory accesses and duration of one instruction.

    Attributes
    ----------
    unit : str, ``"matrix"``, ``"vector"`` or ``"transfer"``; ``"event"``: of ``wait`` and ``sync``
    reads : tuple of Range, in local memory
    write : Range or None, in local memory; all its bytes are written
    far : Range or None, in global memory; stores : bool, it is written
    peer : int or None, the other core of ``send`` and ``recv``
    busy : int, cycles that it keeps its unit, and its sources from being overwritten
    takes : int, cycles until its result is there (section 10 of the specification)
    """

    unit: str
    reads: tuple[Range, ...] = ()
    write: Range | None = None
    far: Range | None = None
    stores: bool = False
    peer: int | None = None
    busy: int = 1
    takes: int = 1

    def inside(self, size: int) -> bool:
        """Whether all of its ranges lie in local memory of ``size`` bytes."""
        return all(0 <= r.low <= r.high <= size for r in (*self.reads, self.write) if r is not None)


def crosses(a: Range | None, b: Range | None) -> bool:
    """Whether two ranges overlap; ``None`` overlaps with none."""
    return a is not None and b is not None and a.low < b.high and b.low < a.high


def _words(count):
    return -(-count // 8)


def _strided(step, size):
    """Source of ``vavg`` and ``vmv``."""
    start, stride = step.operands[1].value, (step.operands[2].value ^ 1 << 31) - (1 << 31)
    span = (step.count - 1) * stride * size
    return Range(start + min(span, 0), start + max(span, 0) + size)


def _vector(step):
    inwards, outwards = (bytes_of(w) for w in step.widths)
    op, count, values = step.op, step.count, [o.value for o in step.operands]
    if op in (17, 22):
        size = outwards if op == 17 else count * inwards
        return Access(
            "vector",
            (_strided(step, inwards),),
            Range(values[0], values[0] + size, 0),
            busy=count + 10,
            takes=count + 50,
        )
    reads = tuple(
        Range(values[k], values[k] + count * inwards, k)
        for k in ((1, 2) if op in TWO_SOURCES else (1,))
    )
    size = outwards if op == 13 else count * (inwards if ELEMENTWISE[op][0] else outwards)
    busy = count if op in _SINGLY else len(reads) * _words(count * inwards)
    return Access(
        "vector",
        reads,
        Range(values[0], values[0] + size, 0),
        busy=busy + 2,
        takes=busy + (36 if op == 13 else 12),
    )


def access_of(step: Step, groups: Sequence[Group], lanes: int = 32) -> Access | None:
    """The :class:`Access` of a :class:`~.resolve.Step`, or ``None`` for a matrix group that does
    not exist.

    ``groups`` are the core's; ``lanes`` products are made in a cycle, which ranges do not depend
    on.
    """
    op = step.op
    if op == 9:
        number = step.word >> 21 & 1023
        if number >= len(groups):
            return None
        group, (to, of) = groups[number], (o.value for o in step.operands)
        inwards, outwards = (bytes_of(w) for w in step.widths)
        busy = group.rows * -(-group.cols // lanes)
        return Access(
            "matrix",
            (Range(of, of + group.rows * inwards, 1),),
            Range(to, to + group.cols * outwards, 0),
            busy=busy + 4,
            takes=busy + 16,
        )
    if op in (31, 32):
        return Access("event")
    if op < 25:
        return _vector(step)
    ranges = [Range(o.value, o.value + step.count, k) for k, o in enumerate(step.operands)]
    words = _words(step.count)
    if op == 25:
        return Access("transfer", (), ranges[0], ranges[1], busy=words, takes=words + 40)
    if op == 26:
        return Access("transfer", (ranges[1],), None, ranges[0], True, busy=words, takes=words + 40)
    if op == 27:
        return Access("transfer", (), ranges[0], busy=words, takes=words + 4)
    if op == 28:
        return Access("transfer", (ranges[1],), ranges[0], busy=words, takes=words + 4)
    peer = step.word >> 11 & 1023
    if op == 29:
        return Access("transfer", (ranges[0],), peer=peer, busy=words + 12, takes=words + 12)
    return Access("transfer", (), ranges[0], peer=peer, busy=words + 12, takes=words + 12)
