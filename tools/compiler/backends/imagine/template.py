# SPDX-License-Identifier: BSD-2-Clause
"""Program templates: input vectors occupy fixed words of the program, so that a new input needs no
assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...common.inputs import KernelError, check_whole
from .program import ArrayProgram
from .tiles import Tiles, registers_for_use

if TYPE_CHECKING:
    from .layer import Layer

__all__ = ["Slot", "Template", "kernel_template", "loader_template", "registers_of_layers"]

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
