# SPDX-License-Identifier: BSD-2-Clause
"""Row-wise convolution and pooling on one core: source rows in line buffers of local memory,
results stored row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Conv
from .arrays.matrices import Matrix, gathers

if TYPE_CHECKING:
    from ...graph import Activation, MaxPool
    from ...quantised import Scale
    from .codegen import CoreBuilder

__all__ = [
    "Band",
    "ConvRows",
    "PoolRows",
    "Products",
    "effective_window",
    "pool_row",
    "share",
    "spans",
]


def share(total: int, parts: int) -> list[tuple[int, int]]:
    """Splits ``total`` rows into ``parts`` bands of nearly equal size: pairs (first, end)."""
    cuts = [total * k // parts for k in range(parts + 1)]
    return list(zip(cuts, cuts[1:], strict=False))


def effective_window(node: Conv | MaxPool) -> tuple[int, int]:
    """Rows and columns from a window's first element to its last, dilation included."""
    if isinstance(node, Conv):
        return node.window
    rows, columns = (
        (length - 1) * distance + 1
        for length, distance in zip(node.window, node.dilation, strict=True)
    )
    return rows, columns


@dataclass(frozen=True)
class Columns:
    """Columns of a layer that a band covers: ranges (first, end) of ``result`` and ``source``, and
    zero columns ``left`` and ``right`` of the source's range."""

    result: tuple[int, int]
    source: tuple[int, int]
    left: int
    right: int


def slots_of(
    window: tuple[int, int],
    stride: tuple[int, int],
    height: int,
    padding: tuple[int, int, int, int],
) -> int:
    """Number of source rows in the line buffers: one stride more than a window."""
    return min(window[0] + stride[0], height + padding[0] + padding[2])


def _columns_of(node, width, first, end):
    """The :class:`Columns` of results ``first`` to ``end`` - 1 of a layer with windows."""
    low = first * node.stride[1] - node.padding[1]
    high = (end - 1) * node.stride[1] - node.padding[1] + effective_window(node)[1]
    begin = min(max(low, 0), width)
    behind = max(min(high, width), begin)
    # All of them may be zero columns.
    left, right = max(min(begin, high) - low, 0), max(high - max(behind, low), 0)
    return Columns((first, end), (begin, behind), left, right)


def column_tiles(
    node: Conv | MaxPool, width: int, columns: int, least: int, fits: Callable[[Columns], bool]
) -> list[Columns | None]:
    """Splits a layer's columns into the fewest tiles, of at least ``least`` columns, that ``fits``
    accepts; ``None``: all columns at once. If no tile is small enough, returns the smallest; the
    last of these computes some columns of the one before again."""
    if fits(Columns((0, columns), (0, width), node.padding[1], node.padding[3])):
        return [None]
    number = 1
    while number * least <= columns:
        # Even a single tile can be narrower than the map: its strides may leave columns out.
        found = [_columns_of(node, width, *cut) for cut in share(columns, number)]
        if all(map(fits, found)):
            return list(found)
        number += 1
    firsts = [min(first, columns - least) for first in range(0, columns, least)]
    return [_columns_of(node, width, first, first + least) for first in firsts]


