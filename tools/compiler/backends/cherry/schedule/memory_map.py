# SPDX-License-Identifier: BSD-2-Clause
"""Memory map: decides which arrays, constants and parts of the program list lie in the on-chip part
of main memory.

Without on-chip memory, regions lie one behind another in the order in which tasks ask for them.
With it, the regions whose bytes save most cycles come first. DMA that goes on beside a program
costs nothing until it takes longer, so the timeline of all steps judges each region, and the
traffic of its bytes only those that save nothing there.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .memory import Memory, image_cycles, transfer_cycles
from .steps import Timeline
from .transfers import Transfer

__all__ = ["PROGRAM", "StepTraffic", "order_of", "places_of"]

#: Number of the program list among the regions.
PROGRAM = -1


@dataclass(frozen=True)
class StepTraffic:
    """What a step waits for: ``cycles`` of its program, ``coming`` and ``leaving`` transfers,
    ``image``: words of the program image that it loads, 0 if it is resident already."""

    cycles: int
    coming: Sequence[Transfer]
    leaving: Sequence[Transfer]
    image: int
    prefetch: bool
    defer: bool


def timeline_of(
    steps: Sequence[StepTraffic], coming: Sequence[float], leaving: Sequence[float]
) -> float:
    """Estimated cycles of a program list by the DMA cycles of each step."""
    timeline = Timeline()
    for step, come, leave in zip(steps, coming, leaving, strict=True):
        timeline.step(step.cycles, come, leave, step.prefetch, step.defer)
    return timeline.end


class _Traffic:
    """DMA cycles of every step, and those that each region would save on chip."""

    def __init__(self, regions, steps, memory):
        self.steps = steps
        far, near = replace(memory, border=0), replace(memory, border=1 << 62)
        places = sorted((address, region) for region, (address, _) in enumerate(regions))
        begins = [address for address, _ in places]
        self.saved: dict[int, dict[tuple[int, bool], float]] = {}
        self.cycles = {True: [0.0] * len(steps), False: [0.0] * len(steps)}
        for number, step in enumerate(steps):
            for is_coming, transfers in ((True, step.coming), (False, step.leaving)):
                for transfer in transfers:
                    cycles = transfer_cycles(transfer, far)
                    self.cycles[is_coming][number] += cycles
                    if transfer.op != "fill":
                        _, region = places[bisect_right(begins, transfer.main) - 1]
                        less = cycles - transfer_cycles(transfer, near)
                        self._save(region, number, is_coming, less)
            if step.image:
                cycles = image_cycles(step.image, far)
                self.cycles[True][number] += cycles
                less = cycles - image_cycles(step.image, near, True)
                self._save(PROGRAM, number, True, less)

    def _save(self, region, number, is_coming, cycles):
        mine = self.saved.setdefault(region, {})
        mine[number, is_coming] = mine.get((number, is_coming), 0.0) + cycles

    def total(self):
        """Cycles of the list as it is now."""
        return timeline_of(self.steps, self.cycles[True], self.cycles[False])

    def move(self, region, share):
        """Moves a share of a region on chip; a negative one moves it back."""
        for (number, is_coming), cycles in self.saved.get(region, {}).items():
            self.cycles[is_coming][number] -= share * cycles

    def gain(self, region, share):
        """Cycles that a share of a region saves on chip, beside what lies there already."""
        before = self.total()
        self.move(region, share)
        after = self.total()
        self.move(region, -share)
        return before - after


def order_of(
    regions: Sequence[tuple[int, int]],
    program_size: int,
    steps: Sequence[StepTraffic],
    memory: Memory,
) -> list[int]:
    """Order of the regions in memory, by the cycles that a byte saves on chip, the largest saving
    first.

    Parameters
    ----------
    regions : (address, bytes) of arrays and constants
    program_size : bytes of the program list, which is region :data:`PROGRAM`
    steps : the list's steps, with transfers at these addresses
    memory : timing of both memories
    """
    traffic = _Traffic(regions, steps, memory)
    sizes = {number: size for number, (_, size) in enumerate(regions)} | {PROGRAM: program_size}
    busy = {
        region: sum(traffic.saved.get(region, {}).values()) / max(1, size)
        for region, size in sizes.items()
    }

    def worth(region, left):
        size = min(sizes[region], left)
        share = size / max(1, sizes[region])
        return traffic.gain(region, share) / max(1, size)

    # Savings become less as others move on chip, so a saving from before is a bound.
    left = memory.border
    heap = [(-worth(region, left), -busy[region], region) for region in sizes]
    heapq.heapify(heap)
    order: list[int] = []
    while heap and left > 0:
        _, _, region = heapq.heappop(heap)
        entry = (-worth(region, left), -busy[region], region)
        if heap and entry > heap[0]:
            heapq.heappush(heap, entry)
            continue
        order.append(region)
        traffic.move(region, min(1.0, left / max(1, sizes[region])))
        left -= sizes[region]
    rest = sorted(region for _, _, region in heap if region != PROGRAM)
    return order + rest + [PROGRAM] * (PROGRAM not in order)


def places_of(
    order: Sequence[int], regions: Sequence[tuple[int, int]], program_size: int
) -> tuple[dict[int, int], int]:
    """Addresses of the regions and of the program list, one behind another in this order, and the
    end."""
    found, at = {}, 0
    for region in order:
        found[region] = at
        size = program_size if region == PROGRAM else regions[region][1]
        at += size + 63 & ~63
    return found, at
