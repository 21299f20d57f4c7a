# SPDX-License-Identifier: BSD-2-Clause
"""Splits of a map that fit the accumulators, and the source lines that each split needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..form import InterleaveStep, KernelStep, PoolStep, Step

if TYPE_CHECKING:
    from ..planes import Planes

__all__ = ["Chunk", "chunks", "needed", "pool_extent", "pool_lines", "slot_rows"]


@dataclass(frozen=True)
class Chunk:
    """One split of a map: lines ``first`` to ``end``, with the positions ``begin`` to ``stop`` of
    each (whole lines: all positions, and the gap)."""

    first: int
    end: int
    begin: int
    stop: int

    @property
    def width(self) -> int:
        """Positions per line."""
        return self.stop - self.begin

    @property
    def rows(self) -> int:
        """Number of accumulator rows that the chunk occupies."""
        return (self.end - self.first) * self.width


def slot_rows(params: Mapping[str, Any]) -> int:
    """Number of accumulator rows for one chunk, so that two chunks can be in flight."""
    return min(256, params["acc_rows"] // 2)


def chunks(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    planes: Mapping[str, Planes],
    params: Mapping[str, Any],
    most: int | None = None,
) -> list[Chunk]:
    """Splits the result of ``step`` into chunks of at most ``most`` lines, as equal as possible."""
    target, slot = planes[step.target], slot_rows(params)
    if isinstance(step, KernelStep):
        return [Chunk(0, 1, 0, 1)]
    if isinstance(step, PoolStep):
        lines = pool_lines(step, planes, params)
    elif isinstance(step, InterleaveStep):
        # A line goes through the accumulators by itself.
        lines = max(step.factors[0], slot // target.pitch)
    else:
        lines = (slot - target.lead) // target.pitch
        if lines < 1:
            size = slot - target.lead
            return [
                Chunk(line, line + 1, at, min(at + size, target.pitch))
                for line in range(target.down)
                for at in range(0, target.pitch, size)
            ]
    lines = max(1, min(lines, most or lines))
    count = -(-target.down // lines)
    edges = [target.down * k // count for k in range(count + 1)]
    return [Chunk(a, b, 0, target.pitch) for a, b in zip(edges, edges[1:], strict=False)]


def pool_extent(step: PoolStep, source: Planes, target: Planes) -> tuple[int, int, int]:
    """Layout of a pooling layer's padded map in the accumulators: (positions before a line,
    positions after it, vectors from line to line)."""
    before = step.before[1]
    behind = max(0, (target.across - 1) * step.stride[1] + step.window[1] - before - source.across)
    return before, behind, (before + source.across + behind if before or behind else source.pitch)


def pool_lines(step: PoolStep, planes: Mapping[str, Planes], params: Mapping[str, Any]) -> int:
    """Greatest number of result lines of a pooling whose windows fit the accumulators; 0 if none
    fits."""
    source, target = planes[step.sources[0]], planes[step.target]
    *_, pitch = pool_extent(step, source, target)
    held = (params["acc_rows"] - target.gap) // pitch
    return max(0, (held - step.window[0]) // step.stride[0] + 1)


def needed(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    chunk: Chunk,
    source: int,
    planes: Mapping[str, Planes],
) -> tuple[int, int]:
    """Source lines (first, end) of source number ``source`` that a chunk needs."""
    down = planes[step.sources[source]].down
    if isinstance(step, KernelStep):
        return 0, down
    if isinstance(step, InterleaveStep):
        phases = [
            any(term.source == source for terms in row for block in terms for term in block)
            for row in step.terms
        ]
        factor = step.factors[0]
        seen = [line // factor for line in range(chunk.first, chunk.end) if phases[line % factor]]
        return (seen[0], seen[-1] + 1) if seen else (0, 0)
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
