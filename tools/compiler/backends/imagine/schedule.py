# SPDX-License-Identifier: BSD-2-Clause
"""Tiles of a layer (R rows by 16*C columns, one register each) and the registers that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quintet.gateware.cores.imagine.params import registers_of

from ...common.inputs import KernelError

if TYPE_CHECKING:
    import numpy as np

    from .arithmetic import Layer
    from .codegen import ArrayProgram

__all__ = ["FREE", "RESERVED", "Tiles", "registers_for_use", "registers_of_layers"]

#: Registers kept for ``mv_MULTFXP``.
RESERVED = 2
#: First register behind those that compute.
FREE = 2


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


def registers_of_layers(
    layers: Sequence[Layer], params: Mapping[str, Any]
) -> tuple[int, list[tuple[int, int]]] | None:
    """Allocates registers for layers whose weights stay in the array: ``(vectors, [(weights,
    biases) of each])``, or ``None`` if they do not fit."""
    tiles = [Tiles(layer, params) for layer in layers]
    at, found = FREE + max(t.wide for t in tiles), []
    for layer, cut in zip(layers, tiles, strict=True):
        weights, at = at, at + cut.tall * cut.wide
        found.append((weights, at))
        at += cut.tall * (layer.bias is not None)
    return None if at > registers_for_use(params) else (FREE, found)
