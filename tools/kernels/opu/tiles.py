# SPDX-License-Identifier: BSD-2-Clause
"""What a tile is made of: loads, kernels, taps, pads of borders."""

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Chunk", "Job", "Load", "Pad", "Part", "border_pads"]

_MOST_BORDER = 15


class Load(NamedTuple):
    """One ``ld.ifm``: units in the region of maps (``constant``: in that of the constants), slots
    of a row in memory, shape."""

    at: int
    mem_w: int
    shape: tuple
    constant: bool = False

    def span(self, slot_units):
        """First unit of the maps and the one behind the last; nothing of a constant."""
        if self.constant:
            return 0, 0
        rows, columns, _ = self.shape
        return self.at, self.at + ((rows - 1) * self.mem_w + columns) * slot_units


class Chunk(NamedTuple):
    """Taps on one feature map: ``taps`` are (h, w, n) of ``conv``."""

    load: Load
    stride: tuple
    f: int
    taps: tuple


class Part(NamedTuple):
    """One kernel, ``n`` taps at units ``at`` of the constants, and the chunks that use it, all of
    one ``ifm`` shape. With ``slots`` it is that many slots of the maps."""

    at: int
    n: int
    chunks: tuple
    slots: int = 0

    def span(self, slot_units):
        """First unit of the maps and the one behind the last; nothing of a constant."""
        return (self.at, self.at + self.slots * slot_units) if self.slots else (0, 0)

    def moved(self, by):
        """The same for loads that lie ``by`` units behind."""
        if not by:
            return self
        chunks, before, load = [], None, None
        for chunk in self.chunks:
            if chunk.load is not before:
                before = chunk.load
                load = Load(before.at + by, *before[1:])
            chunks.append(Chunk(load, *chunk[1:]))
        return Part(self.at, self.n, tuple(chunks), self.slots)


class Pad(NamedTuple):
    """One ``pad``: units of the array, its rows and columns, width of the border."""

    at: int
    mem: tuple
    width: int


@dataclass
class Job:
    """One tile: everything up to its ``store``."""

    layer: object
    ofm: tuple
    parts: list
    bias: int | None
    b: int  # shift of the bias
    residual: Load | None
    at: int
    mem: tuple
    rows: int
    columns: int
    borders: tuple  # the Pads of the maps it stores to
    pads: list = field(default_factory=list)  # those to carry out with this job
    closes: tuple | None = (
        None  # of a layer's last job: its name, first image, number of images, macs
    )

    def span(self, slot_units):
        """Units written by ``store``: the first, and the one behind the last."""
        return self.at, self.at + ((self.rows - 1) * self.mem[1] + self.columns) * slot_units


def border_pads(buffer, image, part):
    """The Pads that make the border zero of the map in which piece ``part`` lies."""
    p, shares = buffer.border, buffer.tensor.shares
    if not p:
        return []
    first = part - part % shares
    pads = [Pad(buffer.at(image, first, -p, -p), (buffer.mem_h * shares, buffer.mem_w), p)]
    # That zeroes p rows at either end; of all pieces together there are more, which narrow arrays
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
