# SPDX-License-Identifier: BSD-2-Clause
"""Layers with resident weights: loaded into the array once, then a small program per inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs import KernelError, check_whole
from .program import ProgramCalls
from .tiles import Tiles, registers_for_use

if TYPE_CHECKING:
    from .layer import Layer

__all__ = ["Resident"]


class Resident:
    """Layers in the registers of one build.

    Registers: two to compute in, the vectors of the layer at work, then weights and biases of all
    layers.

    Parameters
    ----------
    layers : sequence of Layer, of one fraction
    params : build parameters
    overlap : shift results out beside the next row of tiles (off:
        the order of the published programs)

    Raises
    ------
    KernelError
        Layers of several fractions, or more tiles than registers (:func:`~.streamed.streamed` takes
        any).
    """

    def __init__(self, layers: Sequence[Layer], params: Mapping[str, Any], *, overlap: bool = True):
        self.layers, self.params, self.overlap = list(layers), params, overlap
        if len({layer.fraction for layer in self.layers}) != 1:
            raise KernelError(
                "resident layers must have one fraction, not "
                + (", ".join(f"{layer.fraction} ({layer.name})" for layer in self.layers) or "none")
            )
        self.fraction = self.layers[0].fraction
        self.tiles = [Tiles(layer, params) for layer in self.layers]
        self._vectors = 2  # registers 0 and 1 compute
        at = self._vectors + max(tiles.wide for tiles in self.tiles)
        self._weights, self._bias = [], []
        for tiles in self.tiles:
            self._weights.append(at)
            at += tiles.tall * tiles.wide
            self._bias.append(at)
            at += tiles.tall * (tiles.layer.bias is not None)
        self.registers = at
        if at > registers_for_use(params):
            raise KernelError(
                f"{', '.join(layer.name for layer in self.layers)}: {at} registers for "
                f"weights, biases and vectors, "
                f"the build has {registers_for_use(params)} (use streamed)"
            )

    def loader(self) -> ProgramCalls:
        """The :class:`ProgramCalls` that loads weights and biases; it has no results."""
        program = ProgramCalls(self.params, self.fraction)
        for tiles, weights, bias in zip(self.tiles, self._weights, self._bias, strict=True):
            for tile in range(tiles.tall):
                for column in range(tiles.wide):
                    tiles.load_weights(program, weights + tile * tiles.wide + column, tile, column)
                if tiles.layer.bias is not None:
                    tiles.load_bias(program, bias + tile, tile)
        return program

    def kernel(
        self, index: int, vectors: Sequence[Any] | None = None, name: str = "x"
    ) -> ProgramCalls:
        """The :class:`ProgramCalls` of layer ``index``: loads ``vectors`` (``None``: they are
        loaded already), then computes its products."""
        check_whole("layer's number", index, 0, len(self.layers) - 1)
        program, tiles = ProgramCalls(self.params, self.fraction), self.tiles[index]
        if vectors is not None:
            vectors = tiles.layer.check_inputs(vectors)
            for column in range(tiles.wide):
                tiles.load_vector(program, self._vectors + column, vectors, column, name)
        for tile in range(tiles.tall):
            first = self._weights[index] + tile * tiles.wide
            program.row(
                [(self._vectors + c, first + c) for c in range(tiles.wide)],
                0,
                1,
                None if tiles.layer.bias is None else self._bias[index] + tile,
                self.overlap,
            )
        return program

    def results(self, index: int, values: np.ndarray) -> np.ndarray:
        """Results of layer ``index``, [m], from the vectors [tiles, R] that its kernel shifted
        out."""
        return np.asarray(values).reshape(-1)[: self.layers[index].height]
