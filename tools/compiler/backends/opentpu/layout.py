# SPDX-License-Identifier: BSD-2-Clause
"""Memory layout of matrices and weights (specification, section 7.1), and of maps.

A matrix M x K is ceil(K/N) blocks of M vectors: block b holds columns b*N .. b*N+N-1. Weights K x O
are tiles of N x N, row = input element: tile (k, j), number k*ceil(O/N) + j, holds rows k*N.. and
columns j*N... Both are padded with zeros. A map is one plane per block of N channels, with lines
separated by zero vectors. Of a diagonal tile, a build with ``ext_diag`` stores the diagonal alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Planes",
    "are_diagonal",
    "blocks",
    "pack_matrix",
    "pack_weights",
    "unpack_matrix",
    "unpack_weights",
]


def blocks(columns: int, n: int) -> int:
    """Number of blocks of ``n`` columns that are needed for ``columns``."""
    return -(-columns // n)


def _two_dimensional(array, name):
    array = np.asarray(array)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must be a matrix with at least one row and column, not of shape {array.shape}"
        )
    return array


def pack_matrix(matrix: np.ndarray, n: int) -> np.ndarray:
    """Packs a matrix [M, K] into vectors [ceil(K/n) * M, n] of the same dtype."""
    matrix = _two_dimensional(matrix, "matrix")
    rows, columns = matrix.shape
    count = blocks(columns, n)
    padded = np.zeros((rows, count * n), matrix.dtype)
    padded[:, :columns] = matrix
    return np.ascontiguousarray(padded.reshape(rows, count, n).transpose(1, 0, 2)).reshape(
        count * rows, n
    )


def unpack_matrix(vectors: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Unpacks vectors [ceil(columns/n) * rows, n] to a matrix [rows, columns], the inverse of
    :func:`pack_matrix`."""
    vectors = _two_dimensional(vectors, "vectors")
    n = vectors.shape[1]
    count = blocks(columns, n)
    if len(vectors) != count * rows:
        raise ValueError(
            f"{rows} x {columns} takes {count * rows} vectors of {n}, not {len(vectors)}"
        )
    return np.ascontiguousarray(
        vectors.reshape(count, rows, n).transpose(1, 0, 2).reshape(rows, count * n)[:, :columns]
    )


def pack_weights(weights: np.ndarray, n: int) -> np.ndarray:
    """Packs weights [K, O] into tiles [ceil(K/n) * ceil(O/n), n, n] of the same dtype."""
    weights = _two_dimensional(weights, "weights")
    inputs, outputs = weights.shape
    down, across = blocks(inputs, n), blocks(outputs, n)
    padded = np.zeros((down * n, across * n), weights.dtype)
    padded[:inputs, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(down, n, across, n).transpose(0, 2, 1, 3)).reshape(
        down * across, n, n
    )


def are_diagonal(tiles: np.ndarray, params: Mapping[str, Any]) -> np.ndarray:
    """Which weight tiles, int8 [count, n, n], a build stores as their diagonals: those that are
    zero off the diagonal, if the build has ``ext_diag``. Result: bool [count]."""
    if not params["ext_diag"]:
        return np.zeros(len(tiles), bool)
    off = ~np.eye(params["n"], dtype=bool)
    return np.all(tiles[:, off] == 0, axis=1)


def unpack_weights(tiles: np.ndarray, inputs: int, outputs: int) -> np.ndarray:
    """Unpacks tiles [.., n, n] to weights [inputs, outputs], the inverse of
    :func:`pack_weights`."""
    tiles = np.asarray(tiles)
    if tiles.ndim != 3 or tiles.shape[1] != tiles.shape[2]:
        raise ValueError(f"tiles must be of shape [count, n, n], not {tiles.shape}")
    n = tiles.shape[1]
    down, across = blocks(inputs, n), blocks(outputs, n)
    if len(tiles) != down * across:
        raise ValueError(
            f"{inputs} x {outputs} takes {down * across} tiles of {n} x {n}, not {len(tiles)}"
        )
    padded = tiles.reshape(down, across, n, n).transpose(0, 2, 1, 3).reshape(down * n, across * n)
    return np.ascontiguousarray(padded[:inputs, :outputs])


