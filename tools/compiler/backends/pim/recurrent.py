# SPDX-License-Identifier: BSD-2-Clause
"""LSTM and GRU on one core: the matrix unit computes the gates' sums, table lookups their
functions; states stay in local memory from step to step.

Sums have the unit that the tables read (2^-12 of 16 bits), gates and states that which they give
(2^-15), an LSTM's cell that of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Graph, Gru, Lstm
from .arithmetic import table_steps
from .arrays.matrices import Need
from .flat import Products

if TYPE_CHECKING:
    from ...quantised import Integer
    from .codegen import CoreBuilder

__all__ = ["ALIGNED", "BITS", "ONE", "PLACES", "WIDE", "Cell", "cell_numbers", "need_of"]

#: Bits of states, sums' wide form, and places of a product of two gates that are dropped.
BITS, WIDE, PLACES = 16, 32, 15
#: Places between the unit of a product of two gates and that of a gate times a cell.
ALIGNED = 3
ONE = (1 << PLACES) - 1


def _columns(node, params):
    """Column ranges (first, count) of the gates, one per group. The last gate of a GRU that resets
    before its recurrent product gets groups of its own."""
    hidden, rows = node.recurrent.shape[1], len(node.recurrent)
    edges = (
        [0, rows] if isinstance(node, Lstm) or node.linear_before_reset else [0, 2 * hidden, rows]
    )
    return [
        (first, min(params["xb_cols"], end - first))
        for begin, end in zip(edges, edges[1:], strict=False)
        for first in range(begin, end, params["xb_cols"])
    ]


def need_of(graph: Graph, node: Lstm | Gru, params: Mapping[str, Any]) -> Need:
    """The :class:`Need` of a recurrent layer's weights, on one core."""
    columns, sides = _columns(node, params), (node.weights.shape[1], node.recurrent.shape[1])
    arrays = sum(-(-side // params["xb_rows"]) for side in sides) * len(columns)
    cycles = (
        graph.shape(node.inputs[0])[0]
        * sum(sides)
        * len(columns)
        * -(-params["xb_cols"] // params["lanes"])
    )
    return Need(
        node.name,
        arrays,
        len(node.weights) * (1 if isinstance(node, Lstm) else 2),
        2 * len(columns),
        cycles,
        0,
        1,
    )


class Cell:
    """A recurrent layer on ``core``; ``numbers``:
    :class:`~quintet.tools.compiler.quantised.Integer`."""

    def __init__(self, core: CoreBuilder, node: Lstm | Gru, numbers: Integer):
        self.core, self.node, self.hidden = core, node, node.recurrent.shape[1]
        biases: Any = (numbers.bias, None) if isinstance(node, Lstm) else numbers.bias
        assert numbers.recurrent is not None and numbers.recurrent_shift is not None
        self.columns = _columns(node, core.params)
        #: Of the input and of the recurrence: (first column, group).
        self.groups = [
            [
                (
                    first,
                    core.group(
                        np.ascontiguousarray(weights[first : first + count].T, np.int8),
                        None
                        if bias is None
                        else np.ascontiguousarray(bias[first : first + count], np.int32),
                        int(shift.flat[0]),
                        node.name,
                    ),
                )
                for first, count in self.columns
            ]
            for weights, bias, shift in (
                (numbers.weights, biases[0], numbers.shift),
                (numbers.recurrent, biases[1], numbers.recurrent_shift),
            )
        ]

    def emit(self, pointer: int, source: int, target: int, steps: int, size: int) -> None:
        """Emits all steps of a sequence at the global address ``source``, elements of ``size``
        bytes; stores all states, or only the last, to ``target``."""
        core, node, hidden, what = self.core, self.node, self.hidden, self.node.name
        features, gates = node.weights.shape[1], len(node.weights)
        some = min(hidden, Products.MOST)
        self.x = [core.allocate(features * size, what) for _ in range(2)]
        self.state, self.gates = core.allocate(2 * hidden, what), core.allocate(2 * gates, what)
        self.given, self.past = core.allocate(4 * gates, what), core.allocate(4 * gates, what)
        self.product, self.aligned = (
            Products(core, some, PLACES, what),
            Products(core, some, ALIGNED, what),
        )
        self.spare = core.allocate(2 * hidden, what)
        self._constant(self.state, np.clip(np.rint(node.initial * (1 << PLACES)), -ONE - 1, ONE))
        if isinstance(node, Lstm):
            self.cell = core.allocate(2 * hidden, what)
            self._constant(self.cell, cell_numbers(node))
        else:
            self.ones = core.allocate(2 * hidden, what)
            self._constant(self.ones, np.full(hidden, ONE))
        step = self._lstm if isinstance(node, Lstm) else self._gru
        for number in range(steps):
            place = steps - 1 - number if node.reverse else number
            x = self.x[number % 2]
            core.load(x, pointer, features * size, source + place * features * size)
            self._sums(self.given, x, 0, range(len(self.columns)), 8 * size)
            step()
            if not node.last:
                core.store(pointer, self.state, 2 * hidden, target + place * 2 * hidden)
        if node.last:
            core.store(pointer, self.state, 2 * hidden, target)

    def _constant(self, target, values):
        """Emits a vector of 16-bit constants, two per word."""
        values = np.asarray(values, "<i2")
        self.core.constants(
            target, np.pad(values, (0, len(values) % 2)).view("<i4")[: len(values) // 2]
        )
        if len(values) % 2:
            low, high = values[-1:].tobytes()
            for k, byte in enumerate((low, high)):
                self.core.fill(target + 2 * len(values) - 2 + k, byte, 1)

    def _sums(self, target, vector, which, chunks, bits):
        """Emits the 32-bit sums of the input product (``which`` 0) or the recurrent product."""
        self.core.widths(bits, WIDE)
        for chunk in chunks:
            first, group = self.groups[which][chunk]
            self.core.mvmul(target + 4 * first, vector, group)

    def _added_sums(self, first, count, target):
        """Emits the sums of the input and recurrent products, added up and narrowed to 16 bits."""
        core = self.core
        core.widths(WIDE, WIDE)
        core.vector2(
            "vvadd",
            self.given + 4 * first,
            self.given + 4 * first,
            self.past + 4 * first,
            count,
            size=4,
        )
        self._narrow(self.given + 4 * first, count, target)

    def _narrow(self, source, count, target):
        """Emits the conversion of 32-bit numbers to 16 bits, saturated."""
        core = self.core
        core.widths(WIDE, BITS)
        for k in range(0, count, 2047):
            used = []
            for value in (target + 2 * k, source + 4 * k, (1 << 31) - 1):
                used.append(core.register(value, used))
            core.emit("vrsu", rd=used[0], rs1=used[1], rs2=used[2], len=min(2047, count - k))

    def _table(self, mnemonic, target, source, count):
        self.core.widths(BITS, BITS)
        self.core.vector1(mnemonic, target, source, count, size=2)

    def _multiply(self, target, first, second, count):
        self.core.widths(BITS, WIDE)
        self.core.vector2("vvmul", target, first, second, count, size=2, out=4)

    def _added(self, count):
        """Emits the addition of the two products, at the scale of the first."""
        self.core.widths(WIDE, WIDE)
        self.core.vector2(
            "vvadd", self.product.wide, self.product.wide, self.aligned.wide, count, size=4
        )

    def _blocks(self):
        return [
            (first, min(Products.MOST, self.hidden - first))
            for first in range(0, self.hidden, Products.MOST)
        ]

    def _lstm(self):
        hidden, gates = self.hidden, self.gates
        self._sums(self.past, self.state, 1, range(len(self.columns)), BITS)
        self._added_sums(0, 4 * hidden, gates)
        self._table("vsigm", gates, gates, 3 * hidden)
        self._table("vtanh", gates + 6 * hidden, gates + 6 * hidden, hidden)
        for first, count in self._blocks():
            i, o, f, g = (gates + 2 * (k * hidden + first) for k in range(4))
            cell, state = self.cell + 2 * first, self.state + 2 * first
            self._multiply(self.aligned.wide, i, g, count)
            self.aligned.narrow(self.aligned.wide, count, 4)
            self._multiply(self.product.wide, f, cell, count)
            self._added(count)
            self.product.narrow(cell, count, 2)
            self._table("vtanh", self.spare, cell, count)
            self._multiply(self.product.wide, o, self.spare, count)
            self.product.narrow(state, count, 2)

    def _gru(self):
        hidden, gates, late = self.hidden, self.gates, self.gates + 4 * self.hidden
        linear = self.node.linear_before_reset
        early = [k for k, (first, _) in enumerate(self.columns) if linear or first < 2 * hidden]
        self._sums(self.past, self.state, 1, early, BITS)
        self._added_sums(0, 2 * hidden, gates)
        self._table("vsigm", gates, gates, 2 * hidden)
        reset = gates + 2 * hidden
        if linear:
            self._narrow(self.past + 8 * hidden, hidden, self.spare)
        for first, count in self._blocks():
            self._multiply(
                self.product.wide,
                reset + 2 * first,
                (self.spare if linear else self.state) + 2 * first,
                count,
            )
            if linear:
                self.product.narrow(self.past + 8 * hidden + 4 * first, count, 4)
            else:
                self.product.narrow(self.spare + 2 * first, count, 2)
        if not linear:
            self._sums(
                self.past,
                self.spare,
                1,
                [k for k in range(len(self.columns)) if k not in early],
                BITS,
            )
        self._added_sums(2 * hidden, hidden, late)
        self._table("vtanh", late, late, hidden)
        for first, count in self._blocks():
            update, new, state = gates + 2 * first, late + 2 * first, self.state + 2 * first
            self._multiply(self.product.wide, update, state, count)
            self.core.widths(BITS, BITS)
            self.core.vector2(
                "vvsub", self.spare + 2 * first, self.ones + 2 * first, update, count, size=2
            )
            self._multiply(self.aligned.wide, self.spare + 2 * first, new, count)
            self._added(count)
            self.product.narrow(state, count, 2)


def cell_numbers(node: Lstm) -> np.ndarray:
    read, _ = table_steps(BITS)
    return np.clip(np.rint(node.cell / read), -ONE - 1, ONE)
