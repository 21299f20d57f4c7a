# SPDX-License-Identifier: BSD-2-Clause
"""Components of a tile job: loads, kernels, taps, border pads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..schedule.memory import MOST_PAD, MOST_SIDE

if TYPE_CHECKING:
    from ..layers import Layer
    from ..schedule.memory import Buffer

__all__ = ["Area", "Chunk", "Job", "Load", "Pad", "Part", "Tap", "border_pads", "starts"]


class Area(NamedTuple):
    """Memory of an array in the region of maps: ``rows`` of ``size`` units each, the first at
    ``at``, ``pitch`` units from one to the next."""

    at: int
    rows: int
    size: int
    pitch: int

    @property
    def end(self) -> int:
        """First unit behind the last row."""
        return self.at + (self.rows - 1) * self.pitch + self.size

    def overlaps(self, other: Area) -> bool:
        """Whether both have a unit in common: rows of two channel blocks may lie in turn."""
        if self.at >= other.end or other.at >= self.end:
            return False
        few, many = sorted((self, other), key=lambda area: area.rows)
        return any(many._meets(few.at + row * few.pitch, few.size) for row in range(few.rows))

    def _meets(self, at, size):
        """Whether a row has one of ``size`` units from ``at`` on."""
        # The first row that ends behind ``at``.
        row = max(0, (at - self.at - self.size) // self.pitch + 1)
        return row < self.rows and self.at + row * self.pitch < at + size


class Load(NamedTuple):
    """One ``ld.ifm``: address in units in the region of maps (``constant``: of the constants),
    slots per row in memory, shape."""

    at: int
    mem_w: int
    shape: tuple[int, int, int]
    constant: bool = False

    def area(self, slot_units: int) -> Area:
        """Its memory in the maps, empty for a constant."""
        rows, columns, _ = self.shape
        if self.constant:
            return Area(0, 0, 0, 1)
        return Area(self.at, rows, columns * slot_units, self.mem_w * slot_units)


class Chunk(NamedTuple):
    """Taps on one feature map: ``taps`` are (h, w, n) of ``conv``."""

    load: Load
    stride: tuple[int, int]
    f: int
    taps: tuple[tuple[int, int, int], ...]


class Part(NamedTuple):
    """One kernel load of ``n`` taps, at units ``at`` of the constants, with the chunks that use it,
    all of one ``ifm`` shape. With ``slots`` it loads that many slots of the maps instead."""

    at: int
    n: int
    chunks: tuple[Chunk, ...]
    slots: int = 0

    def area(self, slot_units: int) -> Area:
        """Its memory in the maps, empty for a constant."""
        return Area(self.at, 1, self.slots * slot_units, 1) if self.slots else Area(0, 0, 0, 1)

    def moved(self, by: int) -> Part:
        """Returns the same loads at addresses ``by`` units higher."""
        if not by:
            return self
        chunks: list[Chunk] = []
        for chunk, before in zip(self.chunks, (None, *self.chunks), strict=False):
            # Chunks of one load go on sharing one.
            if before is not None and chunk.load is before.load:
                load = chunks[-1].load
            else:
                load = Load(chunk.load.at + by, *chunk.load[1:])
            chunks.append(Chunk(load, *chunk[1:]))
        return Part(self.at, self.n, tuple(chunks), self.slots)


class Tap(NamedTuple):
    """One ``conv`` at (h, w) of a load; ``weights``: channel block of the source and tap of its
    kernel, empty for a residual's."""

    load: Load
    stride: tuple[int, int]
    f: int
    h: int
    w: int
    weights: tuple[Any, ...]


class Pad(NamedTuple):
    """One ``pad`` instruction: address in units of the array, its rows and columns, width of the
    border."""

    at: int
    mem: tuple[int, int]
    width: int

    def area(self, slot_units: int) -> Area:
        """The memory of its array."""
        return Area(self.at, 1, self.mem[0] * self.mem[1] * slot_units, 1)


@dataclass
class Job:
    """One tile: all instructions up to its ``store``."""

    layer: Layer
    ofm: tuple[int, int, int]
    parts: list[Part]
    bias: int | None
    b: int  # shift of the bias
    residual: Load | None
    at: int
    mem: tuple[int, int]
    rows: int
    columns: int
    borders: tuple[Pad, ...]  # the Pads of the maps it stores to
    pads: list[Pad] = field(default_factory=list)  # those to carry out with this job
    closes: tuple[Layer, ...] = ()  # the layers whose last job it is

    def area(self, slot_units: int) -> Area:
        """The memory that ``store`` writes."""
        return Area(self.at, self.rows, self.columns * slot_units, self.mem[1] * slot_units)


def starts(total: int, size: int) -> list[int]:
    """Start positions of tiles of ``size``: the last tile overlaps its neighbour rather than being
    smaller."""
    return sorted({min(at, total - size) for at in range(0, total, size)})


def border_pads(buffer: Buffer, image: int, part: int) -> list[Pad]:
    """The Pads that zero the border of the map that holds channel block ``part``. Ends and edges of
    their arrays may lie among the data, which are written later."""
    (high, wide), shares = buffer.border, buffer.tensor.shares
    begin = buffer.at(image, part - part % shares, -high, -wide)
    # A row that is longer than one of an array's is several of them.
    columns = buffer.mem_w // buffer.steps
    rows, ends = (count * shares * buffer.steps for count in (buffer.mem_h, high))

    def pad(row, count, width, shift=0):
        at = begin + (row * columns + shift) * buffer.slot_units
        return Pad(at, (count, columns), width)

    def pads_of_columns(first, last, width, shift=0):
        return [
            pad(row, min(MOST_SIDE, last - row), width, shift)
            for row in range(first, last, MOST_SIDE)
        ]

    if not wide or (wide <= MOST_PAD and not buffer.slack):
        pads, zeroed = pads_of_columns(0, rows if wide else 0, wide), wide
    else:
        # The right border of a row and the left one of the next are side by side. Those before the
        # first row and behind the last are in rows of the border.
        between, last, pads, zeroed = buffer.steps, wide - MOST_PAD, [], 0
        first = min(MOST_PAD - wide - buffer.slack, last)
        for shift in range(first, last + 2 * MOST_PAD, 2 * MOST_PAD):
            pads += pads_of_columns(between, rows - between, MOST_PAD, min(shift, last))
    # Of the rows at either end ``zeroed`` are zero; narrow arrays, all border, cover the others.
    for start in (zeroed, rows - ends):
        for row in range(0, ends - zeroed, 2 * MOST_PAD):
            size = min(2 * MOST_PAD, ends - zeroed - row)
            pads.append(pad(start + row, size, -(-size // 2)))
    return pads