@dataclass(frozen=True)
class Planes:
    """Vector layout of a map of ``lines`` x ``length`` positions and ``channels``, with ``n``
    elements per vector.

    A window that is moved over the map meets, at every position, the vector a constant number of
    vectors away from the position's own: the zero vectors behind a line are also those in front of
    the next. So a product goes over many lines at once.

    Attributes
    ----------
    lines, length, channels, n : int
    gap : vectors behind every line
    lead : vectors in front of the first
    phases : (along lines, along places): neighbours that share a vector,
        for a map that is read by a convolution of that stride
    shift : (along lines, along places): phase of the map's first line and place, 0 or,
        of two phases, 1
    """

    lines: int
    length: int
    channels: int
    n: int
    gap: int = 0
    lead: int = 0
    phases: tuple[int, int] = (1, 1)
    shift: tuple[int, int] = (0, 0)

    @property
    def down(self) -> int:
        """Number of lines in a plane."""
        return -(-(self.lines + self.shift[0]) // self.phases[0])

    @property
    def across(self) -> int:
        """Number of positions in a line of a plane."""
        return -(-(self.length + self.shift[1]) // self.phases[1])

    @property
    def pitch(self) -> int:
        """Distance in vectors between consecutive lines."""
        return self.across + self.gap

    @property
    def plane(self) -> int:
        """Distance in vectors between consecutive planes."""
        return self.down * self.pitch

    @property
    def blocks(self) -> int:
        """Number of blocks of channels, or of neighbours and channels."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return 1
        if places * self.channels <= self.n:
            return lines
        return lines * places * blocks(self.channels, self.n)

    @property
    def size(self) -> int:
        """Total number of vectors."""
        return self.lead + self.blocks * self.plane

    def outside(self, block: int) -> list[int]:
        """Positions in a line of the plane of ``block`` that lie before the map's first position or
        behind its last, if neighbours along a line have blocks of their own."""
        count, whole = self.phases[1], blocks(self.channels, self.n)
        if count * self.channels <= self.n:
            return []
        phase = block // whole % count - self.shift[1]
        ends = {0, self.across - 1}
        return [place for place in sorted(ends) if not 0 <= place * count + phase < self.length]

    def vector(self, block: int, line: int, place: int) -> int:
        """Index of a vector (``line`` and ``place`` count lines and positions of the planes)."""
        return self.lead + (block * self.down + line) * self.pitch + place

    def lane(self, line: int, place: int, channel: int) -> int:
        """Index of an element within all blocks of a position, by its phase (``line``, ``place``)
        and channel."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return (line * places + place) * self.channels + channel
        if places * self.channels <= self.n:
            return line * self.n + place * self.channels + channel
        return (line * places + place) * blocks(self.channels, self.n) * self.n + channel

    def strides(self) -> dict[str, Any]:
        """Address strides of the layout: for ``line``, ``place`` and ``channel`` a list of (size,
        vectors, elements), most significant first; ``begin``: (vectors, elements) of the first
        element."""
        lines, places = self.phases
        whole = blocks(self.channels, self.n)
        if lines * places * self.channels <= self.n:
            phases = (0, places * self.channels), (0, self.channels)
        elif places * self.channels <= self.n:
            phases = (self.plane, 0), (0, self.channels)
        else:
            phases = (places * whole * self.plane, 0), (whole * self.plane, 0)
        result: dict[str, Any] = {}
        begin = (self.lead, 0)
        for kind, count, vectors, apart, phase, shift in zip(
            ("line", "place"),
            (self.down, self.across),
            (self.pitch, 1),
            self.phases,
            phases,
            self.shift,
            strict=True,
        ):
            if shift:  # the second phase comes first, the other one in the next vector
                begin = begin[0] + phase[0], begin[1] + phase[1]
                phase = vectors - phase[0], -phase[1]
            result[kind] = [(count, vectors, 0), (apart, *phase)]
        result["channel"] = (
            [(self.channels, 0, 1)] if whole == 1 else [(whole, self.plane, 0), (self.n, 0, 1)]
        )
        result["begin"] = begin
        return result
