# SPDX-License-Identifier: BSD-2-Clause
"""Chunks of a step: splits of its result that fit the accumulators, and the lines and positions of
its sources that each chunk needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .form import InterleaveStep, KernelStep, PoolStep, Step, Term

if TYPE_CHECKING:
    from .layout import Planes

__all__ = [
    "MOST_STEP",
    "Chunk",
    "band_lines",
    "band_size",
    "chunks",
    "front_rows",
    "idle_rows",
    "most_idle_rows",
    "needed",
    "pool_extent",
    "pool_lines",
    "pool_window",
    "slot_rows",
    "term_lines",
]


#: Greatest distance of two accumulator rows that CFG pool's STEP holds.
MOST_STEP = 255


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

    def real(self, target: Planes) -> int:
        """Positions per line that are no zeros behind a line of the result ``target``."""
        return min(self.stop, target.across) - self.begin

    @property
    def rows(self) -> int:
        """Number of accumulator rows that the chunk occupies."""
        return (self.end - self.first) * self.width


def slot_rows(params: Mapping[str, Any]) -> int:
    """Number of accumulator rows for one chunk, so that two chunks can be in flight."""
    return min(256, params["acc_rows"] // 2)


def front_rows(target: Planes, slot: int) -> int:
    """Number of a map's leading zeros that go through the accumulators with its first chunk of at
    most ``slot`` rows; more than those leave the chunk no rows, and are written by themselves."""
    return target.lead if target.lead < slot else 0


def most_idle_rows(params: Mapping[str, Any]) -> int:
    """Greatest number of accumulator rows of zeros beside a pooled or interleaved map."""
    return params["acc_rows"] // 16


def idle_rows(target: Planes, params: Mapping[str, Any]) -> int:
    """Number of accumulator rows of zeros beside a pooled or interleaved map, for its gaps."""
    return min(max(target.gap, target.lead), most_idle_rows(params))


def chunks(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    planes: Mapping[str, Planes],
    params: Mapping[str, Any],
    most: int | None = None,
    slot: int | None = None,
) -> list[Chunk]:
    """Splits the result of ``step`` into chunks of at most ``most`` lines, as equal as possible;
    lines that are too long for the accumulators are split as well.

    ``slot``: for a step that reads its sources in portions, greatest number of rows of a chunk. No
    chunks are returned if the accumulators hold no window of a pooling.
    """
    target = planes[step.target]
    held = slot_rows(params) if slot is None else slot
    if isinstance(step, KernelStep):
        return _tile_rows(step, target.n, slot)
    if isinstance(step, PoolStep):
        lines = pool_lines(step, planes, params)
        lines = lines if slot is None else min(lines, slot // target.pitch)
        width = min(held, pool_places(step, planes, params))
    elif isinstance(step, InterleaveStep):
        # A line goes through the accumulators by itself.
        lines = max(step.factors[0], held // target.pitch) if slot is None else 0
        width = min(held // step.factors[1], MOST_STEP) * step.factors[1]
    else:
        width = held - front_rows(target, held)
        lines = width // target.pitch
    if lines < 1:
        return [
            Chunk(line, line + 1, at, min(at + width, target.pitch))
            for line in range(target.down if width > 0 else 0)
            for at in range(0, target.pitch, max(1, width))
        ]
    lines = min(lines, most or lines)
    count = -(-target.down // lines)
    edges = [target.down * k // count for k in range(count + 1)]
    return [Chunk(a, b, 0, target.pitch) for a, b in zip(edges, edges[1:], strict=False)]


def _tile_rows(step, n, slot):
    """Chunks of a :class:`KernelStep`. One turned in portions has the same rows of every tile in a
    chunk; any other one is a single chunk."""
    if slot is None or not step.turned:
        return [Chunk(0, 1, 0, 1)]
    return [Chunk(row, min(row + slot, n), 0, 1) for row in range(0, n, slot)]


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
    held = (params["acc_rows"] - idle_rows(target, params)) // pitch
    return max(0, (held - step.window[0]) // step.stride[0] + 1)


def pool_places(step: PoolStep, planes: Mapping[str, Planes], params: Mapping[str, Any]) -> int:
    """Greatest number of positions of a result line of a pooling whose windows fit the
    accumulators; 0 if none fits."""
    held = params["acc_rows"] - idle_rows(planes[step.target], params)
    return max(0, (held // step.window[0] - step.window[1]) // step.stride[1] + 1)


def pool_window(step: PoolStep, chunk: Chunk, planes: Mapping[str, Planes]) -> tuple[range, range]:
    """Lines and positions of the source, padding included, that the windows of a chunk cover."""
    real = chunk.begin + chunk.real(planes[step.target])
    found = []
    for begin, end, stride, before, window in zip(
        (chunk.first, chunk.begin),
        (chunk.end, real),
        step.stride,
        step.before,
        step.window,
        strict=True,
    ):
        low = begin * stride - before
        found.append(range(low, low + (end - 1 - begin) * stride + window if begin < end else low))
    return found[0], found[1]


def term_lines(
    step: Step, term: Term, chunk: Chunk, planes: Mapping[str, Planes]
) -> tuple[int, int]:
    """Lines of a chunk for which the source line of a term exists: (first, line behind the
    last)."""
    down, stride = planes[step.sources[term.source]].down, step.stride[0]
    return (
        max(chunk.first, -(term.line // stride)),
        min(chunk.end, (down - 1 - term.line) // stride + 1),
    )


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


def band_lines(
    step: Step | PoolStep | KernelStep | InterleaveStep,
    source: int,
    parts: Sequence[Chunk],
    planes: Mapping[str, Planes],
) -> int:
    """Greatest number of source lines that any chunk of ``step`` needs."""
    return max(
        (b - a for a, b in (needed(step, chunk, source, planes) for chunk in parts)), default=0
    )


def band_size(lines: int, map_: Planes) -> int:
    """Buffer rows of ``lines`` lines of every block."""
    return map_.blocks * (map_.lead + lines * map_.pitch)
