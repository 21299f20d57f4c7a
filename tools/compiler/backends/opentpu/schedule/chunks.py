# SPDX-License-Identifier: BSD-2-Clause
"""Splits of a map that fit the accumulators, and the lines of the sources that each needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..form import KernelStep, PoolStep, Step

if TYPE_CHECKING:
    from ..planes import Planes

__all__ = ["Chunk", "chunks", "needed", "pool_extent", "pool_lines", "slot_rows"]


@dataclass(frozen=True)
class Chunk:
    """Part of a map: lines ``first`` to ``end``, of each the positions ``begin`` to ``stop`` (whole
    lines: all positions, and the gap)."""

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
        """Number of accumulator rows."""
        return (self.end - self.first) * self.width


def slot_rows(params: Mapping[str, Any]) -> int:
    """Accumulator rows available to one chunk, so that two chunks can be in flight."""
    return min(256, params["acc_rows"] // 2)


def chunks(
    step: Step | PoolStep | KernelStep,
    planes: Mapping[str, Planes],
    params: Mapping[str, Any],
    most: int | None = None,
) -> list[Chunk]:
    """Splits the result of ``step`` into chunks of at most ``most`` lines, as equal as lines
    allow."""
    target, slot = planes[step.target], slot_rows(params)
    if isinstance(step, KernelStep):
        return [Chunk(0, 1, 0, 1)]
    if isinstance(step, PoolStep):
        lines = pool_lines(step, planes, params)
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
    """Size of a pooling layer's padded map in the accumulators: (positions in front, positions
    behind, vectors from line to line)."""
    before = step.before[1]
    behind = max(0, (target.across - 1) * step.stride[1] + step.window[1] - before - source.across)
    return before, behind, (before + source.across + behind if before or behind else source.pitch)


def pool_lines(step: PoolStep, planes: Mapping[str, Planes], params: Mapping[str, Any]) -> int:
    """Greatest number of result lines of a pooling whose windows fit the accumulators; 0 if not
    even one fits."""
    source, target = planes[step.sources[0]], planes[step.target]
    *_, pitch = pool_extent(step, source, target)
    held = (params["acc_rows"] - target.gap) // pitch
    return max(0, (held - step.window[0]) // step.stride[0] + 1)


def needed(
    step: Step | PoolStep | KernelStep, chunk: Chunk, source: int, planes: Mapping[str, Planes]
) -> tuple[int, int]:
    """The (first, end) line of source number ``source`` that a chunk needs."""
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
