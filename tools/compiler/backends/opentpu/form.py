# SPDX-License-Identifier: BSD-2-Clause
"""Network operators on OpenTPU: sums of tile products over shifted maps, max pooling, and
activation tiles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .planes import Planes

__all__ = [
    "BIAS_LANE",
    "INT8",
    "InterleaveStep",
    "KernelStep",
    "PackedBias",
    "PoolStep",
    "Step",
    "StoredTile",
    "Term",
    "bias_tile_limit",
    "bias_tiles",
    "packed_biases",
    "packed_rows",
    "packed_sizes",
    "packed_vector",
    "spread_of",
]

#: Elements of the constant vector beside the one in its element 0.
BIAS_LANE = 127

#: CFG norm: saturate to int8, shift 0.
INT8 = 0x1_0000


@dataclass(frozen=True)
class StoredTile:
    """A weight tile made of activations by a :class:`KernelStep`: ``n`` vectors of a tensor, from
    vector ``vector`` on."""

    tensor: str
    vector: int


@dataclass(frozen=True, eq=False)
class Term:
    """A summand of a :class:`Step`. At position (line, place) of the result it multiplies ``tile``
    (int8 [n, n], row = element of the source; or a StoredTile) by block ``block`` of source number
    ``source`` at (line * stride + ``line``, place * stride + ``place``), which is zero outside the
    map."""

    source: int
    block: int
    line: int
    place: int
    tile: np.ndarray | StoredTile


@dataclass(eq=False, kw_only=True)
class Step:
    """Linear operator: each block of the result is a sum of terms and a bias, followed by ReLU,
    shift and saturation.

    Attributes
    ----------
    name : str
    target : tensor name
    sources : list of tensor names
    terms : list (block of the result) of list of Term
    bias : int64 [elements of all blocks] in units of the sums, or ``None``
    shifts : list of int, a block of the result
    relu : bool
    stride : (along lines, along places) in the planes of the sources
    nodes : names of the nodes that it does, for reports
    macs : multiplications on real channels
    """

    name: str
    target: str
    sources: list[str]
    terms: list[list[Term]]
    shifts: list[int]
    bias: np.ndarray | None = None
    relu: bool = False
    stride: tuple[int, int] = (1, 1)
    nodes: tuple[str, ...] = ()
    macs: int = 0


@dataclass(eq=False, kw_only=True)
class PoolStep:
    """Max pooling; ``before``: lines and positions of leading padding, ``window`` and ``stride``
    (lines, positions)."""

    name: str
    target: str
    sources: list[str]
    window: tuple[int, int]
    stride: tuple[int, int]
    before: tuple[int, int]
    nodes: tuple[str, ...] = ()
    macs: int = 0


@dataclass(eq=False, kw_only=True)
class KernelStep:
    """Converts a tensor into weight tiles in main memory: ``rows`` vectors, a whole number of
    tiles, for each block of the tiles' columns.

    A tensor of positions and channels gives vectors of its own, a position each, or, ``turned``, a
    channel each with the positions as elements. Vectors behind the last are anything: what they are
    multiplied with is zero. ``planes`` of the target: one position of as many blocks as there are
    vectors.
    """

    name: str
    target: str
    sources: list[str]
    rows: int
    turned: bool
    nodes: tuple[str, ...] = ()
    macs: int = 0


@dataclass(eq=False, kw_only=True)
class InterleaveStep:
    """Interleaves phases into a map: the element (line, place) of phase (p, q) goes to (line *
    ``factors[0]`` + p, place * ``factors[1]`` + q).

    ``terms``: for each line phase and each place phase a list (block of the result) of the terms
    that copy it; their offsets are 0.
    """

    name: str
    target: str
    sources: list[str]
    factors: tuple[int, int]
    terms: list[list[list[list[Term]]]]
    nodes: tuple[str, ...] = ()
    macs: int = 0


def spread_of(step: Step, planes: Planes) -> list[tuple[int, int]] | None:
    """Positions that ``step`` sums up with equal weights for every block of channels (a global
    average), so that one product can process all blocks: a list of (line, position), else ``None``.
    ``planes``: layout of its source."""
    first = step.terms[0]
    if (
        len(step.sources) != 1
        or step.bias is not None
        or len(set(step.shifts)) != 1
        or len(step.terms) < 2
        or len(first) < 2
        or planes.phases != (1, 1)
    ):
        return None
    places = [(term.line, term.place) for term in first]
    for block, terms in enumerate(step.terms):
        if [(t.line, t.place) for t in terms] != places or any(
            t.block != block or t.tile is not first[0].tile for t in terms
        ):
            return None
    if not all(0 <= line < planes.lines and 0 <= place < planes.length for line, place in places):
        return None
    return places


def bias_tile_limit(n: int) -> int:
    """Greatest magnitude of a bias that one tile always holds (:func:`bias_tiles`)."""
    return BIAS_LANE * BIAS_LANE * (n - 1)


def bias_tiles(bias: np.ndarray, n: int) -> list[list[np.ndarray]]:
    """Weight tiles that represent ``bias``: multiplied by the constant vector (1, 127, 127, ...)
    they add up to it; int8 [blocks][count] of [n, n].

    An element's quotient by 127 is shared out among n - 1 rows of each tile, what is left goes into
    row 0.
    """
    result = []
    for q, r in zip(*_parts(bias, n), strict=True):
        most = int(np.abs(q).max())
        tiles, left = [], q
        for number in range(max(1, -(-most // (BIAS_LANE * (n - 1))))):
            tile = np.zeros((n, n), np.int8)
            if number == 0:
                tile[0] = r
            left = _share_out(left, tile[1:])
            tiles.append(tile)
        result.append(tiles)
    return result


def packed_sizes(n: int) -> list[int]:
    """Possible numbers of tile rows of a packed bias: one row for remainders, the others for
    quotients. Powers of two, so that biases of several sizes fill a tile."""
    return [rows for rows in (2, 4, 8, 16, 32) if 2 * rows <= n]


def packed_rows(bias: np.ndarray, n: int) -> list[int | None]:
    """Tile rows of each block's bias in a shared tile; ``None`` for a bias that needs more than
    half of a tile."""
    quotient, _ = _parts(bias, n)
    most = np.abs(quotient).max(axis=1)
    return [
        next((rows for rows in packed_sizes(n) if size <= BIAS_LANE * (rows - 1)), None)
        for size in most
    ]


def packed_vector(n: int, rows: int, slot: int) -> np.ndarray:
    """Constant vector, int8 [n], that selects a packed bias in its rows from ``slot * rows`` on: 1
    for the remainder, 127 for quotients, zeros elsewhere."""
    vector = np.zeros(n, np.int8)
    vector[slot * rows : (slot + 1) * rows] = BIAS_LANE
    vector[slot * rows] = 1
    return vector


@dataclass(frozen=True, eq=False)
class PackedBias:
    """A block's bias in a tile shared with other biases: the constant vector of these ``rows`` and
    this ``slot`` selects it (:func:`packed_vector`)."""

    tile: np.ndarray
    rows: int
    slot: int


def packed_biases(bias: np.ndarray, n: int, sizes: Collection[int]) -> list[PackedBias | None]:
    """Packs biases into tiles: the :class:`PackedBias` of each block, ``None`` if its rows
    (:func:`packed_rows`) are not among ``sizes``. The largest are placed first, so that each begins
    at a multiple of its rows."""
    quotient, rest = _parts(bias, n)
    needed = [rows if rows in sizes else None for rows in packed_rows(bias, n)]
    result: list[PackedBias | None] = [None] * len(needed)
    tile, used = np.zeros((n, n), np.int8), 0
    for rows in sorted(sizes, reverse=True):
        for block in (block for block, size in enumerate(needed) if size == rows):
            if used + rows > n:
                tile, used = np.zeros((n, n), np.int8), 0
            tile[used] = rest[block]
            _share_out(quotient[block], tile[used + 1 : used + rows])
            result[block] = PackedBias(tile, rows, used // rows)
            used += rows
    return result


def _parts(bias, n):
    """Splits biases into quotients by 127 and remainders: int64 [blocks, n] each."""
    bias = np.asarray(bias, np.int64).reshape(-1, n)
    quotient = (2 * bias + BIAS_LANE) // (2 * BIAS_LANE)
    return quotient, bias - BIAS_LANE * quotient


def _share_out(quotient, rows):
    """Distributes quotients over ``rows`` of a tile; returns the excess."""
    left = quotient.copy()
    for row in rows:
        row[:] = np.clip(left, -BIAS_LANE, BIAS_LANE)
        left -= row
    return left
