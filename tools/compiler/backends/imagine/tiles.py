# SPDX-License-Identifier: BSD-2-Clause
"""Tiling of a layer for an array: tiles of R rows by 16*C columns, one register each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.gateware.cores.imagine.params import registers_of

from ...common.inputs import KernelError
from .program import RESERVED, ArrayProgram

if TYPE_CHECKING:
    from .layer import Layer

__all__ = ["Tiles", "registers_for_use"]


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
