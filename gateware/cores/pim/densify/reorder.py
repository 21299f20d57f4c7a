# SPDX-License-Identifier: BSD-2-Clause
"""Instruction scheduler: orders instructions so that units work in parallel and wait less for
results (for ``densify``).

The machine issues in order and waits where an instruction depends on one under way. So the
instruction that can start first comes next, of a few that follow in the program, by the cycles of
section 10; which depends on which stays as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..image.image import Group
from .accesses import Access, Range, access_of, crosses
from .resolve import Step

__all__ = ["Draft", "completes", "meetings", "reorder"]

#: Instructions of the program that are looked at together.
_WINDOW = 48
#: Transfers in flight.
_IN_FLIGHT = 4


@dataclass
class Draft:
    """Program of a core to be scheduled: its steps, and the groups that they name."""

    steps: list[Step]
    groups: list[Group]


@dataclass(eq=False)
class _Waiting:
    """Instruction that is considered, or in flight."""

    step: Step
    access: Access
    place: int
    free: bool  # its global memory is no other core's business
    missing: int = 0  # instructions before it that it depends on and that have not been issued
    ready: int = 0  # cycle from which on it can start
    followers: list = field(
        default_factory=list
    )  # (instruction, whether it needs the result rather than the sources)
    read: int = 0  # cycle at which its sources may be overwritten
    done: int = 0  # cycle at which its result is there


class _Touched:
    """Ranges of global memory that other cores access."""

    def __init__(self, ranges):
        self.lows, self.highs = [], []
        for low, high in sorted((r.low, r.high) for r in ranges):
            if self.highs and low <= self.highs[-1]:
                self.highs[-1] = max(self.highs[-1], high)
            else:
                self.lows.append(low)
                self.highs.append(high)

    def touches(self, far):
        at = bisect_left(self.highs, far.low + 1)
        return at < len(self.lows) and self.lows[at] < far.high


def _depends(late, early, kept):
    """0: ``late`` may overtake ``early``; 1: it must not, but need not wait for its result; 2: it
    needs what ``early`` does to be done. ``kept``: sends and receives stay in order even where they
    are with different cores."""
    a, b = early.access, late.access
    # What another core is told of must have happened; and one that waits for an exact count may
    # miss an event that comes too soon.
    if "event" in (a.unit, b.unit):
        return 2
    if (
        any(crosses(a.write, r) for r in b.reads)
        or crosses(a.write, b.write)
        or crosses(a.far, b.far)
        and (a.stores or b.stores)
    ):
        return 2
    meets = a.peer is not None, b.peer is not None
    if all(meets) and (kept or a.peer == b.peer) or any(crosses(r, b.write) for r in a.reads):
        return 1
    # How long another core lets it wait is not known, and what is behind would wait with it.
    if meets[1] and a.unit != "transfer":
        return 1
    return (
        2
        if meets[0]
        and b.far is not None
        and not late.free
        or meets[1]
        and a.far is not None
        and not early.free
        else 0
    )


class _CoreTiming:
    """Timing model of a core's units, by the cycles of :class:`~.accesses.Access`."""

    def __init__(self):
        self.now, self.free, self.under_way = 0, {}, []

    def start_of(self, waiting):
        return max(self.now, waiting.ready, self.free.get(waiting.access.unit, 0))

    def issue(self, waiting):
        access, start = waiting.access, self.start_of(waiting)
        waiting.read, waiting.done = start + access.busy, start + access.takes
        self.now, self.free[access.unit] = start + 1, waiting.read
        self.under_way = [w for w in self.under_way if w.done > self.now] + [waiting]
        transfers = sorted(w.done for w in self.under_way if w.access.unit == "transfer")
        if len(transfers) >= _IN_FLIGHT:
            self.free["transfer"] = max(self.free["transfer"], transfers[-_IN_FLIGHT])
        for follower, result in waiting.followers:
            follower.missing -= 1
            follower.ready = max(follower.ready, waiting.done if result else waiting.read)