class Band:
    """Rows ``first`` to ``end`` - 1 of a layer's results on one core, and the line buffers of their
    source rows.

    Parameters
    ----------
    core : CoreBuilder, whose local memory from ``core.used`` on is free
    pointer : its pair with global address 0
    source, target : (byte address, (rows, columns, channels), bytes of an element) in global memory
    window, stride, padding : of the layer; ``padding`` (top, left, bottom, right)
    taken, given : channels of the source and of the results that the band works on (first,
        behind last), ``None``: all
    columns : of the results, ``None``: all
    pitch : columns from one row of the source to the next, ``None``: as many as it has
    """

    def __init__(
        self,
        core: CoreBuilder,
        pointer: int,
        source: tuple[int, tuple[int, int, int], int],
        target: tuple[int, tuple[int, int, int], int],
        window: tuple[int, int],
        stride: tuple[int, int],
        padding: tuple[int, int, int, int],
        what: str,
        taken: tuple[int, int] | None = None,
        given: tuple[int, int] | None = None,
        columns: Columns | None = None,
        pitch: int | None = None,
    ):
        self.core, self.pointer, self.what = core, pointer, what
        (
            (self.source_at, (self.height, wide, self._all), self.size),
            (self.target_at, shape, self.out_size),
        ) = source, target
        self._all_out, self._wide_out = shape[2], shape[1]
        self._wide = pitch or wide
        self.columns = columns or Columns((0, shape[1]), (0, wide), padding[1], padding[3])
        self.width = self.columns.source[1] - self.columns.source[0]
        shape = (shape[0], self.columns.result[1] - self.columns.result[0], shape[2])
        self.first, end = taken or (0, self._all)
        self.out, out_end = given or (0, self._all_out)
        self.channels, self.shape = end - self.first, (*shape[:2], out_end - self.out)
        self.window, self.stride, self.padding = window, stride, padding
        left, right = self.columns.left, self.columns.right
        self.pitch = (left + self.width + right) * self.channels * self.size
        # One stride more than a window: the next rows come while these are worked on.
        self.slots = slots_of(window, stride, self.height, padding)
        self.buffer = core.allocate(self.slots * self.pitch, what)
        row = self.shape[1] * self.shape[2] * self.out_size
        self.results = [core.allocate(row, what) for _ in range(2)]
        self._held: dict[int, int] = {}
        if left or right:
            for slot in range(self.slots):
                for at, count in ((0, left), (left + self.width, right)):
                    if count:
                        core.fill(
                            self.buffer + slot * self.pitch + at * self.channels * self.size,
                            0,
                            count * self.channels * self.size,
                        )

    def row(self, y: int) -> int:
        """Local address of row ``y`` of the padded source."""
        return self.buffer + y % self.slots * self.pitch

    def fetch(self, y: int) -> None:
        """Loads row ``y`` of the padded source into the line buffers."""
        slot = y % self.slots
        if self._held.get(slot) == y:
            return
        inner = self.width * self.channels * self.size
        at, real = self.row(y) + self.columns.left * self.channels * self.size, y - self.padding[0]
        first = real * self._wide + self.columns.source[0]
        self._held[slot] = y
        if not 0 <= real < self.height:
            self.core.fill(at, 0, inner)
        elif self.channels == self._all:
            position = self.channels * self.size
            self.core.load(at, self.pointer, inner, self.source_at + first * position)
        else:
            count = self.channels * self.size
            for x in range(self.width):
                self.core.load(
                    at + x * count,
                    self.pointer,
                    count,
                    self.source_at + ((first + x) * self._all + self.first) * self.size,
                )

    def store(self, y: int, results: int) -> None:
        """Stores a row of results."""
        columns, count = self.shape[1], self.shape[2] * self.out_size
        first = y * self._wide_out + self.columns.result[0]
        if self.shape[2] == self._all_out:
            self.core.store(self.pointer, results, columns * count, self.target_at + first * count)
            return
        for x in range(columns):
            self.core.store(
                self.pointer,
                results + x * count,
                count,
                self.target_at + ((first + x) * self._all_out + self.out) * self.out_size,
            )

    def rows(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """Iterates over the rows: loads the source rows, yields (row, local address of its
        results), and stores the results."""
        for y in range(first, end):
            now = range(y * self.stride[0], y * self.stride[0] + self.window[0])
            for need in now:
                self.fetch(need)
            busy = {need % self.slots for need in now}
            for need in (
                range((y + 1) * self.stride[0], (y + 1) * self.stride[0] + self.window[0])
                if y + 1 < end
                else ()
            ):
                if need % self.slots not in busy:
                    self.fetch(need)
            yield y, self.results[y % 2]
            self.store(y, self.results[y % 2])


class Products:
    """Emits the multiplications of a row of a convolution's results.

    Parameters
    ----------
    matrices, groups : of the core, side by side
    channels : of a place of the source in local memory; ``shape``: (rows, columns,
        channels) of the results there
    size, out_size : bytes of an element
    patches : local addresses of the two places of :meth:`space`,
        which all of a core's layers may share; the one used last comes last
    """

    def __init__(
        self,
        core: CoreBuilder,
        node: Conv,
        matrices: Sequence[Matrix],
        groups: Sequence[int],
        channels: int,
        shape: tuple[int, ...],
        size: int,
        out_size: int,
        relu: bool,
        patches: list[int],
    ):
        self.core, self.node, self.matrices, self.groups, self.relu = (
            core,
            node,
            matrices,
            groups,
            relu,
        )
        self.channels, self.shape, self.size, self.out_size, self.patches = (
            channels,
            shape,
            size,
            out_size,
            patches,
        )
        self._at = _positions(matrices, shape[1])
        # Of each matrix its group; (row of the window, bytes from there, bytes) of each run of a
        # neighbourhood; bytes to its first channel. And its first channel of the result.
        base, out = matrices[0].first, matrices[0].out
        self._runs = [
            (
                group,
                [
                    (r, c * channels * size, columns * matrix.count * size)
                    for r, c, columns in _window_runs(node, matrix, matrices)
                ],
                (matrix.first - base) * size,
            )
            for matrix, group in zip(matrices, groups, strict=True)
        ]
        self._outs = [matrix.out - out for matrix in matrices]

    @staticmethod
    def space(node: Conv, matrices: Sequence[Matrix], size: int) -> int:
        """Bytes of the two buffers in which windows are assembled."""
        if all(len(_window_runs(node, matrix, matrices)) == 1 for matrix in matrices):
            return 0
        return 2 * max(m.shape[0] for m in matrices) * size

    @staticmethod
    def parts(
        node: Conv, matrices: Sequence[Matrix], width: int, size: int
    ) -> list[tuple[list[int], Matrix]]:
        """Multiplications of a row of ``width`` results, in order: (bytes of each move, matrix)."""
        gathered = [
            [run[2] * matrix.count * size for run in _window_runs(node, matrix, matrices)]
            for matrix in matrices
        ]
        return [
            (moves if len(moves) > 1 else [], matrix)
            for _ in _positions(matrices, width)
            for moves, matrix in zip(gathered, matrices, strict=True)
        ]

    def row(self, source_row: Callable[[int], int], results: int) -> None:
        """Emits one row of results to a local address; ``source_row``: row of the window -> local
        address of its first column."""
        for _ in self.steps(source_row, results):
            pass

    def steps(self, source_row: Callable[[int], int], results: int) -> Iterator[None]:
        """Emits the multiplications of a row like :meth:`row`, but yields after each."""
        core, size, out_size = self.core, self.size, self.out_size
        step, widths = self.node.stride[1] * self.channels * size, (8 * size, 8 * out_size)
        rows = {r: source_row(r) for each in self._runs for r, _, _ in each[1]}
        for x in self._at:
            for (group, runs, first), out in zip(self._runs, self._outs, strict=True):
                row, offset, _ = runs[0]
                source = rows[row] + x * step + first + offset
                if len(runs) > 1:
                    source = at = self.patches[0]
                    self.patches.reverse()
                    for row, offset, count in runs:
                        core.move(at, rows[row] + x * step + first + offset, count)
                        at += count
                core.widths(*widths)
                target = results + (x * self.shape[2] + out) * out_size
                core.mvmul(target, source, group, self.relu)
                yield


def _positions(matrices, width):
    """First columns of the multiplications of a row; the last may overlap the one before, whose
    results it repeats."""
    wide = matrices[0].wide  # more than one where one matrix gives all channels
    return list(dict.fromkeys(min(x, width - wide) for x in range(0, width, wide)))


def _window_runs(node, matrix, matrices):
    return gathers(node, matrix, len(matrices) == 1 or node.groups == 1)


class ConvRows:
    """A convolution's band. ``behind``: callback with the local address of a row of results, before
    the row is stored; ``columns``, ``pitch``: as of a :class:`Band`."""

    def __init__(
        self,
        core: CoreBuilder,
        pointer: int,
        node: Conv,
        matrices: Sequence[Matrix],
        groups: Sequence[int],
        source: tuple[int, tuple[int, int, int], int],
        target: tuple[int, tuple[int, int, int], int],
        relu: bool,
        behind: Callable[[int], None],
        columns: Columns | None = None,
        pitch: int | None = None,
    ):
        self.node, self.behind = node, behind
        first, last = matrices[0], matrices[-1]
        self.band = Band(
            core,
            pointer,
            source,
            target,
            node.window,
            node.stride,
            node.padding,
            node.name,
            (first.first, last.first + last.count),
            (first.out, last.out + last.outputs),
            columns,
            pitch,
        )
        space = Products.space(node, matrices, self.band.size)
        self.products = Products(
            core,
            node,
            matrices,
            groups,
            self.band.channels,
            self.band.shape,
            self.band.size,
            self.band.out_size,
            relu,
            [core.allocate(space // 2, node.name) for _ in range(2)] if space else [],
        )

    @staticmethod
    def tiles(
        node: Conv,
        matrices: Sequence[Matrix],
        source: tuple[int, tuple[int, int, int], int],
        target: tuple[int, tuple[int, int, int], int],
        free_bytes: int,
    ) -> list[Columns | None]:
        """Column tiles whose bands fit ``free_bytes`` bytes of local memory."""
        (_, (height, width, _), size), (_, shape, out_size) = source, target
        first, last = matrices[0], matrices[-1]
        channels, outputs = last.first + last.count - first.first, last.out + last.outputs
        slots = slots_of(node.window, node.stride, height, node.padding)
        space = Products.space(node, matrices, size)

        def fits(columns):
            wide = columns.left + columns.source[1] - columns.source[0] + columns.right
            results = columns.result[1] - columns.result[0]
            taken = slots * wide * channels * size + space
            return taken + 2 * results * (outputs - first.out) * out_size <= free_bytes

        return column_tiles(node, width, shape[1], max(m.wide for m in matrices), fits)

    @staticmethod
    def least(node: Conv, matrices: Sequence[Matrix], height: int, size: int) -> int:
        """Bytes of local memory of the narrowest tile, in the middle of a map of ``height``
        rows."""
        first, last = matrices[0], matrices[-1]
        channels, outputs = last.first + last.count - first.first, last.out + last.outputs
        results = max(m.wide for m in matrices)
        wide = (results - 1) * node.stride[1] + node.window[1]
        slots = slots_of(node.window, node.stride, height, node.padding)
        taken = slots * wide * channels + 2 * results * (outputs - first.out)
        return taken * size + Products.space(node, matrices, size)

    def _source_row(self, y: int, r: int) -> int:
        return self.band.row(y * self.node.stride[0] + r)

    def emit(self, first: int, end: int) -> None:
        """Emits the code of result rows ``first`` to ``end`` - 1."""
        for y, results in self.band.rows(first, end):
            self.products.row(partial(self._source_row, y), results)
            self.behind(results)


def spans(node: Conv | MaxPool, length: int, index: int, axis: int) -> list[int]:
    """Source rows or columns within the map on which a result depends; ``length``: number of the
    map's rows or columns."""
    first = index * node.stride[axis] - node.padding[axis]
    return [
        p
        for p in range(
            first,
            first + effective_window(node)[axis],
            node.dilation[axis],
        )
        if 0 <= p < length
    ]


def pool_row(
    core: CoreBuilder,
    node: MaxPool,
    rows: Sequence[int],
    tall: int,
    results: int,
    shape: tuple[int, int],
    columns: int,
    size: int,
    tile: tuple[int, Columns] | None = None,
) -> None:
    """Emits one row of max pooling from the local addresses ``rows``: the maximum of the rows by
    ``vvmax`` into ``tall``, then of the columns for each position. ``shape``: columns and channels
    of the source. Positions outside the map are skipped. ``tile``: (columns of the whole source,
    the current :class:`Columns`)."""
    width, channels = shape
    whole, first, before = width, 0, 0
    if tile is not None:
        whole, first, before = tile[0], tile[1].result[0], tile[1].source[0]
    core.widths(8 * size, 8 * size)
    if len(rows) > 1:
        core.vector2("vvmax", tall, rows[0], rows[1], width * channels, size=size)
        for row in rows[2:]:
            core.vector2("vvmax", tall, tall, row, width * channels, size=size)
    else:
        tall = rows[0]
    for x in range(columns):
        taken = [column - before for column in spans(node, whole, first + x, 1)]
        at = results + x * channels * size
        if len(taken) == 1:
            core.move(at, tall + taken[0] * channels * size, channels * size)
            continue
        core.vector2(
            "vvmax",
            at,
            tall + taken[0] * channels * size,
            tall + taken[1] * channels * size,
            channels,
            size=size,
        )
        for c in taken[2:]:
            core.vector2("vvmax", at, at, tall + c * channels * size, channels, size=size)


class PoolRows:
    """Band of a max pooling layer: its rows on one core, with their source rows in line buffers."""

    def __init__(
        self,
        core: CoreBuilder,
        pointer: int,
        node: MaxPool,
        source: tuple[int, tuple[int, int, int], int],
        target: tuple[int, tuple[int, int, int], int],
        columns: Columns | None = None,
        channels: tuple[int, int] | None = None,
    ):
        self.core, self.node, self.size = core, node, source[2]
        self._tile = None if columns is None else (source[1][1], columns)
        self.band = Band(
            core,
            pointer,
            source,
            target,
            effective_window(node),
            node.stride,
            (0, 0, 0, 0),
            node.name,
            channels,
            channels,
            columns and replace(columns, left=0, right=0),
        )
        self.tall = core.allocate(self.band.pitch, node.name)

    @staticmethod
    def least(node: MaxPool, height: int, size: int) -> int:
        """Bytes of local memory of one column of one channel; the map has ``height`` rows."""
        window = effective_window(node)
        slots = slots_of(window, node.stride, height, (0, 0, 0, 0))
        return ((slots + 1) * window[1] + 2) * size

    @staticmethod
    def tiles(
        node: MaxPool,
        source: tuple[int, tuple[int, int, int], int],
        target: tuple[int, tuple[int, int, int], int],
        free_bytes: int,
    ) -> list[tuple[Columns | None, tuple[int, int] | None]]:
        """Tiles of the columns and channels (``None``: all) whose bands fit ``free_bytes`` bytes of
        local memory."""
        (_, (height, width, channels), size), (_, shape, out_size) = source, target
        slots = slots_of(effective_window(node), node.stride, height, (0, 0, 0, 0))
        whole = Columns((0, shape[1]), (0, width), 0, 0)

        def fits(columns, count):
            wide = columns.source[1] - columns.source[0]
            results = columns.result[1] - columns.result[0]
            return ((slots + 1) * wide * size + 2 * results * out_size) * count <= free_bytes

        for parts in range(1, channels + 1):
            count = -(-channels // parts)
            found = column_tiles(node, width, shape[1], 1, partial(fits, count=count))
            if parts == channels or all(fits(c or whole, count) for c in found):
                some: list[tuple[int, int] | None] = [None]
                if parts > 1:
                    some = [*share(channels, parts)]
                return [(tile, cut) for cut in some for tile in found]
        raise AssertionError("unreachable")

    def emit(self, first: int, end: int) -> None:
        """Emits the code of result rows ``first`` to ``end`` - 1."""
        band = self.band
        for y in range(first, end):
            needs = spans(self.node, band.height, y, 0)
            for need in needs:
                band.fetch(need)
            pool_row(
                self.core,
                self.node,
                [band.row(need) for need in needs],
                self.tall,
                band.results[y % 2],
                (band.width, band.channels),
                band.shape[1],
                self.size,
                self._tile,
            )
            band.store(y, band.results[y % 2])


def clip_bounds(activation: Activation, scale: Scale) -> tuple[int | None, int | None]:
    """Integer bounds of a clip, ``None`` if it has no effective bound."""
    low, high = (
        None if not np.isfinite(v) else int(np.clip(np.rint(v / scale.step), scale.low, scale.high))
        for v in (activation.low, activation.high)
    )
    return low, high
