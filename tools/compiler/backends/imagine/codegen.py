# SPDX-License-Identifier: BSD-2-Clause
"""Programs for the array: instruction words, written by the published assembler's macros, and
program templates: input vectors occupy fixed words of the program, so that a new input needs no
assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.params import levels

from ...common.inputs import KernelError, check_whole
from .arithmetic import Layer
from .schedule import FREE, RESERVED, Tiles, registers_for_use

__all__ = [
    "ArrayProgram",
    "Slot",
    "Template",
    "kernel_template",
    "loader_template",
    "streamed_template",
]

_PES = 16
#: Registers that compute: accumulator, product.
_ACCUMULATOR, _WORK = 0, 1


def _setup(params: Mapping[str, Any], fraction: int) -> dict[str, Any]:
    """Keyword arguments of ``setupParams`` for a build with all of its registers."""
    return {
        "regCnt": registers_for_use(params),
        "regWidth": params["reg_width"],
        "maxLevel": levels(params["cols"]) - 1,
        "fracWidth": fraction,
        "mvBlockDim": (params["rows"], params["cols"]),
        "resvRegCnt": RESERVED,
        "pimDepth": params["depth"],
    }


class ArrayProgram:
    """Program under construction for a build of ``params``, with numbers of ``fraction`` fraction
    bits; ``vectors`` counts the result vectors shifted out."""

    def __init__(self, params: Mapping[str, Any], fraction: int):
        self.params, self.fraction = params, fraction
        self.vectors = 0
        self._asm = IMAGineAsm(overflow="raise")
        self._asm.setupParams(**_setup(params, fraction))

    @property
    def size(self) -> int:
        """Number of words so far."""
        return self._asm.size

    def call(self, method: str, *arguments: Any) -> None:
        """Appends a mnemonic or macro with integer arguments."""
        getattr(self._asm, method)(*arguments)
        self.vectors += method == "vv_parallelEn"

    def load(self, method: str, register: int, integers: np.ndarray) -> None:
        """Appends a LOAD macro of ``integers``."""
        getattr(self._asm, method)(register, np.asarray(integers) / 2.0**self.fraction)

    def row(
        self,
        terms: Sequence[tuple[int, int]],
        accumulator: int,
        work: int,
        bias: int | None,
        overlap: bool = True,
    ) -> None:
        """Appends one row of tiles: the sum of products of ``terms`` (pairs of vector register and
        weight register), summed over the PEs of a row, plus ``bias`` (a register or ``None``),
        shifted out.

        ``overlap``: the columns take the last result alone, so that the shift-out before it runs
        beside all that comes first.
        """
        if not overlap:
            self.call("vv_serialEn")
        for index, (vector, weight) in enumerate(terms):
            self.call("mv_MULTFXP", work if index else accumulator, vector, weight)
            if index:
                self.call("mv_add", accumulator, accumulator, work)
        self.finish(accumulator, bias, overlap)

    def finish(self, accumulator: int, bias: int | None, overlap: bool = True) -> None:
        """Appends the end of :meth:`row`: bias and shift-out of the sum in ``accumulator``."""
        self.call("mv_ALLACCUM", accumulator, accumulator)
        if overlap:
            self.call("vv_serialEn")
        if bias is not None:
            self.call("mv_add", accumulator, accumulator, bias)
        elif overlap:
            self.call("mv_mov", accumulator, accumulator)
        self.call("mv_SYNC")
        self.call("vv_parallelEn")

    def words(self) -> list[int]:
        """Words of the program."""
        return self._asm.words()

    @property
    def data(self) -> bytes:
        """Bytes of the program."""
        return np.array(self.words(), "<u4").tobytes()

    @property
    def output_bytes(self) -> int:
        """Number of bytes that the program writes."""
        return 4 * self.params["rows"] * self.vectors


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
    vectors_at: int = FREE,
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


def loader_template(
    layer: Layer, params: Mapping[str, Any], weights_at: int, bias_at: int
) -> ArrayProgram:
    """The :class:`ArrayProgram` that loads a layer's weights and biases into the registers of
    :func:`~.schedule.registers_of_layers`; it has no results."""
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
    room = registers_for_use(params) - FREE - biased
    fitting = min(room // 2, tiles.wide)
    if fitting < 1:
        raise KernelError(
            f"{layer.name}: the build has {registers_for_use(params)} registers, a layer needs "
            f"{FREE + 2 + biased}"
        )
    vectors, weights = FREE + biased, FREE + biased + fitting
    # A vector that fits is loaded once, if it is the only one.
    kept = fitting == tiles.wide and batch == 1
    if kept:
        for column in range(tiles.wide):
            made.vector(0, vectors + column, column)
    for tile in range(tiles.tall):
        if biased:
            tiles.load_bias(program, FREE, tile)
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
            program.finish(_ACCUMULATOR, FREE if biased else None)
            made.order.append((number, tile))
    return made
