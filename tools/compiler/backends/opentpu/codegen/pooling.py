# SPDX-License-Identifier: BSD-2-Clause
"""Emission of max pooling: copies padded maps into the accumulators and applies ACT.P."""

import numpy as np

from ..form import INT8, scale_tile
from ..schedule import pool_extent
from .program import split

__all__ = ["Pooling"]

#: Value that pads the windows.
_LEAST = -128


class Pooling:
    """Mixin of :class:`~.emit.Emitter` for :class:`~..form.PoolStep`."""

    def _zeros(self, acc, ub, rows):
        """Emits zeros from accumulator rows into the unified buffer."""
        for at, count in split(rows):
            self.program.act(acc + at, ub + at, count)

    def _pool_step(self, number, step):
        plan = self.plan
        source, target = plan.planes[step.sources[0]], plan.planes[step.target]
        before, behind, pitch = pool_extent(step, source, target)
        # The vectors between the source's lines are zeros, which is no padding of a maximum.
        beside = before or behind
        unit, least = (
            self.tiles.number(scale_tile(source.n)),
            np.zeros((source.n, source.n), np.int8),
        )
        least[0] = _LEAST
        zeros = self.params["acc_rows"] - max(target.gap, target.lead)
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
                    self._zero(zeros, max(target.gap, target.lead))
                self._maxima(number, step, chunk, block, pitch, zeros)
        self._tile = unit

    def _maxima(self, number, step, chunk, block, pitch, zeros):
        """Emits the windows of a chunk, line by line, or several lines at once if the result has no
        gaps."""
        target = self.plan.planes[step.target]
        self._cfg("norm", INT8)
        front = self._front(step, chunk, block)
        vector = target.vector(block, chunk.first, 0)
        ub = self._out_rows(number, step, vector - front) + front
        many = 1 if target.gap or target.across > 256 else max(1, 256 // target.across)
        for line in range(chunk.first, chunk.end, many):
            lines = min(many, chunk.end - line)
            for at, places in split(target.across) if many == 1 else [(0, target.across)]:
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
                    ub + (line - chunk.first) * target.pitch + at,
                    lines * places,
                    pool=True,
                )
            if step.target in self.plan.zeroed:
                self._zeros(
                    zeros, ub + (line - chunk.first) * target.pitch + target.across, target.gap
                )
        self._zeros(zeros, ub - front, front)
        self._store(step, ub - front, vector - front, front + chunk.rows)
