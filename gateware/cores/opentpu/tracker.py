# SPDX-License-Identifier: BSD-2-Clause
"""Chaining: a younger instruction follows the progress of an older one, row by row."""
from amaranth import Mux, Signal, signed

__all__ = ["overlap", "slack", "tracker"]


def overlap(m, name, first, last, pointer, end):
    """Registered: rows ``first`` .. ``last`` meet rows ``pointer`` .. ``end`` (both ends inclusive).

    Rows of active instructions only become fewer, so that an answer of an earlier cycle errs on the safe side.
    """
    met = Signal(name=f"{name}_overlap")
    m.d.sync += met.eq((first <= end) & (pointer <= last))
    return met


def slack(m, name, first, pointer):
    """Registered: ``pointer`` - ``first`` - 1; negative while row ``first`` is still to be passed by the older one."""
    value = Signal(signed(len(pointer) + 2), name=f"{name}_slack")
    m.d.sync += value.eq(pointer - first - 1)
    return value


def tracker(m, name, *, load, follow, start, older_active, older_step, younger_step):
    """Count how far a younger instruction is behind an older one.

    Parameters
    ----------
    load : one cycle: the younger one issues; ``follow`` says that rows overlap, ``start`` is :func:`slack`
    older_active : the older instruction is still at work; low for a cycle at least before the next one of its unit
    older_step, younger_step : one row done

    Returns
    -------
    Signal: the younger one may do its next row.
    """
    tracked = Signal(name=f"{name}_tracked")
    distance = Signal.like(start, name=f"{name}_distance", reset_less=True)
    with m.If(load):
        m.d.sync += [tracked.eq(follow), distance.eq(start)]
    with m.Else():
        m.d.sync += distance.eq(distance + Mux(older_step == younger_step, 0, Mux(older_step, 1, -1)))
        with m.If(~older_active):
            m.d.sync += tracked.eq(0)
    free = Signal(name=f"{name}_free")
    m.d.comb += free.eq(~tracked | ~distance[-1])
    return free
