# SPDX-License-Identifier: BSD-2-Clause
"""Maps in rows: a convolution or pooling layer of one core, its source's rows in a ring of local memory, results stored row by row."""
import numpy as np

from .matrices import gathers

__all__ = ["Band", "ConvRows", "PoolRows", "share"]


def share(total, parts):
    """``total`` rows in ``parts`` bands of nearly one size: pairs (first, behind last)."""
    cuts = [total * k // parts for k in range(parts + 1)]
    return list(zip(cuts, cuts[1:], strict=False))


class Band:
    """Rows ``first`` to ``end`` - 1 of a layer's results on one core, and the ring of source rows that they take.

    Parameters
    ----------
    core : CoreBuilder, whose local memory from ``core.used`` on is free
    pointer : its pair with global address 0
    source, target : (byte address, (rows, columns, channels), bytes of an element) in global memory
    window, stride, padding : of the layer; ``padding`` (top, left, bottom, right)
    taken, given : channels of the source and of the results that the band works on (first, behind last), ``None``: all
    """
    def __init__(self, core, pointer, source, target, window, stride, padding, what, taken=None, given=None):
        self.core, self.pointer, self.what = core, pointer, what
        (self.source_at, (self.height, self.width, self._all), self.size), (self.target_at, shape, self.out_size) = source, target
        self._all_out = shape[2]
        self.first, end = taken or (0, self._all)
        self.out, out_end = given or (0, self._all_out)
        self.channels, self.shape = end - self.first, (*shape[:2], out_end - self.out)
        self.window, self.stride, self.padding = window, stride, padding
        left, right = padding[1], padding[3]
        self.pitch = (left + self.width + right) * self.channels * self.size
        # One stride more than a window: the next rows come while these are worked on.
        self.slots = min(window[0] + stride[0], self.height + padding[0] + padding[2])
        self.ring = core.allocate(self.slots * self.pitch, what)
        row = self.shape[1] * self.shape[2] * self.out_size
        self.results = [core.allocate(row, what) for _ in range(2)]
        self._held = {}
        if left or right:
            for slot in range(self.slots):
                for at, count in ((0, left), (left + self.width, right)):
                    if count:
                        core.fill(self.ring + slot * self.pitch + at * self.channels * self.size, 0, count * self.channels * self.size)

    def row(self, y):
        """Local address of row ``y`` of the padded source."""
        return self.ring + y % self.slots * self.pitch

    def fetch(self, y):
        """Bring row ``y`` of the padded source into the ring."""
        slot = y % self.slots
        if self._held.get(slot) == y:
            return
        inner = self.width * self.channels * self.size
        at, real = self.row(y) + self.padding[1] * self.channels * self.size, y - self.padding[0]
        self._held[slot] = y
        if not 0 <= real < self.height:
            self.core.fill(at, 0, inner)
        elif self.channels == self._all:
            self.core.load(at, self.pointer, inner, self.source_at + real * inner)
        else:
            count = self.channels * self.size
            for x in range(self.width):
                self.core.load(at + x * count, self.pointer, count, self.source_at + ((real * self.width + x) * self._all + self.first) * self.size)

    def store(self, y, results):
        """Put a row of results where it belongs."""
        columns, count = self.shape[1], self.shape[2] * self.out_size
        if self.shape[2] == self._all_out:
            self.core.store(self.pointer, results, columns * count, self.target_at + y * columns * count)
            return
        for x in range(columns):
            self.core.store(self.pointer, results + x * count, count, self.target_at + ((y * columns + x) * self._all_out + self.out) * self.out_size)

    def rows(self, first, end):
        """Yields (row, local address of its results), the source's rows there, and stores them afterwards."""
        for y in range(first, end):
            now = range(y * self.stride[0], y * self.stride[0] + self.window[0])
            for need in now:
                self.fetch(need)
            busy = {need % self.slots for need in now}
            for need in range((y + 1) * self.stride[0], (y + 1) * self.stride[0] + self.window[0]) if y + 1 < end else ():
                if need % self.slots not in busy:
                    self.fetch(need)
            yield y, self.results[y % 2]
            self.store(y, self.results[y % 2])


class ConvRows:
    """A convolution's band. ``behind``: called with (row, local address of its results) before they are stored."""
    def __init__(self, core, pointer, node, matrices, groups, source, target, relu, bits, behind):
        self.core, self.node, self.matrices, self.groups, self.relu, self.bits, self.behind = core, node, matrices, groups, relu, bits, behind
        first, last = matrices[0], matrices[-1]
        self.band = Band(core, pointer, source, target, node.window, node.stride, node.padding, node.name,
                         (first.first, last.first + last.count), (first.out, last.out + last.outputs))
        alone = len(matrices) == 1
        self.pieces = [gathers(node, matrix, alone or node.groups == 1) for matrix in matrices]
        self.patches = []
        if any(len(pieces) > 1 for pieces in self.pieces):
            most = max(m.shape[0] for m in matrices) * self.band.size
            self.patches = [core.allocate(most, node.name) for _ in range(2)]
        #: Positions of a multiplication; more than one where one matrix gives all channels.
        self.wide = matrices[0].wide

    def emit(self, first, end):
        core, band, node = self.core, self.band, self.node
        size, turn, width = band.size, 0, band.shape[1]
        for y, results in band.rows(first, end):
            core.widths(*self.bits)
            # The last ones may overlap those before: they give the same again.
            for x in dict.fromkeys(min(x, width - self.wide) for x in range(0, width, self.wide)):
                for matrix, group, pieces in zip(self.matrices, self.groups, self.pieces, strict=True):
                    def place(piece, x=x, y=y, matrix=matrix):
                        r, c, _ = piece
                        return band.row(y * node.stride[0] + r) + ((x * node.stride[1] + c) * band.channels + matrix.first - band.first) * size

                    source = place(pieces[0])
                    if len(pieces) > 1:
                        source, turn = self.patches[turn], 1 - turn
                        at = source
                        for piece in pieces:
                            count = piece[2] * matrix.count * size
                            core.move(at, place(piece), count)
                            at += count
                    core.mvmul(results + (x * band.shape[2] + matrix.out - band.out) * band.out_size, source, group, self.relu)
            self.behind(y, results)


class PoolRows:
    """Band of a max pooling layer: rows of a window by ``vvmax``, then its columns position by position. What lies outside the map is left out."""
    def __init__(self, core, pointer, node, source, target):
        self.core, self.node, self.size = core, node, source[2]
        self.band = Band(core, pointer, source, target, node.window, node.stride, (0, 0, 0, 0), node.name)
        self.tall = core.allocate(self.band.pitch, node.name)

    def emit(self, first, end):
        core, band, size = self.core, self.band, self.size
        count, channels = band.width * band.channels, band.channels
        for y, results in self.rows(first, end):
            core.widths(8 * size, 8 * size)
            rows = self.spans(y, 0)
            if len(rows) > 1:
                core.vector2("vvmax", self.tall, band.row(rows[0]), band.row(rows[1]), count, size=size)
                for r in rows[2:]:
                    core.vector2("vvmax", self.tall, self.tall, band.row(r), count, size=size)
                tall = self.tall
            else:
                tall = band.row(rows[0])
            for x in range(band.shape[1]):
                columns = self.spans(x, 1)
                at = results + x * channels * size
                if len(columns) == 1:
                    core.move(at, tall + columns[0] * channels * size, channels * size)
                    continue
                core.vector2("vvmax", at, tall + columns[0] * channels * size, tall + columns[1] * channels * size, channels, size=size)
                for c in columns[2:]:
                    core.vector2("vvmax", at, at, tall + c * channels * size, channels, size=size)

    def spans(self, index, axis):
        """Rows or columns of the source, inside the map, that a result takes."""
        node = self.node
        length, before = (self.band.height, self.band.width)[axis], node.padding[axis]
        first = index * node.stride[axis] - before
        return [p for p in range(first, first + (node.window[axis] - 1) * node.dilation[axis] + 1, node.dilation[axis]) if 0 <= p < length]

    def rows(self, first, end):
        band = self.band
        for y in range(first, end):
            for need in self.spans(y, 0):
                band.fetch(need)
            yield y, band.results[y % 2]
            band.store(y, band.results[y % 2])


def clip_bounds(activation, scale):
    """Whole-number bounds of a clip, ``None`` where it has none that matters."""
    low, high = (None if not np.isfinite(v) else int(np.clip(np.rint(v / scale.step), scale.low, scale.high)) for v in (activation.low, activation.high))
    return low, high
