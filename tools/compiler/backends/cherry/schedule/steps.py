# SPDX-License-Identifier: BSD-2-Clause
"""Packing of tasks into steps of a program list: the DMA that each step needs, the scratchpad's
buffers with lifetimes in steps and their addresses, and the estimated cycles of the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....common.lifetimes import Lifetime, first_fit
from ...base import LoweringError
from ..codegen.tilework import View
from ..kernel_graph import Ref, Value
from .memory import transfer_cycles

if TYPE_CHECKING:
    from ..codegen.nests import Body
    from .memory import Memory
    from .tasks import Tasks
    from .transfers import Task, Transfer

__all__ = [
    "Arrival",
    "Buffer",
    "Crowded",
    "Place",
    "Step",
    "Steps",
    "Timeline",
    "allocate",
    "borders",
    "edges",
    "geometry",
]


TILE = 4


class Crowded(LoweringError):
    """Error: the scratchpad is too small for the buffers that are live in step ``step``."""

    def __init__(self, step: int, text: str):
        super().__init__(text)
        self.step = step


@dataclass(eq=False)
class Buffer:
    """Scratchpad buffer of ``size`` elements, live from step ``first`` to step ``last``; ``what``
    names it in messages."""

    size: int
    what: str
    first: int | None = None
    last: int | None = None
    address: int = 0

    def use(self, first: int, last: int) -> None:
        """Extends the lifetime so that it includes these steps."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)


@dataclass(frozen=True)
class Place:
    """Layout of a value in a buffer: element (0, 0, 0) lies ``lead`` elements after the buffer's
    start."""

    buffer: Buffer
    shape: tuple[int, int, int]
    strides: tuple[int, int, int]
    lead: int = 0

    def view(self, ref: Ref) -> View:
        """Scratchpad view of a reference."""
        at = (
            self.buffer.address
            + self.lead
            + sum(n * s for n, s in zip(ref.start, self.strides, strict=True))
        )
        strides = tuple(
            step * self.strides[axis] for axis, step in zip(ref.axes, ref.step, strict=True)
        )
        return View(at, ref.shape, strides)


