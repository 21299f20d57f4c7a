# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a map that the accumulators hold at a time, and the lines of the sources that a part
needs."""

from dataclasses import dataclass

from .step import KernelStep, PoolStep

__all__ = ["Chunk", "chunks", "needed", "pool_extent", "pool_lines", "slot_rows"]


@dataclass(frozen=True)
class Chunk:
    """Lines ``first`` to ``end`` of a map, of each the places ``begin`` to ``stop`` (whole lines:
    all, and the gap)."""

    first: int
    end: int
    begin: int
    stop: int

    @property
    def width(self):
        return self.stop - self.begin

    @property
    def rows(self):
        """Accumulator rows."""
        return (self.end - self.first) * self.width


def slot_rows(params):
    """Accumulator rows of a part: one product's, and room for another part that is under way
    meanwhile."""
    return min(256, params["acc_rows"] // 2)


def chunks(step, planes, params, most=None):
    """Parts of the result of ``step``, of at most ``most`` lines, of equal size as far as lines
    go."""
    target, room = planes[step.target], slot_rows(params)
    if isinstance(step, KernelStep):
        return [Chunk(0, 1, 0, 1)]
    if isinstance(step, PoolStep):
        lines = pool_lines(step, planes, params)
    else:
        lines = (room - target.lead) // target.pitch
        if lines < 1:
            size = room - target.lead
            return [
                Chunk(line, line + 1, at, min(at + size, target.pitch))
                for line in range(target.down)
                for at in range(0, target.pitch, size)
            ]
    lines = max(1, min(lines, most or lines))
    count = -(-target.down // lines)
    edges = [target.down * k // count for k in range(count + 1)]
    return [Chunk(a, b, 0, target.pitch) for a, b in zip(edges, edges[1:], strict=False)]


def pool_extent(step, source, target):
    """(places in front, places behind, vectors from line to line) of the windows' map in the
    accumulators."""
    before = step.before[1]
    behind = max(0, (target.across - 1) * step.stride[1] + step.window[1] - before - source.across)
    return before, behind, (before + source.across + behind if before or behind else source.pitch)


def pool_lines(step, planes, params):
    """Lines of a pooling's result whose windows the accumulators hold, 0 where they do not hold
    one's."""
    source, target = planes[step.sources[0]], planes[step.target]
    *_, pitch = pool_extent(step, source, target)
    held = (params["acc_rows"] - target.gap) // pitch
    return max(0, (held - step.window[0]) // step.stride[0] + 1)


def needed(step, chunk, source, planes):
    """(first, end) line of source ``source`` that a part needs."""
    down = planes[step.sources[source]].down
    if isinstance(step, KernelStep):
        return 0, down
    if isinstance(step, PoolStep):
        low, high = (
            chunk.first * step.stride[0] - step.before[0],
            (chunk.end - 1) * step.stride[0] - step.before[0] + step.window[0] - 1,
        )
    else:
        lines = [t.line for terms in step.terms for t in terms if t.source == source]
        if not lines:
            return 0, 0
        low, high = (
            chunk.first * step.stride[0] + min(lines),
            (chunk.end - 1) * step.stride[0] + max(lines),
        )
    low, high = max(low, 0), min(high, down - 1)
    return (low, high + 1) if low <= high else (0, 0)
