# SPDX-License-Identifier: BSD-2-Clause
"""Works packed into steps of a program list, and when DMA brings what each of them needs."""

from dataclasses import dataclass, field

from .places import Crowded, allocate
from .schedule import transfer_cycles

__all__ = ["Arrival", "Step", "Steps"]

#: Elements that may come in for a work which joins the step of the one before.
_FEW = 256


@dataclass(eq=False)
class Arrival:
    """Transfers into one buffer, in the in list of step ``at``, for step ``used``."""

    transfer: object
    at: int
    used: int

    @property
    def cycles(self):
        return transfer_cycles(self.transfer)


@dataclass(eq=False)
class Step:
    """A program: ``bodies`` are pairs (node, nests' body), of :attr:`works`."""

    works: list
    bodies: list = field(default_factory=list)
    outgoing: list = field(default_factory=list)

    @property
    def ordered(self):
        """What comes in has left with the step before."""
        return any(work.ordered for work in self.works)

    @property
    def at_once(self):
        """What leaves does so before the next program."""
        return any(work.at_once for work in self.works)


class Steps:
    """Steps of works, and what comes in.

    Parameters
    ----------
    made : Works
    bodies : list, of every work the bodies of its nests
    fits : callable(list of bodies), whether a program holds them
    ahead : bool, DMA brings things beside the program before
    joining : bool, works that need little join the step before
    """

    def __init__(self, made, bodies, fits, *, ahead, joining):
        self.made, self.ahead = made, ahead
        self.steps, self.arrivals = [], []
        for work, mine in zip(made.works, bodies, strict=True):
            self._pack(work, [(work.nodes[-1], body) for body in mine], fits, joining)
        for number, step in enumerate(self.steps):
            for work in step.works:
                if getattr(work, "begun", None) is None:
                    work.begun = True
                    self.arrivals += [
                        Arrival(transfer, number, number) for transfer in work.incoming
                    ]
        for work in made.works:
            del work.begun

    def _pack(self, work, mine, fits, joining):
        last = self.steps[-1] if self.steps else None
        brought = sum(t.rows * t.cols for t in work.incoming)
        if (
            joining
            and last is not None
            and not work.ordered
            and brought <= _FEW
            and not last.ordered
            and not last.at_once
            and fits([body for _, body in last.bodies + mine])
        ):
            last.works.append(work)
            last.bodies += mine
            last.outgoing += work.outgoing
            return
        self.steps.append(Step([work]))
        for body in mine:
            if self.steps[-1].bodies and not fits(
                [one for _, one in [*self.steps[-1].bodies, body]]
            ):
                self.steps.append(Step([work]))
            self.steps[-1].bodies.append(body)
        # What leaves is complete after the last of its steps.
        self.steps[-1].outgoing += work.outgoing

    def prefetched(self, number):
        """Whether a step's image and in list come beside the program before."""
        return (
            number > 0
            and not self.steps[number].ordered
            and (self.ahead or not any(a.at == number for a in self.arrivals))
        )

    def deferred(self, number):
        """Whether what leaves does so beside the next program."""
        step = self.steps[number]
        return (
            self.ahead
            and number < len(self.steps) - 1
            and bool(step.outgoing)
            and not step.at_once
            and not self.steps[number + 1].ordered
        )

    def place(self, elements):
        """Gives all buffers addresses; raises Crowded."""
        self._use()
        for arrival in self.arrivals:
            self._come(arrival)
        self._allocate(elements)

    def _use(self):
        """Says when each buffer is needed, but for what comes into it."""
        last = len(self.steps) - 1
        for buffer in self.made.buffers:
            buffer.first = buffer.last = None
        for transfer in self.made.fills:
            transfer.buffer.use(0, last)
        for number, step in enumerate(self.steps):
            for buffer in set().union(*(work.buffers for work in step.works)):
                buffer.use(number, number)
            for transfer in step.outgoing:
                transfer.buffer.use(number, min(last, number + self.deferred(number)))

    def _come(self, arrival):
        """Says when its buffer is needed."""
        arrival.transfer.buffer.use(max(0, arrival.at - self.prefetched(arrival.at)), arrival.used)

    def _allocate(self, elements):
        try:
            allocate(self.made.buffers, elements)
        except Crowded as error:
            works = self.steps[error.step].works
            names = list(dict.fromkeys(name for work in works for name in work.nodes))
            crowded = Crowded(error.step, f"{', '.join(names)}: {error}")
            if names:
                crowded.node, crowded.reason = names[-1], error.reason
            raise crowded from None

    def hoist(self, elements, cycles):
        """Brings things earlier where the program beside is too short for them, as far as there is
        room; ``cycles``: of each step's program."""
        self._use()
        # Of each buffer when it is needed but for what comes into it, and that.
        needed = {id(b): (b.first, b.last) for b in self.made.buffers}
        into = {}
        for arrival in self.arrivals:
            into.setdefault(id(arrival.transfer.buffer), []).append(arrival)
        self.place(elements)
        if not self.ahead:
            return

        def come(arrivals):
            """After ``arrivals`` have been moved."""
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
