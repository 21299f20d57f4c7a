# SPDX-License-Identifier: BSD-2-Clause
"""Fixed-point dense layer, its tiling for an array (tiles of R rows by 16*C columns, one register
each), and program templates: input vectors occupy fixed words of the program, so that a new input
needs no assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....gateware.cores.imagine.params import registers_of
from ...common.inputs import KernelError, check_name, check_whole, integers
from .program import RESERVED, ArrayProgram

__all__ = [
    "Layer",
    "Slot",
    "Template",
    "Tiles",
    "kernel_template",
    "loader_template",
    "registers_for_use",
    "registers_of_layers",
]


class Layer:
    """Fixed-point dense layer y = W_0 x_0 + W_1 x_1 + ... + b; every number is an integer with
    ``fraction`` fraction bits.

    Parameters
    ----------
    weights : integer array [m, n], or a sequence of them [m, n_k], one for each input vector
    bias : integer array [m], or ``None``
    fraction : fraction bits of all numbers, inputs and results included
    width : bits of a register: 4, 8 or 16
    name : for messages

    Raises
    ------
    KernelError
        Shapes that do not go together, numbers outside ``width`` bits.
    """

    def __init__(
        self, weights: Any, bias: Any = None, *, fraction: int, width: int = 16, name: str = "layer"
    ):
        check_name("layer", name)
        if not isinstance(width, (int, np.integer)) or width not in (4, 8, 16):
            raise KernelError(f"width of {name} is {width!r}, expected 4, 8 or 16")
        self.width, self.name = int(width), name
        self.fraction = check_whole(f"fraction of {name}", fraction, 0, self.width)
        several = isinstance(weights, (list, tuple))
        self.weights = tuple(
            self._integers(f"weights[{k}]" if several else "weights", w, ("rows", "columns"))
            for k, w in enumerate(weights if several else [weights])
        )
        if not self.weights or len({len(w) for w in self.weights}) != 1:
            raise KernelError(
                f"weights of {name} have "
                f"{', '.join(str(w.shape) for w in self.weights) or 'no'} rows and columns, "
                "expected the same rows for every input"
            )
        self.height = len(self.weights[0])
        self.bias = None if bias is None else self._integers("bias", bias, (self.height,))

    def _integers(self, what, values, shape):
        return integers(f"{self.name}.{what}", values, shape, self.width, floats=False)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Length of each input vector."""
        return tuple(w.shape[1] for w in self.weights)


def registers_for_use(params: Mapping[str, Any]) -> int:
    """Number of registers that programs may use: all but those reserved for macros."""
    return registers_of(params) - RESERVED