def geometry(value: Value, spread: bool = True) -> tuple[tuple[int, int, int], int, int]:
    """Layout of a value: (strides, elements before element (0, 0, 0), elements in all). Pixels
    follow one another; a row's right border is the next one's left. ``spread``: their pitch is an
    odd multiple of four, so that tiles lie in different banks."""
    rows, columns, channels = value.shape
    top, left, bottom, right = value.border
    if value.tight or value.data is not None:
        pitch = channels
    else:
        tiles = -(-channels // TILE)
        pitch = TILE * (tiles | (spread and rows * columns > 1))
    width = columns + max(left, right)
    if (
        spread
        and any(value.border)
        and width % 2 == 0
        and -(-rows // TILE) * columns < -(-columns // TILE) * rows
    ):
        # Tiles will stand upright: the pitch of rows is to spread them as well.
        width += 1
    row = width * pitch
    lead = top * row + left * pitch
    return (row, pitch, 1), lead, lead + (rows - 1 + bottom) * row + (columns + right) * pitch


def borders(value: Value, place: Place) -> list[View]:
    """Views of the border of a value, each as (1, pixels, channels)."""
    rows, columns, _ = value.shape
    top, left, bottom, right = value.border
    row, pitch, _ = place.strides
    begin = place.buffer.address + place.lead
    width = row // pitch
    found = []
    if top * width + left:
        found.append(View(begin - place.lead, (1, top * width + left, pitch), (0, pitch, 1)))
    if rows > 1 and width > columns:
        found.append(
            View(begin + columns * pitch, (rows - 1, width - columns, pitch), (row, pitch, 1))
        )
    if bottom * width + right:
        found.append(
            View(
                begin + (rows - 1) * row + columns * pitch,
                (1, bottom * width + right, pitch),
                (0, pitch, 1),
            )
        )
    return found


def edges(value: Value, place: Place, low: int, high: int, sides: bool) -> list[View]:
    """Views of the border around rows [``low``, ``high``) of a value: its rows and, with ``sides``,
    its columns."""
    rows, columns, _ = value.shape
    _, left, _, right = value.border
    row, pitch, _ = place.strides
    begin = place.buffer.address + place.lead

    def pixels(at, height, width):
        return View(begin + at, (height, width, pitch), (row, pitch, 1))

    found = [
        pixels(first * row, end - first, columns)
        for first, end in ((low, min(0, high)), (max(rows, low), high))
        if end > first
    ]
    if sides and left:
        found.append(pixels(low * row - left * pitch, 1, left))
    if sides and high - low > 1 and row > columns * pitch:
        found.append(pixels(low * row + columns * pitch, high - low - 1, row // pitch - columns))
    if sides and right:
        found.append(pixels((high - 1) * row + columns * pitch, 1, right))
    return found


#: Orders in which buffers are placed, the first that fits is taken.
_ORDERS: tuple[Callable[[Any], tuple[int, ...]], ...] = (
    lambda b: (-b.size, b.first),
    lambda b: (b.first, -b.size),
    lambda b: (b.first - b.last, -b.size),
)


def allocate(buffers: Sequence[Buffer], elements: int) -> None:
    """Assigns addresses so that buffers with overlapping lifetimes are disjoint; raises Crowded if
    they do not fit."""
    buffers = [buffer for buffer in buffers if buffer.first is not None]
    if not buffers:
        return
    step, needed, most = _peak(buffers)
    # Where one step alone takes too much, no order of the buffers helps.
    for key in _ORDERS if needed <= elements else ():
        order = sorted(buffers, key=key)
        addresses = first_fit(cast("list[Lifetime]", order), 0, elements)  # all have steps
        if len(addresses) == len(order):
            for buffer, address in zip(order, addresses, strict=True):
                buffer.address = address
            return
    names = ", ".join(f"{b.what} {b.size:,}" for b in most[:4])
    raise Crowded(
        step,
        f"step {step} needs {needed:,} elements of the scratchpad at a time, there are "
        f"{elements:,}: {names}",
    )


def _peak(buffers):
    """Step of the highest scratchpad demand: (step, elements, buffers by size)."""
    change = np.zeros(max(b.last for b in buffers) + 2, np.int64)
    np.add.at(change, [b.first for b in buffers], [b.size for b in buffers])
    np.subtract.at(change, [b.last + 1 for b in buffers], [b.size for b in buffers])
    needed = change.cumsum()[:-1]
    step = int(needed.argmax())
    there = sorted((b for b in buffers if b.first <= step <= b.last), key=lambda b: -b.size)
    return step, int(needed[step]), there


#: Cycles of a list's entry and end, of a step's begin.
_ENTRY, _BEGIN = 60, 20


class Timeline:
    """Schedule of the steps' programs and DMA transfers, extended by one step at a time.

    Attributes
    ----------
    end : cycle at which all steps added so far have ended
    """

    def __init__(self):
        self._dma = 100.0
        self._start = self._program = self._left = 0.0
        self._late = 0.0

    def step(
        self, cycles: int, coming: float, leaving: float, prefetch: bool, defer: bool
    ) -> float:
        """Adds a step and returns the cycles that it adds: ``cycles`` of its program, ``coming`` of
        its image and in list, ``leaving`` of its out list."""
        before = self.end
        begin = self._start if prefetch else max(self._program, self._left)
        self._dma = max(self._dma, begin) + self._late + coming + _ENTRY
        self._start = max(self._program, self._left, self._dma) + _BEGIN
        self._program = self._start + cycles
        self._late = 0.0
        if leaving and defer:
            self._late = leaving
        elif leaving:
            self._left = self._dma = max(self._dma, self._program) + leaving
        return self.end - before

    @property
    def end(self) -> float:
        """Cycle at which all steps added so far have ended."""
        return max(self._program, self._left)


#: Elements that may come in for a task which joins the step of the one before.
_FEW = 256


@dataclass(eq=False)
class Arrival:
    """Transfers into one buffer, in the in list of step ``at``; step ``used`` is the first that
    reads it."""

    transfer: Transfer
    at: int
    used: int


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
    memory : Memory, timing of main memory
    """

    def __init__(
        self,
        made: Tasks,
        bodies: Sequence[list[Body]],
        fits: Callable[[list[Body]], bool],
        *,
        ahead: bool,
        joining: bool,
        memory: Memory,
    ):
        self.made, self.ahead, self._memory = made, ahead, memory
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

    def _cycles(self, arrival):
        return transfer_cycles(arrival.transfer, self._memory)

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
        # Outputs are complete after the last of the task's steps.
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
        # Lifetime of each buffer without its incoming transfers, and these transfers.
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
            over = sum(map(self._cycles, coming)) - cycles[number - 1]
            moved = []
            for arrival in sorted(coming, key=lambda a: (-a.used, -self._cycles(a))):
                if over <= 0:
                    break
                arrival.at -= 1
                over -= self._cycles(arrival)
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
