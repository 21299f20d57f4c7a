# SPDX-License-Identifier: BSD-2-Clause
"""Cycle-level simulation of a program's issue (docs/isa/pim.md, sections 9 and 10): all cores'
clocks, their units and the memory they share.

A core issues in order. An instruction is checked in three cycles, or four with a second source or a
global address, and then stands in front of its unit until nothing in flight is in its way, so that
one long instruction may hold up all behind it. Where two cores meet, both clocks go on from the
later one.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from .clocks import Clock, Memory

__all__ = ["simulate"]


def simulate(
    codes: Sequence[Sequence[int]],
    groups: Sequence[Sequence[Any]],
    marks: Sequence[Sequence[int]],
    params: Mapping[str, Any],
    load: float,
    beat: float,
    most: float = float("inf"),
) -> list[tuple[float, int]]:
    """Simulates a program: (cycle of the run at which it ends, bytes of main memory it moves) of
    each stretch.

    Parameters
    ----------
    codes : of every core, its words in the 64-bit form
    groups : of every core, its groups, objects with ``rows``, ``cols`` and ``bias``
    marks : of every core, numbers of instructions at which stretches end
    params : build parameters
    load : cycles of LOAD
    beat : bytes that main memory gives in a cycle
    most : cycles from which on nothing is given, and the rest not looked at
    """
    memory = Memory(beat)
    cores = [
        Clock(n, words, own, ends, params, memory, load)
        for n, (words, own, ends) in enumerate(zip(codes, groups, marks, strict=True))
    ]
    ready: list[tuple[float, int]] = []
    meets: dict[Any, Any] = {}
    for core in cores:
        heappush(ready, (core.now, core.number))
    while ready:
        # Stretches are rounded one by one.
        if ready[0][0] > most + len(marks[0]):
            return []
        core = cores[heappop(ready)[1]]
        waits = core.advance(ready[0][0] if ready else None)
        if waits is None:
            if not core.done:
                heappush(ready, (core.now, core.number))
            continue
        what, other, amount = waits
        if what == "sync":
            cores[other].events.setdefault(amount, []).append(core.now)
            woken = cores[other]
            if woken.blocked and woken.try_event():
                heappush(ready, (woken.now, woken.number))
            heappush(ready, (core.now, core.number))
        elif what == "wait":
            if core.try_event():
                heappush(ready, (core.now, core.number))
        else:
            key = (core.number, other) if what == "send" else (other, core.number)
            peer = meets.pop(key, None)
            if peer is None:
                meets[key] = core
                continue
            begin, sender = max(core.now, peer.now), core if what == "send" else peer
            ends = begin + sender.transfer_cycles(begin, amount)
            for one in (core, peer):
                one.met(ends)
                heappush(ready, (one.now, one.number))
    return [
        (max(core.ended[k] for core in cores), sum(core.moved[k] for core in cores))
        for k in range(len(marks[0]))
    ]
