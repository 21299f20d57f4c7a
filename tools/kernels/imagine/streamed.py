# SPDX-License-Identifier: BSD-2-Clause
"""Layers with streamed weights: a layer of any size on a batch of vectors in one program; weights
are loaded in passes of as many rows of tiles as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs import KernelError
from .program import ProgramCalls
from .tiles import Tiles, registers_for_use

if TYPE_CHECKING:
    from .layer import Layer

__all__ = ["Streamed", "batch_of", "streamed"]

#: Registers that compute: accumulator, product.
_ACCUMULATOR, _WORK, _FREE = 0, 1, 2


class Streamed:
    """A program with streamed weights (``program``) and the order of its results (:meth:`results`);
    ``passes`` counts how often weights are loaded."""

    def __init__(
        self, layer: Layer, params: Mapping[str, Any], batch: Sequence[Sequence[Any]], overlap: bool
    ):
        self.layer, self.params = layer, params
        self.batch = batch_of(layer, batch)
        self.tiles, self.overlap = Tiles(layer, params), overlap
        self.program = ProgramCalls(params, layer.fraction)
        self._order: list[
            tuple[int, int]
        ] = []  # (vector of the batch, row of tiles) of every shift-out
        room = registers_for_use(params) - _FREE
        biased = int(layer.bias is not None)
        each = self.tiles.wide + biased  # registers of a row of tiles
        fitting = (room - self.tiles.wide) // each
        if fitting >= 1:
            self._whole_rows(fitting, biased)
        else:
            self._pieces((room - biased) // 2, biased)

    def _vector(self, number, register, column):
        self.tiles.load_vector(self.program, register, self.batch[number], column, f"x{number}")

    def _whole_rows(self, fitting, biased):
        """Passes of several rows of tiles; in each, all vectors."""
        program, tiles = self.program, self.tiles
        vectors, weights = _FREE, _FREE + tiles.wide
        self.passes = -(-tiles.tall // fitting)
        for begin in range(0, tiles.tall, fitting):
            these = range(begin, min(begin + fitting, tiles.tall))
            bias = weights + len(these) * tiles.wide
            for place, tile in enumerate(these):
                for column in range(tiles.wide):
                    tiles.load_weights(program, weights + place * tiles.wide + column, tile, column)
                if biased:
                    tiles.load_bias(program, bias + place, tile)
            for number in range(len(self.batch)):
                if len(self.batch) > 1 or begin == 0:
                    for column in range(tiles.wide):
                        self._vector(number, vectors + column, column)
                for place, tile in enumerate(these):
                    terms = [
                        (vectors + c, weights + place * tiles.wide + c) for c in range(tiles.wide)
                    ]
                    program.row(
                        terms, _ACCUMULATOR, _WORK, bias + place if biased else None, self.overlap
                    )
                    self._order.append((number, tile))

    def _pieces(self, fitting, biased):
        """Rows of tiles that do not fit: some columns at a time, for every vector anew."""
        if fitting < 1:
            raise KernelError(
                f"{self.layer.name}: the build has {registers_for_use(self.params)} registers, "
                f"a layer needs "
                f"{_FREE + 2 + biased}"
            )
        program, tiles = self.program, self.tiles
        bias, self.passes = _FREE, 0
        vectors = _FREE + biased
        for tile in range(tiles.tall):
            if biased:
                tiles.load_bias(program, bias, tile)
            for number in range(len(self.batch)):
                for begin in range(0, tiles.wide, fitting):
                    these = range(begin, min(begin + fitting, tiles.wide))
                    self.passes += 1
                    for place, column in enumerate(these):
                        tiles.load_weights(program, vectors + fitting + place, tile, column)
                        self._vector(number, vectors + place, column)
                    for place, column in enumerate(these):
                        program.call(
                            "mv_MULTFXP",
                            _WORK if column else _ACCUMULATOR,
                            vectors + place,
                            vectors + fitting + place,
                        )
                        if column:
                            program.call("mv_add", _ACCUMULATOR, _ACCUMULATOR, _WORK)
                program.finish(_ACCUMULATOR, bias if biased else None)
                self._order.append((number, tile))

    def results(self, values: np.ndarray) -> np.ndarray:
        """Results [batch, m] from the vectors [shift-outs, R] of the program."""
        found = np.zeros((len(self.batch), self.tiles.tall * self.params["rows"]), np.int64)
        for (number, tile), vector in zip(self._order, np.asarray(values), strict=True):
            found[number, tile * self.params["rows"] : (tile + 1) * self.params["rows"]] = vector
        return found[:, : self.layer.height]

    def unpack(self) -> dict[str, Any] | None:
        """How a job's saved array (values and marks, [shift-outs, R, 2]) becomes results [batch,
        m]: ``shape``, ``order`` and ``classes`` of a save (docs/reference/jobs.md), or ``None`` if
        vectors and rows of tiles follow one another irregularly."""
        batch, tall, rows = len(self.batch), self.tiles.tall, self.params["rows"]
        if self._order == [(number, tile) for number in range(batch) for tile in range(tall)]:
            return {
                "shape": (batch, tall, rows, 2),
                "order": (0, 3, 1, 2),
                "classes": self.layer.height,
            }
        if self._order == [(number, tile) for tile in range(tall) for number in range(batch)]:
            return {
                "shape": (tall, batch, rows, 2),
                "order": (1, 3, 0, 2),
                "classes": self.layer.height,
            }
        return None


def batch_of(layer: Layer, batch: Sequence[Any]) -> list[list[np.ndarray]]:
    """Checks ``batch``, tuples of input vectors; raises :class:`KernelError`."""
    found = [layer.check_inputs(vectors) for vectors in batch]
    if not found:
        raise KernelError(f"{layer.name}: a batch of no vectors, expected at least one")
    return found


def streamed(
    layer: Layer, params: Mapping[str, Any], batch: Sequence[Any], *, overlap: bool = True
) -> Streamed:
    """A :class:`Streamed` program of ``layer`` on ``batch``, a sequence of tuples of input vectors.

    Raises
    ------
    KernelError
    """
    return Streamed(layer, params, batch, overlap)
