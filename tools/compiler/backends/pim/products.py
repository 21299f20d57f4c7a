# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products of two activations, and transposes: the vector unit multiplies rows, ``vmv``
gathers columns.

Arrays hold constants, so a result is one ``vvdmul`` of a row of the first operand and a column of
the second, which lies as a row in local memory. Its sum has 32 bits: the first operand loses as
many places before as let no sum be larger (:func:`~.arithmetic.places_before`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rewriting import turns
from .arithmetic import SUM_BITS, places_before
from .flat import Products, copy_rows
from .maps import share

if TYPE_CHECKING:
    from ...graph import Graph, MatMul, Transpose
    from .program import ProgramWriter

__all__ = [
    "emit_product",
    "emit_transpose",
    "most_transposed",
]


@dataclass(frozen=True)
class _Places:
    """Addresses and sizes of a matrix product: operands and result in main memory, bytes per
    element of each, and the matrices' sides."""

    first: int
    second: int
    result: int
    size: int
    out_size: int
    rows: int
    inner: int
    columns: int
    matrices: int
    turned: bool


def emit_product(writer: ProgramWriter, node: MatMul) -> None:
    """Emits the product, with rows of the result distributed over the cores. ``writer``: the
    :class:`~.program.ProgramWriter`."""
    graph, (first, second) = writer.graph, node.inputs
    shape, other = graph.shape(first), graph.shape(second)
    p = _Places(
        writer.places[first],
        writer.places[second],
        writer.places[node.output],
        writer.size(first),
        writer.size(node.output),
        shape[-2],
        shape[-1],
        other[-2] if node.turned else other[-1],
        int(np.prod(shape[:-2], dtype=int)),
        node.turned,
    )
    shift = int(writer.q.layers[node.name].shift.flat[0])
    for core, pointer, (begin, end) in zip(
        writer.cores, writer.pointers, share(p.rows * p.matrices, len(writer.cores)), strict=True
    ):
        if begin < end:
            _Core(core, pointer, p, shift, node.name).emit(begin, end)


class _Core:
    """Emits the rows of the product that one core computes."""

    def __init__(self, core, pointer, places, shift, what):
        self.core, self.pointer, self.p, self.what = core, pointer, places, what
        p = places
        self.before = places_before(p.inner, 8 * p.size)
        row = p.inner * p.size
        # Memory of a column: itself, as it comes where it must be moved, its sum with two
        # constants, its result.
        column = row * (1 + (not p.turned)) + 12 + 2 * p.out_size
        fixed = row * (1 + 2 * (self.before > 0)) + 16
        self.block = max(
            1,
            min(
                p.columns, Products.MOST, (core.params["lmem_bytes"] - core.used - fixed) // column
            ),
        )
        self.kernel = core.allocate(self.block * row, what)
        self.raw = core.allocate(self.block * row, what) if not p.turned else self.kernel
        self.row = core.allocate(row, what)
        self.results = [core.allocate(self.block * p.out_size, what) for _ in range(2)]
        self.finish = Products(core, self.block, shift - self.before, what)
        if self.before:
            self.half, self.by, one = (
                core.allocate(row, what),
                core.allocate(row, what),
                core.allocate(4, what),
            )
            for target, value in ((self.half, 1 << self.before >> 1), (self.by, self.before)):
                core.constants(one, [value])
                core.gather(target, one, 0, p.inner, p.size)

    def emit(self, begin, end):
        p = self.p
        for matrix in range(begin // p.rows, -(-end // p.rows)):
            rows = range(max(begin, matrix * p.rows), min(end, (matrix + 1) * p.rows))
            for first in range(0, p.columns, self.block):
                count = min(self.block, p.columns - first)
                self._bring(matrix, first, count)
                for turn, row in enumerate(rows):
                    self._row(row, first, count, self.results[turn % 2])

    def _bring(self, matrix, first, count):
        """Loads columns of the second operand, each as a contiguous row."""
        core, p, size = self.core, self.p, self.p.size
        base = p.second + matrix * p.inner * p.columns * size
        if p.turned:
            core.load(
                self.kernel, self.pointer, count * p.inner * size, base + first * p.inner * size
            )
            return
        _load_columns(core, self.pointer, self.raw, base, (p.inner, p.columns), first, count, size)
        for column in range(count):
            core.gather(
                self.kernel + column * p.inner * size,
                self.raw + column * size,
                count,
                p.inner,
                size,
            )

    def _row(self, row, first, count, result):
        core, p = self.core, self.p
        core.load(self.row, self.pointer, p.inner * p.size, p.first + row * p.inner * p.size)
        if self.before:
            core.widths(8 * p.size, 8 * p.size)
            core.vector2("vvadd", self.row, self.row, self.half, p.inner, size=p.size)
            core.vector2("vvsra", self.row, self.row, self.by, p.inner, size=p.size)
        core.widths(8 * p.size, SUM_BITS)
        rs1 = core.register(self.row)
        rs2 = core.register(self.kernel, (rs1,))
        for column in range(count):
            # Columns by the offset: two registers stay, one says where the sum goes.
            rd = core.register(self.finish.wide + 4 * column, (rs1, rs2))
            core.emit(
                "vvdmul",
                rd=rd,
                rs1=core.register(self.row),
                rs2=core.register(self.kernel),
                len=p.inner,
                offset_value=column * p.inner,
                offset_select=4,
            )
        self.finish.narrow(result, count, p.out_size)
        core.store(
            self.pointer,
            result,
            count * p.out_size,
            p.result + (row * p.columns + first) * p.out_size,
        )


def _load_columns(core, pointer, to, source, shape, first, count, size):
    """Loads ``count`` columns, from ``first`` on, of a matrix of ``shape`` (rows, columns) at
    address ``source``, row by row and without gaps, to local address ``to``."""
    rows, columns = shape
    if count == columns:
        core.load(to, pointer, rows * columns * size, source)
        return
    for k in range(rows):
        core.load(
            to + k * count * size, pointer, count * size, source + (k * columns + first) * size
        )


def emit_transpose(writer: ProgramWriter, node: Transpose) -> None:
    """Emits a transpose. Of a swap of the last two axes columns of the source are distributed over
    the cores, else rows of the result."""
    graph, params = writer.graph, writer.params
    shape, size = graph.shape(node.inputs[0]), writer.size(node.output)
    if not turns(graph, node):
        if graph.tensors[node.output].size <= most_transposed(graph, node, params):
            return _emit_rows(writer, node)
        return _emit_tiles(writer, node)
    if 2 * shape[-2] * size > params["lmem_bytes"]:
        return _emit_tiles(writer, node)
    rows, columns, matrices = shape[-2], shape[-1], int(np.prod(shape[:-2], dtype=int))
    source, target = writer.places[node.inputs[0]], writer.places[node.output]
    for core, pointer, (begin, end) in zip(
        writer.cores, writer.pointers, share(columns, len(writer.cores)), strict=True
    ):
        if begin == end:
            continue
        free_bytes = core.params["lmem_bytes"] - core.used
        block = max(1, min(end - begin, free_bytes // (2 * rows * size)))
        raw, turned = (
            core.allocate(block * rows * size, node.name),
            core.allocate(block * rows * size, node.name),
        )
        for matrix in range(matrices):
            base = matrix * rows * columns * size
            for first in range(begin, end, block):
                count = min(block, end - first)
                _load_columns(
                    core, pointer, raw, source + base, (rows, columns), first, count, size
                )
                for column in range(count):
                    core.gather(
                        turned + column * rows * size, raw + column * size, count, rows, size
                    )
                core.store(
                    pointer, turned, count * rows * size, target + base + first * rows * size
                )


def most_transposed(graph: Graph, node: Transpose, params: Mapping[str, Any]) -> int:
    """Greatest number of elements of which each core has the whole source in local memory, and rows
    of the result."""
    return params["lmem_bytes"] // 2 - graph.shape(node.output)[-1]


@dataclass(frozen=True)
class _Axis:
    """Axes of a transpose that stay side by side: their elements, and the elements from one to the
    next in the source and in the result."""

    length: int
    source: int
    target: int


def _merged(shape, order):
    """The :class:`_Axis` of each run of axes that stay side by side, in the result's order."""
    runs: list[list[int]] = []
    for axis in order:
        if shape[axis] == 1:
            continue
        before = runs[-1][-1] if runs else axis
        between = shape[before + 1 : axis]
        if runs and before < axis and all(length == 1 for length in between):
            runs[-1].append(axis)
        else:
            runs.append([axis])
    found: list[_Axis] = []
    target = 1
    for run in reversed(runs):
        length = int(np.prod([shape[axis] for axis in run], dtype=int))
        source = int(np.prod(shape[run[-1] + 1 :], dtype=int))
        found.insert(0, _Axis(length, source, target))
        target *= length
    return found


def _emit_tiles(writer, node):
    """Emits any transpose tile by tile: of the source's last axis and the result's, or, where these
    are one, run by run."""
    size = writer.size(node.output)
    axes = _merged(writer.graph.shape(node.inputs[0]), node.order)
    last = axes[-1]
    first = min(axes, key=lambda axis: axis.source)
    others = [axis for axis in axes if axis not in (first, last)]
    begins = [
        (
            sum(k * a.source for k, a in zip(index, others, strict=True)),
            sum(k * a.target for k, a in zip(index, others, strict=True)),
        )
        for index in np.ndindex(*(axis.length for axis in others))
    ]
    source, target = writer.places[node.inputs[0]], writer.places[node.output]
    cores = len(writer.cores)
    for number, (core, pointer) in enumerate(zip(writer.cores, writer.pointers, strict=True)):
        mark = core.used
        if first is last:
            # Elements that stay side by side.
            for begin, end in begins[number::cores]:
                core.used = mark
                run = last.length * size
                copy_rows(core, pointer, source + begin * size, target + end * size, run, node.name)
            continue
        columns = share(first.length, cores)[number]
        if columns[0] < columns[1]:
            _emit_matrices(
                core, pointer, (source, target), begins, (first, last), columns, size, node.name
            )


def _emit_matrices(core, pointer, places, begins, axes, columns, size, what):
    """Emits the transpose of columns (first, end) of matrices, which begin at ``begins`` (elements
    of the source, of the result). ``axes``: of columns, of rows."""
    (source, target), (across, down) = places, axes
    free_bytes = core.params["lmem_bytes"] - core.used
    tall = min(down.length, free_bytes // (2 * size))
    wide = max(1, min(columns[1] - columns[0], free_bytes // (2 * tall * size)))
    raw, turned = (core.allocate(wide * tall * size, what) for _ in range(2))
    # Columns of whole rows follow each other in the result.
    close = tall == down.length == across.target
    for begin, end in begins:
        for x in range(columns[0], columns[1], wide):
            count = min(wide, columns[1] - x)
            for y in range(0, down.length, tall):
                rows = min(tall, down.length - y)
                for k in range(rows):
                    at = begin + (y + k) * down.source + x
                    core.load(raw + k * count * size, pointer, count * size, source + at * size)
                for k in range(count):
                    core.gather(turned + k * rows * size, raw + k * size, count, rows, size)
                to = target + (end + x * across.target + y) * size
                if close:
                    core.store(pointer, turned, count * rows * size, to)
                    continue
                for k in range(count):
                    core.store(
                        pointer,
                        turned + k * rows * size,
                        rows * size,
                        to + k * across.target * size,
                    )


def _emit_rows(writer, node):
    """Emits any transpose of a tensor that local memory holds."""
    graph, size = writer.graph, writer.size(node.output)
    shape, result = graph.shape(node.inputs[0]), graph.shape(node.output)
    # Distances of a source's elements along each axis of the result.
    strides = [int(np.prod(shape[axis + 1 :], dtype=int)) for axis in node.order]
    length, stride = result[-1], strides[-1]
    begins = sum(
        index * one for index, one in zip(np.indices(result[:-1]), strides[:-1], strict=True)
    )
    begins = np.ravel(begins).tolist()
    source, target = writer.places[node.inputs[0]], writer.places[node.output]
    whole, row = size * graph.tensors[node.output].size, size * length
    for core, pointer, (first, end) in zip(
        writer.cores, writer.pointers, share(len(begins), len(writer.cores)), strict=True
    ):
        if first == end:
            continue
        raw = core.allocate(whole, node.name)
        core.load(raw, pointer, whole, source)
        block = max(1, min(end - first, (core.params["lmem_bytes"] - core.used) // row))
        rows = core.allocate(block * row, node.name)
        for at in range(first, end, block):
            some = begins[at : min(at + block, end)]
            for k, begin in enumerate(some):
                if stride == 1:
                    core.move(rows + k * row, raw + begin * size, row)
                else:
                    core.gather(rows + k * row, raw + begin * size, stride, length, size)
            core.store(pointer, rows, len(some) * row, target + at * row)
