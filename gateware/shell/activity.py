# SPDX-License-Identifier: BSD-2-Clause
"""Activity tracing of an engine: rows of a timeline, and the signals that they are derived from.

An engine names signals that it has anyway; nothing of a bitstream hangs on them. A virtual board's
top looks at them from outside (:mod:`~quintet.boards.virtual.activity`).
"""

from dataclasses import dataclass, field

from amaranth import Const
from amaranth.hdl import ValueLike

__all__ = ["Activity", "Row"]


@dataclass(frozen=True)
class Row:
    """Row of an activity timeline, declared before elaboration.

    Attributes
    ----------
    name : str, unlike all others of the engine
    queue : bool
        Instructions come in faster than they leave, in order: the oldest is shown.
    domain : str, clock domain of the signals
    numbered : bool, it says which instruction is at work
    """

    name: str
    queue: bool = False
    domain: str = "sync"
    numbered: bool = True


@dataclass(frozen=True)
class Activity:
    """Traced signals of a :class:`Row`, known after elaboration; tracing adds no logic.

    Attributes
    ----------
    busy : Value, level: it is at work; of a queue: the oldest has begun. Or a pair of values:
        it is from the cycle of the first to before that of the second
    number : byte address of an instruction in main memory,
        or name of a row whose present one it is (for rows that are ``numbered``)
    base : added to ``number``: a value, or ``(take, value)``,
        what ``value`` was when ``take`` was last set
    takes : ``number`` is an instruction that begins in this cycle; where not given,
        ``number`` stands while ``busy``. Of a queue: that comes in
    each : int, for straight programs: bytes of an instruction; ``base`` is the first's,
        and each that ``takes`` is the next
    leaves : of a queue: a part of the oldest is complete
    parts : of a queue: parts of what comes in, 1 to 63
    """

    busy: ValueLike | tuple[ValueLike, ValueLike] = field(default_factory=lambda: Const(1, 1))
    number: ValueLike | str | None = None
    base: ValueLike | tuple[ValueLike, ValueLike] = 0
    takes: ValueLike = field(default_factory=lambda: Const(0, 1))
    each: int = 0
    leaves: ValueLike = field(default_factory=lambda: Const(0, 1))
    parts: ValueLike = 1
