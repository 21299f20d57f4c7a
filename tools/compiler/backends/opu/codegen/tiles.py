# SPDX-License-Identifier: BSD-2-Clause
"""Components of a tile job: loads, kernels, taps, border pads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..layers import Layer
    from ..schedule.memory import Buffer

__all__ = ["Chunk", "Job", "Load", "Pad", "Part", "border_pads"]

_MOST_BORDER = 15


class Load(NamedTuple):
    """One ``ld.ifm``: address in units in the region of maps (``constant``: of the constants),
    slots per row in memory, shape."""

    at: int
    mem_w: int
    shape: tuple[int, int, int]
    constant: bool = False

    def span(self, slot_units: int) -> tuple[int, int]:
        """Unit range in the maps: (first, end); empty for a constant."""
        if self.constant:
            return 0, 0
        rows, columns, _ = self.shape
        return self.at, self.at + ((rows - 1) * self.mem_w + columns) * slot_units


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

    def span(self, slot_units: int) -> tuple[int, int]:
        """Unit range in the maps: (first, end); empty for a constant."""
        return (self.at, self.at + self.slots * slot_units) if self.slots else (0, 0)

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


class Pad(NamedTuple):
    """One ``pad`` instruction: address in units of the array, its rows and columns, width of the
    border."""

    at: int
    mem: tuple[int, int]
    width: int


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

    def span(self, slot_units: int) -> tuple[int, int]:
        """Unit range that ``store`` writes: (first, end)."""
        return self.at, self.at + ((self.rows - 1) * self.mem[1] + self.columns) * slot_units


def border_pads(buffer: Buffer, image: int, part: int) -> list[Pad]:
    """The Pads that zero the border of the map that holds channel block ``part``."""
    p, shares = buffer.border, buffer.tensor.shares
    if not p:
        return []
    first = part - part % shares
    pads = [Pad(buffer.at(image, first, -p, -p), (buffer.mem_h * shares, buffer.mem_w), p)]
    # That zeroes p rows at either end; of all channel blocks together there are more, which narrow
    # arrays
    # cover: all border.
    begin, rows = pads[0].at, (shares - 1) * p
    for start in (p, (buffer.mem_h * shares - p) - rows):
        for row in range(0, rows, 2 * _MOST_BORDER):
            size = min(2 * _MOST_BORDER, rows - row)
            pads.append(
                Pad(
                    begin + (start + row) * buffer.mem_w * buffer.slot_units,
                    (size, buffer.mem_w),
                    -(-size // 2),
                )
            )
    return pads