class Tiles:
    """The tiles of a layer on a build.

    Attributes
    ----------
    tall : rows of tiles
    columns : list of (input, first element, last + 1): the tiles of a row
    """

    def __init__(self, layer: Layer, params: Mapping[str, Any]):
        if layer.width != params["reg_width"]:
            raise KernelError(
                f"{layer.name} has width {layer.width}, the build reg_width {params['reg_width']}"
            )
        self.layer, self.params = layer, params
        rows, wide = params["rows"], 16 * params["cols"]
        self.tall = -(-layer.height // rows)
        self.columns = [
            (k, at, min(at + wide, length))
            for k, length in enumerate(layer.lengths)
            for at in range(0, length, wide)
        ]

    @property
    def wide(self) -> int:
        """Number of tiles side by side in a row, over all inputs."""
        return len(self.columns)

    def rows_of(self, tile: int) -> tuple[int, int]:
        """Row range of row ``tile`` of tiles: (first, end)."""
        rows = self.params["rows"]
        return tile * rows, min((tile + 1) * rows, self.layer.height)

    def load_weights(self, program: ArrayProgram, register: int, tile: int, column: int) -> None:
        """Appends the load of a tile of weights."""
        first, last = self.rows_of(tile)
        k, begin, end = self.columns[column]
        program.load(
            "mv_LOADMAT",
            register,
            self.layer.weights[k][first:last, begin:end],
        )

    def load_bias(self, program: ArrayProgram, register: int, tile: int) -> None:
        """Appends the load of the bias of a row of tiles."""
        first, last = self.rows_of(tile)
        assert self.layer.bias is not None
        program.load("mv_LOADVEC_COL", register, self.layer.bias[first:last])

    def load_vector(
        self,
        program: ArrayProgram,
        register: int,
        vectors: Sequence[np.ndarray],
        column: int,
    ) -> None:
        """Appends the load of a tile of the input ``vectors``."""
        k, begin, end = self.columns[column]
        program.load("mv_LOADVEC_ROW", register, vectors[k][begin:end])


_PES = 16
#: Registers that compute: accumulator, product.
_ACCUMULATOR, _WORK, _FREE = 0, 1, 2


@dataclass(frozen=True)
class Slot:
    """Words that hold elements ``first`` to ``first + count - 1`` of vector ``vector`` of the
    batch: one word per bit from word ``at`` on, element k in bit k."""

    vector: int
    first: int
    count: int
    at: int


class Template:
    """Program template of a layer with one input vector, for a batch.

    Attributes
    ----------
    program : ArrayProgram, every element of the vectors 0
    slots : list of Slot
    order : list of (vector of the batch, row of tiles), of every shift-out
    """

    def __init__(self, layer: Layer, params: Mapping[str, Any], batch: int):
        if len(layer.weights) != 1:
            raise KernelError(
                f"{layer.name} takes {len(layer.weights)} vectors; a template takes layers of one"
            )
        self.layer, self.params, self.batch = (
            layer,
            params,
            check_whole(f"batch of {layer.name}", batch, 1),
        )
        self.tiles = Tiles(layer, params)
        self.program = ArrayProgram(params, layer.fraction)
        self.order: list[tuple[int, int]] = []
        self.slots: list[Slot] = []

    def vector(self, number: int, register: int, column: int) -> None:
        """Appends words for the elements of a tile's columns. PEs beyond the last keep their
        contents; their weights are zero."""
        _, begin, end = self.tiles.columns[column]
        width = self.params["reg_width"]
        for block, first in enumerate(range(begin, end, _PES)):
            self.program.call("mv_selectCol", block)
            self.slots.append(Slot(number, first, min(_PES, end - first), self.program.size))
            for bit in range(width):
                self.program.call("mv_write", register * width + bit, 0)

    def row(
        self, number: int, tile: int, terms: Sequence[tuple[int, int]], bias: int | None
    ) -> None:
        """Appends the products of one row of tiles and the shift-out of its result."""
        self.program.row(terms, _ACCUMULATOR, _WORK, bias)
        self.order.append((number, tile))


def kernel_template(
    layer: Layer,
    params: Mapping[str, Any],
    batch: int,
    weights_at: int,
    bias_at: int,
    vectors_at: int = _FREE,
) -> Template:
    """The :class:`Template` of a layer whose weights and biases are in registers from
    ``weights_at`` and ``bias_at`` on."""
    made = Template(layer, params, batch)
    wide = made.tiles.wide
    for number in range(batch):
        for column in range(wide):
            made.vector(number, vectors_at + column, column)
        for tile in range(made.tiles.tall):
            first = weights_at + tile * wide
            made.row(
                number,
                tile,
                [(vectors_at + c, first + c) for c in range(wide)],
                None if layer.bias is None else bias_at + tile,
            )
    return made


def registers_of_layers(
    layers: Sequence[Layer], params: Mapping[str, Any]
) -> tuple[int, list[tuple[int, int]]] | None:
    """Allocates registers for layers whose weights stay in the array: ``(vectors, [(weights,
    biases) of each])``, or ``None`` if they do not fit."""
    tiles = [Tiles(layer, params) for layer in layers]
    at, found = _FREE + max(t.wide for t in tiles), []
    for layer, cut in zip(layers, tiles, strict=True):
        weights, at = at, at + cut.tall * cut.wide
        found.append((weights, at))
        at += cut.tall * (layer.bias is not None)
    return None if at > registers_for_use(params) else (_FREE, found)


def loader_template(
    layer: Layer, params: Mapping[str, Any], weights_at: int, bias_at: int
) -> ArrayProgram:
    """The :class:`ArrayProgram` that loads a layer's weights and biases into the registers of
    :func:`registers_of_layers`; it has no results."""
    program, tiles = ArrayProgram(params, layer.fraction), Tiles(layer, params)
    for tile in range(tiles.tall):
        for column in range(tiles.wide):
            tiles.load_weights(program, weights_at + tile * tiles.wide + column, tile, column)
        if layer.bias is not None:
            tiles.load_bias(program, bias_at + tile, tile)
    return program


def streamed_template(layer: Layer, params: Mapping[str, Any], batch: int) -> Template:
    """The :class:`Template` of a layer of any size: every run loads the weights, as many columns of
    a row of tiles at a time as fit."""
    made = Template(layer, params, batch)
    tiles, program, biased = made.tiles, made.program, int(layer.bias is not None)
    room = registers_for_use(params) - _FREE - biased
    fitting = min(room // 2, tiles.wide)
    if fitting < 1:
        raise KernelError(
            f"{layer.name}: the build has {registers_for_use(params)} registers, a layer needs "
            f"{_FREE + 2 + biased}"
        )
    vectors, weights = _FREE + biased, _FREE + biased + fitting
    # A vector that fits is loaded once, if it is the only one.
    kept = fitting == tiles.wide and batch == 1
    if kept:
        for column in range(tiles.wide):
            made.vector(0, vectors + column, column)
    for tile in range(tiles.tall):
        if biased:
            tiles.load_bias(program, _FREE, tile)
        for number in range(batch):
            for begin in range(0, tiles.wide, fitting):
                these = range(begin, min(begin + fitting, tiles.wide))
                # Weights that all fit serve every vector.
                if fitting < tiles.wide or number == 0:
                    for place, column in enumerate(these):
                        tiles.load_weights(program, weights + place, tile, column)
                for place, column in enumerate(these):
                    if not kept:
                        made.vector(number, vectors + place, column)
                    program.call(
                        "mv_MULTFXP",
                        _WORK if column else _ACCUMULATOR,
                        vectors + place,
                        weights + place,
                    )
                    if column:
                        program.call("mv_add", _ACCUMULATOR, _ACCUMULATOR, _WORK)
            program.finish(_ACCUMULATOR, _FREE if biased else None)
            made.order.append((number, tile))
    return made
