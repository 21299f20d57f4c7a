# SPDX-License-Identifier: BSD-2-Clause
"""Packing of tasks into steps of a program list, and scheduling of the DMA that each step needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .places import Crowded, allocate
from .timeline import transfer_cycles

if TYPE_CHECKING:
    from ..codegen.nests import Body
    from .tasks import Tasks
    from .transfers import Task, Transfer

__all__ = ["Arrival", "Step", "Steps"]

#: Elements that may come in for a task which joins the step of the one before.
_FEW = 256


@dataclass(eq=False)
class Arrival:
    """Transfers into one buffer, in the in list of step ``at``; step ``used`` is the first that
    reads it."""

    transfer: Transfer
    at: int
    used: int

    @property
    def cycles(self) -> float:
        """DMA cycles of the transfers."""
        return transfer_cycles(self.transfer)


@dataclass(eq=False)
class Step:
    """One program of the program list; ``bodies`` are pairs (node, body of a loop nest) of its
    :attr:`tasks`."""

    tasks: list[Task]
    bodies: list[tuple[str, Body]] = field(default_factory=list)
    outgoing: list[Transfer] = field(default_factory=list)

    @property
    def ordered(self) -> bool:
        """Whether its inputs are outputs of the previous step, so that they cannot be
        prefetched."""
        return any(task.ordered for task in self.tasks)

    @property
    def at_once(self) -> bool:
        """Whether its outputs must be stored before the next program starts."""
        return any(task.at_once for task in self.tasks)


class Steps:
    """Packs tasks into steps and records their incoming transfers.

    Parameters
    ----------
    made : Tasks
    bodies : list, of every task the bodies of its nests
    fits : callable(list of bodies), whether a program holds them
    ahead : bool, DMA brings things beside the program before
    joining : bool, tasks that need little join the step before
    """

    def __init__(
        self,
        made: Tasks,
        bodies: Sequence[list[Body]],
        fits: Callable[[list[Body]], bool],
        *,
        ahead: bool,
        joining: bool,
    ):
        self.made, self.ahead = made, ahead
        self.steps: list[Step] = []
        self.arrivals: list[Arrival] = []
        for task, mine in zip(made.tasks, bodies, strict=True):
            self._pack(task, [(task.nodes[-1], body) for body in mine], fits, joining)
        begun: set[int] = set()  # identities of tasks
        for number, step in enumerate(self.steps):
            for task in step.tasks:
                if id(task) not in begun:
                    begun.add(id(task))
                    self.arrivals += [
                        Arrival(transfer, number, number) for transfer in task.incoming
                    ]

    def _pack(self, task, mine, fits, joining):
        last = self.steps[-1] if self.steps else None
        brought = sum(t.rows * t.cols for t in task.incoming)
        if (
            joining
            and last is not None
            and not task.ordered
            and brought <= _FEW
            and not last.ordered
            and not last.at_once
            and fits([body for _, body in last.bodies + mine])
        ):
            last.tasks.append(task)
            last.bodies += mine
            last.outgoing += task.outgoing
            return
        self.steps.append(Step([task]))
        for body in mine:
            if self.steps[-1].bodies and not fits(
                [one for _, one in [*self.steps[-1].bodies, body]]
            ):
                self.steps.append(Step([task]))
            self.steps[-1].bodies.append(body)
        # What leaves is complete after the last of its steps.
        self.steps[-1].outgoing += task.outgoing

    def prefetched(self, number: int) -> bool:
        """Whether a step's image and in list are loaded while the previous program runs."""
        return (
            number > 0
            and not self.steps[number].ordered
            and (self.ahead or not any(a.at == number for a in self.arrivals))
        )

    def deferred(self, number: int) -> bool:
        """Whether a step's outputs are stored while the next program runs."""
        step = self.steps[number]
        return (
            self.ahead
            and number < len(self.steps) - 1
            and bool(step.outgoing)
            and not step.at_once
            and not self.steps[number + 1].ordered
        )

    def place(self, elements: int) -> None:
        """Assigns addresses to all buffers; raises Crowded."""
        self._use()
        for arrival in self.arrivals:
            self._come(arrival)
        self._allocate(elements)

    def _use(self):
        """Sets the lifetime of each buffer from the tasks that use it, without incoming
        transfers."""
        last = len(self.steps) - 1
        for buffer in self.made.buffers:
            buffer.first = buffer.last = None
        for transfer in self.made.fills:
            transfer.buffer.use(0, last)
        for number, step in enumerate(self.steps):
            for buffer in set().union(*(task.buffers for task in step.tasks)):
                buffer.use(number, number)
            for transfer in step.outgoing:
                transfer.buffer.use(number, min(last, number + self.deferred(number)))

    def _come(self, arrival):
        """Extends a buffer's lifetime to the step that loads it."""
        arrival.transfer.buffer.use(max(0, arrival.at - self.prefetched(arrival.at)), arrival.used)

    def _allocate(self, elements):
        try:
            allocate(self.made.buffers, elements)
        except Crowded as error:
            tasks = self.steps[error.step].tasks
            names = list(dict.fromkeys(name for task in tasks for name in task.nodes))
            crowded = Crowded(error.step, f"{', '.join(names)}: {error}")
            if names:
                crowded.node, crowded.reason = names[-1], error.reason
            raise crowded from None

    def hoist(self, elements: int, cycles: Sequence[float]) -> None:
        """Moves transfers to earlier steps where the program that overlaps them is too short, as
        far as memory allows; ``cycles``: of each step's program."""
        self._use()
        # Of each buffer when it is needed but for what comes into it, and that.
        needed = {id(b): (b.first, b.last) for b in self.made.buffers}
        into: dict[int, list[Any]] = {}
        for arrival in self.arrivals:
            into.setdefault(id(arrival.transfer.buffer), []).append(arrival)
        self.place(elements)
        if not self.ahead:
            return

        def come(arrivals):
            """Recomputes buffer lifetimes after ``arrivals`` have moved to other steps."""
            for buffer in [arrival.transfer.buffer for arrival in arrivals]:
                buffer.first, buffer.last = needed[id(buffer)]
                for arrival in into[id(buffer)]:
                    self._come(arrival)

        for number in range(len(self.steps) - 1, 1, -1):
            if self.steps[number].ordered or self.steps[number - 1].ordered:
                continue
            coming = [a for a in self.arrivals if a.at == number]
            if not coming:
                continue
            over = sum(a.cycles for a in coming) - cycles[number - 1]
            moved = []
            for arrival in sorted(coming, key=lambda a: (-a.used, -a.cycles)):
                if over <= 0:
                    break
                arrival.at -= 1
                over -= arrival.cycles
                moved.append(arrival)
            come(moved)
            while moved:
                try:
                    self._allocate(elements)
                    break
                except Crowded:
                    back = [moved.pop() for _ in range(-(-len(moved) // 2))]
                    for arrival in back:
                        arrival.at += 1
                    come(back)
        self.place(elements)
