# SPDX-License-Identifier: BSD-2-Clause
"""LSTM and GRU: the matrix unit computes the gates' sums, table lookups their functions; states
stay in local memory from step to step. Where one core's arrays do not hold the weights, each of
several has those of some states' gates, and the cores send each other their states.

Sums have the unit that the tables read (2^-12 of 16 bits), gates and states that which they give
(2^-15), an LSTM's cell that of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Dense, Graph, Gru, Lstm, Tensor
from ..base import LoweringError
from .arithmetic import table_steps
from .arrays.matrices import Need, most_rows
from .flat import Products
from .maps import share

if TYPE_CHECKING:
    from ...quantised import Integer
    from .codegen import CoreBuilder

__all__ = [
    "ALIGNED",
    "BITS",
    "ONE",
    "PLACES",
    "WIDE",
    "Cell",
    "cell_numbers",
    "late_biases",
    "need_of",
    "projected",
    "spread_of",
]

#: Bits of states, sums' wide form, and places of a product of two gates that are dropped.
BITS, WIDE, PLACES = 16, 32, 15
#: Places between the unit of a product of two gates and that of a gate times a cell.
ALIGNED = 3
ONE = (1 << PLACES) - 1


def _columns(node, hidden, params):
    """Column ranges (first, count) of the gates of ``hidden`` states, one per group. The last gate
    of a GRU that resets before its recurrent product gets groups of its own."""
    rows = _gates(node) * hidden
    edges = (
        [0, rows] if isinstance(node, Lstm) or node.linear_before_reset else [0, 2 * hidden, rows]
    )
    return [
        (first, min(params["xb_cols"], end - first))
        for begin, end in zip(edges, edges[1:], strict=False)
        for first in range(begin, end, params["xb_cols"])
    ]


def _gates(node):
    """Number of gates, and of new values, of each state."""
    return len(node.recurrent) // node.recurrent.shape[1]


@dataclass(frozen=True)
class Spread:
    """A recurrent layer spread over cores: their number, and whether arrays hold its biases, which
    are added to the rounded sums otherwise."""

    cores: int
    biased: bool


def spread_of(node: Lstm | Gru, params: Mapping[str, Any]) -> Spread:
    """The fewest cores that hold a layer's weights with its biases, or without; all cores if none
    do."""
    most = min(params["cores"], node.recurrent.shape[1])
    for biased in (True, False):
        for cores in range(1, most + 1):
            demand = _demand(node, Spread(cores, biased), params)
            limits = params["arrays"], params["bias_words"], params["groups"], most_rows(params)
            if all(need <= limit for need, limit in zip(demand, limits, strict=True)):
                return Spread(cores, biased)
    return Spread(most, True)


def _rows(node, units):
    """Rows of both weight matrices for the gates of states ``units`` (first, behind last)."""
    rows = np.arange(len(node.recurrent)).reshape(-1, node.recurrent.shape[1])
    return rows[:, slice(*units)].ravel()


def _features(node, rows):
    """Features (first, behind last) that ``rows`` of the input's weights read."""
    read = np.flatnonzero(node.weights[rows].any(axis=0))
    return (int(read[0]), int(read[-1]) + 1) if len(read) else (0, 1)