def _ordered(accesses, steps, others, kept):
    """``steps`` in the order in which they can start; ``others``: the :class:`_Touched` for what is
    read, and for what is written."""
    timing, looked_at, issued = _CoreTiming(), [], []
    for place in range(len(steps) + _WINDOW):
        if place < len(steps):
            access = accesses[place]
            new = _Waiting(
                steps[place],
                access,
                place,
                access.far is None or not others[access.stores].touches(access.far),
            )
            for other in looked_at:
                need = _depends(new, other, kept)
                if need:
                    new.missing += 1
                    other.followers.append((new, need == 2))
            for other in timing.under_way:
                need = _depends(new, other, kept)
                if need:
                    new.ready = max(new.ready, other.done if need == 2 else other.read)
            looked_at.append(new)
        if looked_at and (len(looked_at) == _WINDOW or place >= len(steps)):
            best = min(
                (w for w in looked_at if not w.missing),
                key=lambda w: (timing.start_of(w), w.place),
            )
            looked_at.remove(best)
            timing.issue(best)
            issued.append(best.step)
    return issued


def meetings(steps: list[Step]) -> list[tuple[int, int, int]] | None:
    """Rendezvous of a program: ``(opcode, other core, bytes)`` of sends and receives; ``None``
    if the program waits for events, too."""
    if any(step.op in (31, 32) for step in steps):
        return None
    return [(step.op, step.word >> 11 & 1023, step.count) for step in steps if step.op in (29, 30)]


def completes(meetings_of: Sequence[list[tuple[int, int, int]] | None]) -> bool:
    """Deadlock check: whether cores with these :func:`meetings` all come to their end; ``None``
    among them: it cannot be told, so no."""
    known = [found for found in meetings_of if found is not None]
    if len(known) < len(meetings_of):
        return False
    at = [0] * len(known)
    waiting = list(range(len(at)))
    while waiting:
        core = waiting.pop()
        while at[core] < len(known[core]):
            op, other, size = known[core][at[core]]
            if (
                other >= len(at)
                or at[other] >= len(known[other])
                or known[other][at[other]] != (59 - op, core, size)
            ):
                break
            at[core] += 1
            at[other] += 1
            waiting.append(other)
    return all(n == len(m) for n, m in zip(at, known, strict=True))


def reorder(
    drafts: Sequence[Draft | None], lanes: int, size: int, kept: bool
) -> list[list[Step] | None]:
    """Scheduled steps of every core.

    Parameters
    ----------
    drafts : list of Draft or None
        ``None``: a core that is left as it is; nothing is known of what it reads and writes in
        global memory.
    lanes : int, products in a cycle; size : int, bytes of local memory
    kept : bool
        Sends and receives stay in order. Else only those between the same two cores do:
        :func:`completes` tells whether cores then still meet.

    Returns
    -------
    list of lists of Step; ``None`` as in ``drafts``. A program that leaves local memory or names a
    group that does not exist is as it was.
    """
    accesses = [
        None if d is None else [access_of(step, d.groups, lanes) for step in d.steps]
        for d in drafts
    ]
    everything = Access("transfer", far=Range(0, 1 << 64), stores=True)
    touched = [
        [everything] if a is None else [x for x in a if x is not None and x.far is not None]
        for a in accesses
    ]
    orders = []
    for number, (draft, mine) in enumerate(zip(drafts, accesses, strict=True)):
        if draft is None or mine is None or not all(a is not None and a.inside(size) for a in mine):
            orders.append(None if draft is None else draft.steps)
            continue
        foreign = [x for k, them in enumerate(touched) if k != number for x in them]
        # A load minds what others write, a store all that they touch.
        others = _Touched([x.far for x in foreign if x.stores]), _Touched([x.far for x in foreign])
        orders.append(_ordered(mine, draft.steps, others, kept))
    return orders
