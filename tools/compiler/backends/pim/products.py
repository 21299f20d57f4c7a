# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products of two activations, and transposes: the vector unit multiplies rows, ``vmv``
gathers columns.

Arrays hold constants, so a result is one ``vvdmul`` of a row of the first operand and a column of
the second, which lies as a row in local memory. Its sum has 32 bits: the first operand loses as
many places before as let no sum be larger (:func:`~.arithmetic.places_before`). Where a row is too
long for one instruction or for local memory, a result is a sum of partial sums, each of so few
products that the operand loses fewer places; the partial sums lose the others, and are wider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rewriting import turns
from .arithmetic import SUM_BITS, elements_together, places_before
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
    together = elements_together(node, p.inner, (p.size, p.out_size), writer.params)
    for core, pointer, (begin, end) in zip(
        writer.cores, writer.pointers, share(p.rows * p.matrices, len(writer.cores)), strict=True
    ):
        if begin < end:
            kind = _WholeSums if together == p.inner else _PartialSums
            kind(core, pointer, p, together, shift, node.name).emit(begin, end)


class _Sums:
    """Sums of ``together`` products of the rows that one core computes: loads operands, and leaves
    the sums in local memory."""

    def __init__(self, core, pointer, places, together, what):
        self.core, self.pointer, self.p, self.what = core, pointer, places, what
        self.together, p = together, places
        self.before = places_before(together, 8 * p.size)
        self.bytes = together * p.size
        #: Bytes of a column: itself, as it comes where it must be moved, its sum with two
        #: constants, its results.
        self.column = self.bytes * (1 + (not p.turned)) + 12 + 2 * p.out_size
        #: Bytes of a row, and of two constants for its rounding.
        self.fixed = self.bytes * (1 + 2 * (self.before > 0)) + 16

    def allocate(self, block):
        """Allocates the operands and results of ``block`` columns at a time."""
        core, what = self.core, self.what
        self.block = block
        self.kernel = core.allocate(block * self.bytes, what)
        self.raw = core.allocate(block * self.bytes, what) if not self.p.turned else self.kernel
        self.row = core.allocate(self.bytes, what)
        self.results = [core.allocate(block * self.p.out_size, what) for _ in range(2)]

    def rounding(self):
        """Allocates and emits the constants of the first operand's rounding."""
        core, what = self.core, self.what
        if self.before:
            self.half, self.by, one = (
                core.allocate(self.bytes, what),
                core.allocate(self.bytes, what),
                core.allocate(4, what),
            )
            for target, value in ((self.half, 1 << self.before >> 1), (self.by, self.before)):
                core.constants(one, [value])
                core.gather(target, one, 0, self.together, self.p.size)

    def tiles(self, begin, end):
        """Iterates over rows ``begin`` to ``end`` - 1 of the matrices and blocks of columns:
        (matrix, rows, first column, number of columns)."""
        p = self.p
        for matrix in range(begin // p.rows, -(-end // p.rows)):
            rows = range(max(begin, matrix * p.rows), min(end, (matrix + 1) * p.rows))
            for first in range(0, p.columns, self.block):
                yield matrix, rows, first, min(self.block, p.columns - first)

    def bring(self, matrix, first, count, at=0):
        """Loads elements ``at`` and following of columns of the second operand, each as a
        contiguous row."""
        core, p, size = self.core, self.p, self.p.size
        some = min(self.together, p.inner - at)
        base = p.second + matrix * p.inner * p.columns * size
        if p.turned:
            base += first * p.inner * size
            _load_columns(core, self.pointer, self.kernel, base, (count, p.inner), at, some, size)
            return
        base += at * p.columns * size
        _load_columns(core, self.pointer, self.raw, base, (some, p.columns), first, count, size)
        for column in range(count):
            core.gather(
                self.kernel + column * some * size,
                self.raw + column * size,
                count,
                some,
                size,
            )

    def sums(self, row, count, target, at=0):
        """Emits the sums of a row, from its element ``at`` on, with ``count`` columns, to local
        address ``target``."""
        core, p = self.core, self.p
        some = min(self.together, p.inner - at)
        core.load(self.row, self.pointer, some * p.size, p.first + (row * p.inner + at) * p.size)
        if self.before:
            core.widths(8 * p.size, 8 * p.size)
            core.vector2("vvadd", self.row, self.row, self.half, some, size=p.size)
            core.vector2("vvsra", self.row, self.row, self.by, some, size=p.size)
        core.widths(8 * p.size, SUM_BITS)
        rs1 = core.register(self.row)
        rs2 = core.register(self.kernel, (rs1,))
        for column in range(count):
            # Columns by the offset: two registers stay, one says where the sum goes.
            rd = core.register(target + 4 * column, (rs1, rs2))
            core.emit(
                "vvdmul",
                rd=rd,
                rs1=core.register(self.row),
                rs2=core.register(self.kernel),
                len=some,
                offset_value=column * some,
                offset_select=4,
            )

    def store(self, row, first, count, result):
        """Emits the store of a row's results."""
        p = self.p
        to = p.result + (row * p.columns + first) * p.out_size
        self.core.store(self.pointer, result, count * p.out_size, to)


class _WholeSums(_Sums):
    """Results that are one sum each."""

    def __init__(self, core, pointer, places, together, shift, what):
        super().__init__(core, pointer, places, together, what)
        free = core.params["lmem_bytes"] - core.used - self.fixed
        self.allocate(max(1, min(places.columns, Products.MOST, free // self.column)))
        self.finish = Products(core, self.block, shift - self.before, what)
        self.rounding()

    def emit(self, begin, end):
        for matrix, rows, first, count in self.tiles(begin, end):
            self.bring(matrix, first, count)
            for turn, row in enumerate(rows):
                result = self.results[turn % 2]
                self.sums(row, count, self.finish.wide)
                self.finish.narrow(result, count, self.p.out_size)
                self.store(row, first, count, result)


class _PartialSums(_Sums):
    """Results that are sums of partial sums, which local memory keeps for several rows."""

    def __init__(self, core, pointer, places, together, shift, what):
        super().__init__(core, pointer, places, together, what)
        between = places_before(places.inner, 8 * places.size) - self.before
        # A half for columns, with the numbers of two roundings, a half for the sums.
        free = core.params["lmem_bytes"] - core.used - self.fixed - 4
        block = free // 2 // (self.column + 12)
        self.allocate(max(1, min(places.columns, Products.MOST, block)))
        self.partial = Products(core, self.block, between, what)
        self.finish = Products(core, self.block, shift - self.before - between, what)
        self.rounding()
        rows = (core.params["lmem_bytes"] - core.used) // (4 * self.block)
        self.most = max(1, min(places.rows, rows))
        self.totals = core.allocate(4 * self.block * self.most, what)

    def emit(self, begin, end):
        for matrix, rows, first, count in self.tiles(begin, end):
            for k in range(0, len(rows), self.most):
                self._tile(matrix, rows[k : k + self.most], first, count)

    def _tile(self, matrix, rows, first, count):
        core, partial, pitch = self.core, self.partial, 4 * count
        for at in range(0, self.p.inner, self.together):
            self.bring(matrix, first, count, at)
            for turn, row in enumerate(rows):
                total = self.totals + turn * pitch
                self.sums(row, count, partial.wide, at)
                if not at:
                    partial.narrow(total, count, 4)
                    continue
                partial.narrow(partial.wide, count, 4)
                core.widths(SUM_BITS, SUM_BITS)
                core.vector2("vvadd", total, total, partial.wide, count, size=4)
        for turn, row in enumerate(rows):
            result = self.results[turn % 2]
            core.move(self.finish.wide, self.totals + turn * pitch, pitch)
            self.finish.narrow(result, count, self.p.out_size)
            self.store(row, first, count, result)


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
