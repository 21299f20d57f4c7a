# SPDX-License-Identifier: BSD-2-Clause
"""Emission of max pooling: copies padded maps into the accumulators and applies ACT.P."""

import numpy as np

from ..chunks import idle_rows, pool_extent, pool_window
from ..form import INT8, scale_tile
from .program import split

__all__ = ["Pooling"]

#: Value that pads the windows.
_LEAST = -128


def _padding(n):
    """Tile that makes the padding of a maximum of the constant vector, int8 [n, n]."""
    tile = np.zeros((n, n), np.int8)
    tile[0] = _LEAST
    return tile


class Pooling:
    """Mixin of :class:`~.emit.Emitter` for :class:`~..form.PoolStep`."""

    def _zeros(self, acc, ub, rows):
        """Emits zeros from the accumulator rows from ``acc`` on, which are the last, into the
        unified buffer."""
        if rows:
            for at, count in split(rows, min(256, self.params["acc_rows"] - acc)):
                self.program.act(acc, ub + at, count)

    def _pool_step(self, number, step):
        plan = self.plan
        source, target = plan.planes[step.sources[0]], plan.planes[step.target]
        before, behind, pitch = pool_extent(step, source, target)
        # The vectors between the source's lines are zeros, which is no padding of a maximum.
        beside = before or behind
        unit, least = self.tiles.number(scale_tile(source.n)), _padding(source.n)
        idle = idle_rows(target, self.params)
        zeros = self.params["acc_rows"] - idle
        for part, chunk in enumerate(plan.parts[number]):
            self._fetch(number, step, part)
            self._ask(1)
            view = self._view(number, step, part, step.sources[0])
            low = chunk.first * step.stride[0] - step.before[0]
            high = (chunk.end - 1) * step.stride[0] - step.before[0] + step.window[0]
            inside = range(max(low, 0), min(high, source.down))
            for block in range(target.blocks):
                if beside or len(inside) < high - low:
                    self._constant(self.tiles.number(least), 0, (high - low) * pitch, True)
                if not beside:
                    count = (len(inside) - 1) * pitch + source.across
                    for at, rows in reversed(split(count)):
                        self._mmc(
                            view(block, inside[0], 0) + at,
                            (inside[0] - low) * pitch + at,
                            rows,
                            unit,
                            True,
                        )
                else:
                    for line in reversed(inside):
                        for at, rows in reversed(split(source.across)):
                            self._mmc(
                                view(block, line, at),
                                (line - low) * pitch + before + at,
                                rows,
                                unit,
                                True,
                            )
                if step.target in plan.zeroed:
                    self._zero(zeros, idle)
                self._maxima(number, step, chunk, block, pitch, zeros)
        self._tile = unit

    def _maxima(self, number, step, chunk, block, pitch, zeros):
        """Emits the windows of a chunk, line by line, or several lines at once if the result has no
        gaps."""
        target = self.plan.planes[step.target]
        self._cfg("norm", INT8)
        front = self._front(step, chunk, block)
        vector = target.vector(block, chunk.first, chunk.begin)
        ub = self._out_rows(number, step, vector - front) + front
        real = max(0, chunk.real(target))
        gap = chunk.width - real
        many = 1 if gap or real > 256 else max(1, 256 // real)
        for line in range(chunk.first, chunk.end, many):
            lines = min(many, chunk.end - line)
            for at, places in split(real) if many == 1 else [(0, real)]:
                self._cfg(
                    "pool",
                    step.window[1]
                    | step.window[0] << 4
                    | (places & 0xFF) << 8
                    | step.stride[1] << 16,
                )
                self._cfg("poolrow", pitch | (step.stride[0] * pitch << 16 if lines > 1 else 0))
                self.program.act(
                    (line - chunk.first) * step.stride[0] * pitch + at * step.stride[1],
                    ub + (line - chunk.first) * chunk.width + at,
                    lines * places,
                    pool=True,
                )
            if step.target in self.plan.zeroed:
                self._zeros(zeros, ub + (line - chunk.first) * chunk.width + real, gap)
        self._zeros(zeros, ub - front, front)
        self._store(step, ub - front, vector - front, front + chunk.rows)

    # In portions

    def _begin_maxima(self, number, step, group):
        """Emits the padding of a chunk's windows."""
        source = self.plan.planes[step.sources[0]]
        least = self.tiles.number(_padding(source.n))
        lines, places = pool_window(step, group.chunk, self.plan.planes)
        outside = min(lines.start, places.start) < 0
        if outside or lines.stop > source.down or places.stop > source.across:
            self._constant(least, 0, len(lines) * len(places), True)

    def _read_maxima(self, number, step, group, reads):
        """Emits the copies of lines into the accumulators."""
        lines, places = pool_window(step, group.chunk, self.plan.planes)
        unit = self.tiles.number(scale_tile(self.params["n"]))
        for read, row in reads:
            to = (read.what[1] - lines.start) * len(places) + max(0, -places.start)
            for at, rows in split(read.end - read.begin):
                self._mmc(row + at, to + at, rows, unit, True)
            self._ask_next()

    def _end_maxima(self, number, step, group):
        """Emits the windows of a block of a chunk."""
        idle = idle_rows(self.plan.planes[step.target], self.params)
        zeros = self.params["acc_rows"] - idle
        if step.target in self.plan.zeroed:
            self._zero(zeros, idle)
        _, places = pool_window(step, group.chunk, self.plan.planes)
        self._maxima(number, step, group.chunk, group.blocks[0], len(places), zeros)
