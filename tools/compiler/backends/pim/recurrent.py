# SPDX-License-Identifier: BSD-2-Clause
"""Recurrent layers, LSTM and GRU: which cores have which gates, and where the weights lie.

* The arrays of one core hold all weights, or those of several, each with the gates of some states.
* Where all cores together do not hold the weights, or local memory does not hold the states, the
  layer is *streamed*: every core computes its states block by block. The matrix unit multiplies
  the tiles of weights that fit the arrays; those of the others come from main memory in every step,
  and the vector unit multiplies them. States are in main memory from step to step.

:mod:`.cells` emits both. Sums have the unit that the tables read (2^-12 of 16 bits), gates and
states that which they give (2^-15), an LSTM's cell that of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quintet.gateware.cores.pim.isa import LENGTH_MOST

from ...graph import Dense, Graph, Gru, Lstm, Tensor
from .arithmetic import table_steps
from .arrays.matrices import Need, most_rows
from .flat import Products
from .maps import share

__all__ = [
    "ALIGNED",
    "BITS",
    "ONE",
    "PLACES",
    "SHIFTS_STREAMED",
    "WIDE",
    "Spread",
    "Tile",
    "Tiling",
    "cell_numbers",
    "columns_of",
    "features_of",
    "gates_of",
    "held_tiles",
    "late_biases",
    "need_of",
    "projected",
    "rows_of",
    "spread_of",
    "tiles_of",
]

#: Bits of states, sums' wide form, and places of a product of two gates that are dropped.
BITS, WIDE, PLACES = 16, 32, 15
#: Places between the unit of a product of two gates and that of a gate times a cell.
ALIGNED = 3
ONE = (1 << PLACES) - 1
#: Elements of one sum of a streamed layer, at most, and its shifts: neither products of 16 by 8
#: bits nor the half that is added for rounding leave 32 bits.
_SPLIT, SHIFTS_STREAMED = 508, (0, 24)
#: States of a block of a streamed layer, at most.
_BLOCK = 64
#: Elements of a row of weights in the time that each row of a streamed tile takes beside them.
_ROW_ELEMENTS = 40


def columns_of(node: Lstm | Gru, hidden: int, most: int) -> list[tuple[int, int]]:
    """Column ranges (first, count) of the gates of ``hidden`` states, one per group of at most
    ``most`` columns. The last gate of a GRU that resets before its recurrent product gets groups of
    its own."""
    rows = gates_of(node) * hidden
    edges = (
        [0, rows] if isinstance(node, Lstm) or node.linear_before_reset else [0, 2 * hidden, rows]
    )
    return [
        (first, min(most, end - first))
        for begin, end in zip(edges, edges[1:], strict=False)
        for first in range(begin, end, most)
    ]


def gates_of(node: Lstm | Gru) -> int:
    """Number of gates, and of new values, of each state."""
    return len(node.recurrent) // node.recurrent.shape[1]


@dataclass(frozen=True)
class Tiling:
    """Sizes of a streamed layer's parts, at most.

    Attributes
    ----------
    units : states of a block, whose gates a core computes together
    split : elements of the input or of the states in one sum
    columns : rows of the gates' weights in a tile
    rows : of these, the rows that are loaded together
    """

    units: int
    split: int
    columns: int
    rows: int

    def splits(self, side: int) -> list[tuple[int, int]]:
        """Elements (first, behind last) of each sum of a vector of ``side`` elements, of equal
        numbers."""
        return share(side, -(-side // self.split))


@dataclass(frozen=True)
class Spread:
    """A recurrent layer spread over cores: their number, and whether arrays hold its biases, which
    are added to the rounded sums otherwise; ``tiling``: of a streamed layer."""

    cores: int
    biased: bool
    tiling: Tiling | None = None


def spread_of(node: Lstm | Gru, params: Mapping[str, Any]) -> Spread:
    """The fewest cores that hold a layer's weights with its biases, or without; all cores, with a
    tiling, if none do."""
    most = min(params["cores"], node.recurrent.shape[1])
    limits = (
        params["arrays"],
        params["bias_words"],
        params["groups"],
        most_rows(params),
        params["lmem_bytes"],
    )
    for biased in (True, False):
        for cores in range(1, most + 1):
            demand = _demand(node, Spread(cores, biased), params)
            if all(need <= limit for need, limit in zip(demand, limits, strict=True)):
                return Spread(cores, biased)
    return Spread(most, False, _tiling(node, most, params))


def _tiling(node, cores, params):
    """The largest :class:`Tiling` that local memory holds, with rows as long as the arrays'."""
    gates, sides = gates_of(node), (node.weights.shape[1], node.recurrent.shape[1])
    # Gates, sums of input and states; state, result and cell; two products with their rounding.
    each = {"units": 10 * gates + 6 + 24, "columns": 24, "split": 2 + 3}
    sizes = {
        "units": min(_BLOCK, -(-sides[1] // cores)),
        "columns": min(params["xb_cols"], Products.MOST),
        "split": min(_SPLIT, max(sides), most_rows(params)),
    }
    # Words on the way to constants.
    free = params["lmem_bytes"] - 16

    def taken():
        return sum(each[name] * size for name, size in sizes.items())

    while taken() > free:
        largest = max(sizes, key=lambda name: each[name] * sizes[name])
        sizes[largest] = -(-sizes[largest] // 2)
    # A row as it comes, and as 16 bits.
    rows = 1 + (free - taken()) // (3 * sizes["split"])
    rows = min(rows, LENGTH_MOST // sizes["split"], sizes["columns"])
    return Tiling(**sizes, rows=rows)


@dataclass(frozen=True)
class Tile:
    """A tile of a streamed layer's weights.

    Attributes
    ----------
    which : 0: weights of the input, 1: of the states
    block : states (first, behind last)
    column, count : first row of the block's gates, and number of rows
    first, length : first element of the vector that it multiplies, and number of elements
    """

    which: int
    block: tuple[int, int]
    column: int
    count: int
    first: int
    length: int

    def arrays(self, params: Mapping[str, Any]) -> int:
        """Arrays that hold it."""
        return -(-self.length // params["xb_rows"])


def tiles_of(node: Lstm | Gru, tiling: Tiling, units: tuple[int, int]) -> list[Tile]:
    """Tiles of the weights of a core's states, in the order of their multiplication."""
    found = []
    for begin in range(units[0], units[1], tiling.units):
        block = begin, min(begin + tiling.units, units[1])
        columns = columns_of(node, block[1] - begin, tiling.columns)
        for which, side in enumerate((node.weights.shape[1], node.recurrent.shape[1])):
            found += [
                Tile(which, block, column, count, first, end - first)
                for first, end in tiling.splits(side)
                for column, count in columns
            ]
    return found


def held_tiles(
    tiles: list[Tile], arrays: int, groups: int, params: Mapping[str, Any]
) -> list[Tile]:
    """Those tiles that ``arrays`` and ``groups`` of a core hold: those first with which an array
    saves most time."""
    held = []
    for tile in sorted(
        tiles, key=lambda t: -(t.length + _ROW_ELEMENTS) * t.count / t.arrays(params)
    ):
        if groups and tile.arrays(params) <= arrays:
            held.append(tile)
            arrays, groups = arrays - tile.arrays(params), groups - 1
    return held


def rows_of(node: Lstm | Gru, units: tuple[int, int]) -> np.ndarray:
    """Rows of both weight matrices for the gates of states ``units`` (first, behind last)."""
    rows = np.arange(len(node.recurrent)).reshape(-1, node.recurrent.shape[1])
    return rows[:, slice(*units)].ravel()


def features_of(node: Lstm | Gru, rows: np.ndarray) -> tuple[int, int]:
    """Features (first, behind last) that ``rows`` of the input's weights read."""
    read = np.flatnonzero(node.weights[rows].any(axis=0))
    return (int(read[0]), int(read[-1]) + 1) if len(read) else (0, 1)


def _demand(node, spread, params):
    """Arrays, biases and groups of a core at most, rows of the largest group, and bytes of local
    memory."""
    states, found = node.recurrent.shape[1], []
    for units in share(states, spread.cores):
        hidden = units[1] - units[0]
        rows, columns = rows_of(node, units), columns_of(node, hidden, params["xb_cols"])
        read = (features_of(node, rows[first : first + count]) for first, count in columns)
        sides = [end - first for first, end in read] + [states] * len(columns)
        arrays = sum(-(-side // params["xb_rows"]) for side in sides)
        biases = len(rows) * (1 if isinstance(node, Lstm) else 2)
        held, late = (biases, 0) if spread.biased else (0, biases)
        # Two inputs of 16 bits; states and results; gates and both sums; cell; two products.
        local = 4 * node.weights.shape[1] + 4 * states + 10 * len(rows) + 2 * hidden
        local += 4 * late + 2 * (12 * min(hidden, Products.MOST) + 4)
        found.append((arrays, held, len(sides), max(sides), local))
    return [max(numbers) for numbers in zip(*found, strict=True)]


def need_of(graph: Graph, node: Lstm | Gru, params: Mapping[str, Any]) -> Need:
    """The :class:`Need` of a recurrent layer's weights, on each of its cores. A streamed layer does
    with the arrays that others leave."""
    spread, states = spread_of(node, params), node.recurrent.shape[1]
    arrays = biases = groups = 0
    if spread.tiling is None:
        arrays, biases, groups, *_ = _demand(node, spread, params)
    # A vector goes through half of the groups: of the input, or of the states.
    each = groups // 2 * -(-params["xb_cols"] // params["lanes"])
    cycles = graph.shape(node.inputs[0])[0] * (node.weights.shape[1] + states) * each
    return Need(node.name, arrays, biases, groups, cycles, 0, spread.cores, least=spread.cores)


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


def late_biases(bias: np.ndarray, shift: int) -> np.ndarray:
    """Biases that are added to sums which are shifted already."""
    return np.asarray(bias, np.int64) + (1 << shift >> 1) >> shift


def cell_numbers(node: Lstm) -> np.ndarray:
    read, _ = table_steps(BITS)
    return np.clip(np.rint(node.cell / read), -ONE - 1, ONE)