def _demand(node, spread, params):
    """Arrays, biases and groups of a core at most, and rows of the largest group."""
    states, found = node.recurrent.shape[1], []
    for units in share(states, spread.cores):
        rows, columns = _rows(node, units), _columns(node, units[1] - units[0], params)
        read = (_features(node, rows[first : first + count]) for first, count in columns)
        sides = [end - first for first, end in read] + [states] * len(columns)
        arrays = sum(-(-side // params["xb_rows"]) for side in sides)
        biases = len(rows) * (1 if isinstance(node, Lstm) else 2)
        found.append((arrays, biases * spread.biased, len(sides), max(sides)))
    return [max(numbers) for numbers in zip(*found, strict=True)]


def need_of(graph: Graph, node: Lstm | Gru, params: Mapping[str, Any]) -> Need:
    """The :class:`Need` of a recurrent layer's weights, on each of its cores. Raises LoweringError
    if a group has too many rows."""
    spread = spread_of(node, params)
    arrays, biases, groups, rows = _demand(node, spread, params)
    sides = node.weights.shape[1], node.recurrent.shape[1]
    if rows > most_rows(params):
        raise LoweringError(
            f"{sides[0]} features and {sides[1]} states: expected at most {most_rows(params)} of "
            f"each",
            node.name,
        )
    # A vector goes through half of the groups: of the input, or of the states.
    each = groups // 2 * -(-params["xb_cols"] // params["lanes"])
    cycles = graph.shape(node.inputs[0])[0] * sum(sides) * each
    need = Need(node.name, arrays, biases, groups, cycles, 0, 1)
    if spread.cores > 1:
        need.placement = tuple(range(spread.cores))
    return need


def projected(graph: Graph, node: Lstm | Gru) -> tuple[Tensor, Dense, Lstm | Gru]:
    """A recurrent layer as a dense layer of every step, which makes its gates' sums of the input,
    and one whose gates read these: (tensor in between, dense layer, recurrent layer)."""
    name, gates = f"{node.name}:input", len(node.weights)
    (source,) = node.inputs
    between = Tensor(name, (graph.shape(source)[0], gates))
    dense = Dense(
        name=name,
        inputs=[source],
        output=name,
        origin=node.origin,
        weights=node.weights,
        steps=True,
    )
    return between, dense, replace(node, inputs=[name], weights=np.eye(gates))


class Cell:
    """The part of a recurrent layer that ``core``, one of ``cores``, has; ``numbers``:
    :class:`~quintet.tools.compiler.quantised.Integer`."""

    def __init__(self, core: CoreBuilder, node: Lstm | Gru, numbers: Integer, cores: Sequence[int]):
        self.core, self.node, states = core, node, node.recurrent.shape[1]
        #: First and behind last state of each core.
        self.units = dict(zip(cores, share(states, len(cores)), strict=True))
        self.first, end = self.units[core.number]
        self.hidden = end - self.first
        biased = spread_of(node, core.params).biased
        biases: Any = (numbers.bias, None) if isinstance(node, Lstm) else numbers.bias
        assert numbers.recurrent is not None and numbers.recurrent_shift is not None
        self.columns = _columns(node, self.hidden, core.params)
        rows = _rows(node, self.units[core.number])
        chunks = [rows[first : first + count] for first, count in self.columns]
        #: Of the input and of the recurrence: (first element of the vector that it reads, group) of
        #: each chunk of columns; biases that are added to sums.
        self.groups, self.biases = [], []
        for weights, bias, shift, read in (
            (numbers.weights, biases[0], numbers.shift, [_features(node, c) for c in chunks]),
            (numbers.recurrent, biases[1], numbers.recurrent_shift, [(0, states)] * len(chunks)),
        ):
            places, groups = int(shift.flat[0]), []
            for chunk, (first, end) in zip(chunks, read, strict=True):
                part = np.ascontiguousarray(weights[chunk, first:end].T, np.int8)
                held = bias is not None and biased
                own = np.ascontiguousarray(bias[chunk], np.int32) if held else None
                groups.append((first, core.group(part, own, places, node.name)))
            self.groups.append(groups)
            late = bias is not None and not biased
            self.biases.append(late_biases(bias[rows], places) if late else None)

    def emit(self, pointer: int, source: int, target: int, steps: int, size: int) -> None:
        """Emits all steps of a sequence at the global address ``source``, elements of ``size``
        bytes; stores all states, or only the last, to ``target``."""
        core, node, hidden, what = self.core, self.node, self.hidden, self.node.name
        features, states = node.weights.shape[1], node.recurrent.shape[1]
        gates = _gates(node) * hidden
        some = min(hidden, Products.MOST)
        self.x = [core.allocate(features * size, what) for _ in range(2)]
        self.states, self.gates = core.allocate(2 * states, what), core.allocate(2 * gates, what)
        #: The core's own part of all states.
        self.state = self.states + 2 * self.first
        self.given, self.past = core.allocate(4 * gates, what), core.allocate(4 * gates, what)
        self.product, self.aligned = (
            Products(core, some, PLACES, what),
            Products(core, some, ALIGNED, what),
        )
        self.spares = core.allocate(2 * states, what)
        self.spare = self.spares + 2 * self.first
        self._constant(self.states, np.clip(np.rint(node.initial * (1 << PLACES)), -ONE - 1, ONE))
        if isinstance(node, Lstm):
            self.cell = core.allocate(2 * hidden, what)
            self._constant(self.cell, cell_numbers(node)[self.first : self.first + hidden])
        else:
            self.ones = core.allocate(2 * hidden, what)
            self._constant(self.ones, np.full(hidden, ONE))
        self.late = [self._late(numbers) for numbers in self.biases]
        step = self._lstm if isinstance(node, Lstm) else self._gru
        for number in range(steps):
            place = steps - 1 - number if node.reverse else number
            x = self.x[number % 2]
            core.load(x, pointer, features * size, source + place * features * size)
            self._sums(self.given, x, 0, range(len(self.columns)), 8 * size)
            step()
            if not node.last:
                to = target + 2 * (place * states + self.first)
                core.store(pointer, self.state, 2 * hidden, to)
            if number < steps - 1:
                self._exchange(self.states)
        if node.last:
            core.store(pointer, self.state, 2 * hidden, target + 2 * self.first)

    def _late(self, numbers):
        """Emits biases that are added to sums; their address, ``None`` if there are none."""
        if numbers is None:
            return None
        at = self.core.allocate(4 * len(numbers), self.node.name)
        self.core.constants(at, numbers)
        return at

    def _exchange(self, vector):
        """Emits the exchange of all cores' parts of a vector, which lies at the same local address
        on each of them. The pairs come in one order, so that none waits for another in a circle."""
        core = self.core
        for pair in combinations(self.units, 2):
            if core.number not in pair:
                continue
            (other,) = set(pair) - {core.number}
            moves = [(core.send, core.number), (core.recv, other)]
            for move, owner in moves if core.number == pair[0] else reversed(moves):
                first, end = self.units[owner]
                move(vector + 2 * first, other, 2 * (end - first))

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
            read, group = self.groups[which][chunk]
            source = vector + read * bits // 8
            self.core.mvmul(target + 4 * self.columns[chunk][0], source, group)
        late = self.late[which]
        if late is not None:
            self.core.widths(WIDE, WIDE)
            for chunk in chunks:
                first, count = self.columns[chunk]
                sums = target + 4 * first
                self.core.vector2("vvadd", sums, sums, late + 4 * first, count, size=4)

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
        self._sums(self.past, self.states, 1, range(len(self.columns)), BITS)
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
        self._sums(self.past, self.states, 1, early, BITS)
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
            self._exchange(self.spares)
            self._sums(
                self.past,
                self.spares,
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


def late_biases(bias: np.ndarray, shift: int) -> np.ndarray:
    """Biases that are added to sums which are shifted already."""
    return np.asarray(bias, np.int64) + (1 << shift >> 1) >> shift


def cell_numbers(node: Lstm) -> np.ndarray:
    read, _ = table_steps(BITS)
    return np.clip(np.rint(node.cell / read), -ONE - 1, ONE)
