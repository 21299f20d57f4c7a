# SPDX-License-Identifier: BSD-2-Clause
"""How a layer is cut for an array: tiles of R rows by 16*C columns, one register each."""

from quintet.gateware.cores.imagine.params import registers_of

from ..inputs import KernelError
from .program import RESERVED

__all__ = ["Tiles", "registers_for_use"]


def registers_for_use(params):
    """Registers beside those reserved for macros."""
    return registers_of(params) - RESERVED


class Tiles:
    """A layer's tiles on a build.

    Attributes
    ----------
    tall : rows of tiles
    columns : list of (input, first element, last + 1): the tiles of a row
    """

    def __init__(self, layer, params):
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
    def wide(self):
        """Tiles of a row, of all inputs."""
        return len(self.columns)

    def rows_of(self, tile):
        """First row of row ``tile`` of tiles, and the one behind its last."""
        rows = self.params["rows"]
        return tile * rows, min((tile + 1) * rows, self.layer.height)

    def load_weights(self, program, register, tile, column):
        """Loads a tile of weights."""
        first, last = self.rows_of(tile)
        k, begin, end = self.columns[column]
        program.load(
            "mv_LOADMAT",
            register,
            self.layer.weights[k][first:last, begin:end],
            f"{self.layer.name}_w{k}_{first}_{begin}",
        )

    def load_bias(self, program, register, tile):
        """Loads the bias of a row of tiles."""
        first, last = self.rows_of(tile)
        program.load(
            "mv_LOADVEC_COL", register, self.layer.bias[first:last], f"{self.layer.name}_b_{first}"
        )

    def load_vector(self, program, register, vectors, column, name):
        """Loads a tile of the input ``vectors``, which the text calls ``name``."""
        k, begin, end = self.columns[column]
        program.load("mv_LOADVEC_ROW", register, vectors[k][begin:end], f"{name}_{k}_{begin}")
