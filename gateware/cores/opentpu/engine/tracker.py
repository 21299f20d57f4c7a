# SPDX-License-Identifier: BSD-2-Clause
"""Chaining interlock: a younger instruction follows the progress of an older one row by row."""

from amaranth import Module, Mux, Signal, Value, signed

__all__ = ["LATE", "overlap", "slack", "tracker"]

#: Rows in reserve: a tracker hears of the younger's steps, and answers, a cycle late.
LATE = 2


def overlap(m: Module, name: str, first: Value, last: Value, pointer: Value, end: Value) -> Value:
    """Registered range overlap: whether rows ``first`` .. ``last`` meet rows ``pointer`` .. ``end``
    (both ends inclusive).

    Rows of active instructions only become fewer, so that an answer of an earlier cycle errs on the
    safe side.
    """
    begins, ends = Signal(name=f"{name}_begins"), Signal(name=f"{name}_ends")
    m.d.sync += [begins.eq(first <= end), ends.eq(pointer <= last)]
    return begins & ends


def slack(m: Module, name: str, first: Value, pointer: Value) -> Signal:
    """Registered distance: number of rows by which the older instruction is past row ``first``,
    minus :data:`LATE`; negative while the younger one must wait."""
    value = Signal(signed(len(pointer) + 2), name=f"{name}_slack")
    m.d.sync += value.eq(pointer - first - (1 + LATE))
    return value


def tracker(
    m: Module,
    name: str,
    *,
    load: Value,
    follow: Value,
    start: Value,
    older_active: Value,
    older_step: Value,
    younger_step: Value,
) -> Signal:
    """Distance counter between a younger and an older instruction.

    Parameters
    ----------
    load : one cycle: the younger one issues; ``follow`` says that rows overlap,
        ``start`` is :func:`slack`
    older_active : the older instruction is still at work;
        low for a cycle at least before the next one of its unit
    older_step, younger_step : one row done

    Returns
    -------
    Signal, a register, low in the cycle after ``load`` if ``follow`` was high: the younger one may
    do its next row.
    """
    tracked = Signal(name=f"{name}_tracked")
    distance = Signal.like(start, name=f"{name}_distance", reset_less=True)
    stepped, free = Signal(name=f"{name}_stepped"), Signal(name=f"{name}_free")
    m.d.sync += [
        stepped.eq(younger_step & ~load),
        free.eq(Mux(load, ~follow, ~tracked | ~distance[-1])),
    ]
    with m.If(load):
        m.d.sync += [tracked.eq(follow), distance.eq(start)]
    with m.Else():
        m.d.sync += distance.eq(distance + Mux(older_step == stepped, 0, Mux(older_step, 1, -1)))
        with m.If(~older_active):
            m.d.sync += tracked.eq(0)
    return free
