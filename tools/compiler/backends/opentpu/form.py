# SPDX-License-Identifier: BSD-2-Clause
"""Network operators on OpenTPU: sums of tile products over shifted maps, max pooling, and
activation tiles; decomposition of linear layers (convolutions, dense layers, window sums) into tile
products."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from .layout import Planes, blocks

__all__ = [
    "BIAS_LANE",
    "Gathered",
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
    "conv_matrices",
    "copy_terms",
    "cut",
    "cut_phases",
    "dense_terms",
    "gather",
    "norm_word",
    "packed_biases",
    "packed_rows",
    "packed_sizes",
    "packed_vector",
    "scale_tile",
    "spread_of",
    "window_terms",
]


#: Elements of the constant vector beside the one in its element 0.
BIAS_LANE = 127

#: CFG norm: saturate to int8, shift 0; and round.
INT8, _ROUND = 0x1_0000, 0x100


def norm_word(shift: int) -> int:
    """Value of CFG norm for a layer whose sums are rounded, shifted and saturated."""
    return INT8 | _ROUND | shift


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
    quotients. Powers of two, and three of them, so that biases of several sizes fill a tile."""
    return [rows for rows in (2, 4, 6, 8, 12, 16, 24, 32, 48) if 4 * rows <= 3 * n]


def packed_rows(bias: np.ndarray, n: int) -> list[int | None]:
    """Tile rows of each block's bias in a shared tile; ``None`` for a bias that needs more than
    three quarters of a tile."""
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
    """Packs biases into tiles: the :class:`PackedBias` of each block, in the least of ``sizes``
    that holds its rows (:func:`packed_rows`), ``None`` if none does. The largest are placed first;
    each begins at a multiple of its rows."""
    quotient, rest = _parts(bias, n)
    needed = [
        None if rows is None else min((size for size in sizes if size >= rows), default=None)
        for rows in packed_rows(bias, n)
    ]
    result: list[PackedBias | None] = [None] * len(needed)
    tiles: list[tuple[np.ndarray, np.ndarray]] = []  # of zeros at first, and its rows in use
    for rows in sorted(sizes, reverse=True):
        for block in (block for block, size in enumerate(needed) if size == rows):
            free = (
                (tile, used, slot)
                for tile, used in tiles
                for slot in range(n // rows)
                if not used[slot * rows : (slot + 1) * rows].any()
            )
            fresh = (np.zeros((n, n), np.int8), np.zeros(n, bool), 0)
            tile, used, slot = next(free, fresh)
            if not used.any():
                tiles.append((tile, used))
            begin, end = slot * rows, (slot + 1) * rows
            used[begin:end] = True
            tile[begin] = rest[block]
            _share_out(quotient[block], tile[begin + 1 : end])
            result[block] = PackedBias(tile, rows, slot)
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


@dataclass(frozen=True)
class Gathered:
    """An im2col layout: a map of few channels with neighbouring positions concatenated in its
    vectors.

    Attributes
    ----------
    planes : Planes of it
    terms : terms that make it of the map
    matrices : what a convolution multiplies it with, by (line, place)
    """

    planes: Planes
    terms: list[list[Term]]
    matrices: dict[tuple[int, int], np.ndarray]


def scale_tile(n: int, factor: int = 1) -> np.ndarray:
    """The identity tile times ``factor``, int8 [n, n]."""
    return np.eye(n, dtype=np.int8) * np.int8(factor)


def cut(
    matrices: Mapping[tuple[int, int], np.ndarray], out: int, n: int, source: int = 0
) -> list[list[Term]]:
    """Splits matrices [elements of the source's blocks, out], keyed by (line, position) offset,
    into one term per tile; omits tiles of zeros."""
    across = blocks(out, n)
    terms: list[list[Term]] = [[] for _ in range(across)]
    for (line, place), matrix in matrices.items():
        padded = np.zeros((len(matrix), across * n), np.int8)
        padded[:, :out] = matrix
        tiles = padded.reshape(-1, n, across, n).transpose(0, 2, 1, 3)
        for block, j in zip(*np.nonzero(tiles.any((2, 3))), strict=True):
            terms[j].append(
                Term(source, int(block), line, place, np.ascontiguousarray(tiles[block, j]))
            )
    for each in terms:
        each.sort(key=lambda t: (t.block, t.line, t.place))
    return terms


def conv_matrices(
    weights: np.ndarray,
    planes: Planes,
    *,
    before: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
    target: Planes | None = None,
) -> tuple[dict[tuple[int, int], np.ndarray], tuple[int, int]]:
    """Matrices by which a convolution multiplies its source, [elements of the source's blocks,
    out], keyed by (line, position) offset; out: output channels or, with a ``target``, elements of
    its blocks.

    Parameters
    ----------
    weights : whole numbers [out, lines, places, channels / groups]
    planes : Planes of the source
    before : (lines, places) of zeros in front
    stride, dilation : (lines, places)
    target : Planes of the result, if neighbours along a line share its vectors

    Returns
    -------
    (matrices, stride of them in vectors)
    """
    out, high, wide, inner = weights.shape
    each, phases = out // groups, planes.phases
    shared = 1 if target is None else target.phases[1]
    width = out if target is None or shared == 1 else target.blocks * target.n
    early = 0 if target is None else target.shift[1]  # positions before the map's first
    channels = (np.arange(out) // each * inner)[:, None] + np.arange(
        inner
    )  # of the source, for every output
    steps = stride[0], stride[1] * shared  # from vector to vector of the result
    if any(step % phase for step, phase in zip(steps, phases, strict=True)):
        raise ValueError(f"phases {phases} are not the stride {steps}")
    matrices: dict[tuple[int, int], np.ndarray] = {}
    for r in range(high):
        for c in range(wide):
            for neighbour in range(shared):
                away = (
                    r * dilation[0] - before[0] + planes.shift[0],
                    c * dilation[1] - before[1] + planes.shift[1] + (neighbour - early) * stride[1],
                )
                line, line_phase = divmod(away[0], phases[0])
                place, place_phase = divmod(away[1], phases[1])
                matrix = matrices.setdefault(
                    (line, place), np.zeros((planes.blocks * planes.n, width), np.int8)
                )
                first = target.lane(0, neighbour, 0) if target is not None else 0
                matrix[
                    planes.lane(line_phase, place_phase, 0) + channels,
                    first + np.arange(out)[:, None],
                ] += weights[:, r, c].astype(np.int8)
    return matrices, (steps[0] // phases[0], steps[1] // phases[1])


def cut_phases(
    matrices: Mapping[tuple[int, int], np.ndarray], out: int, n: int, stride: tuple[int, int]
) -> tuple[list[tuple[int, int]], list[list[Term]]]:
    """Splits the matrices of a strided convolution into terms on polyphase maps, one map per phase.

    Returns
    -------
    (list of phases (line, place), terms whose sources are the phases' maps)
    """
    parts: dict[tuple[int, int], dict[tuple[int, int], np.ndarray]] = {}
    for (line, place), matrix in matrices.items():
        (down, first), (across, second) = divmod(line, stride[0]), divmod(place, stride[1])
        parts.setdefault((first, second), {})[down, across] = matrix
    terms: list[list[Term]] = [[] for _ in range(blocks(out, n))]
    for number, part in enumerate(parts.values()):
        for whole, mine in zip(terms, cut(part, out, n, number), strict=True):
            whole += mine
    return list(parts), terms


def gather(
    matrices: Mapping[tuple[int, int], np.ndarray],
    planes: Planes,
    target: Planes,
    stride: tuple[int, int],
) -> Gathered | None:
    """Chooses an im2col layout (:class:`Gathered`) of a convolution's source, if it speeds up the
    convolution into a map ``target``, else ``None``. ``matrices``, ``stride``: see
    :func:`conv_matrices`."""
    used = planes.phases[0] * planes.phases[1] * planes.channels
    count = planes.n // used
    if planes.blocks > 1 or count < 2:
        return None
    lines = [line for line, _ in matrices]
    top, reach = -min(lines), max(lines) - min(lines)
    down = (target.down - 1) * stride[0] + reach // count * count + 1
    merged: dict[tuple[int, int], np.ndarray] = {}
    for (line, place), matrix in matrices.items():
        group, k = divmod(line + top, count)
        whole = merged.setdefault((group * count, place), np.zeros_like(matrix))
        whole[k * used : (k + 1) * used] = matrix[:used]
    before = len(matrices) * target.blocks * target.down * target.across
    after = (
        len(merged) * target.blocks * target.down * target.across
        + (count + 1) * down * planes.across
    )
    if after >= before:
        return None
    tiles = np.zeros((count, planes.n, planes.n), np.int8)
    for k in range(count):
        tiles[k, np.arange(used), k * used + np.arange(used)] = 1
    result = Planes(down, planes.across, count * used, planes.n)
    return Gathered(result, [[Term(0, 0, k - top, 0, tiles[k]) for k in range(count)]], merged)


def dense_terms(weights: np.ndarray, planes: Planes, *, swap: bool = False) -> list[list[Term]]:
    """Terms of a dense layer on a whole map, integer ``weights`` [out, rows * columns * channels];
    ``swap``: lines are columns."""
    out, shape = len(weights), (planes.lines, planes.length)
    rows, columns = reversed(shape) if swap else shape
    maps = weights.reshape(out, rows, columns, planes.channels)
    if swap:
        maps = maps.transpose(0, 2, 1, 3)
    matrices = {}
    for line in range(planes.lines):
        for place in range(planes.length):
            matrix = matrices[line, place] = np.zeros((planes.blocks * planes.n, out), np.int8)
            matrix[: planes.channels] = maps[:, line, place].T
    return cut(matrices, out, planes.n)


def copy_terms(
    channels: int,
    first: int,
    total: int,
    n: int,
    *,
    source: int = 0,
    factor: int = 1,
    line: int = 0,
    place: int = 0,
) -> list[list[Term]]:
    """Terms that copy ``channels`` channels of a source, times ``factor``, to the channels from
    ``first`` on of a result with ``total`` channels."""
    ahead, shift = divmod(first, n)
    terms: list[list[Term]] = [[] for _ in range(blocks(total, n))]
    # A block of the source lies in one block of the result, or its ends in two neighbouring ones.
    for offset in (-n, 0) if shift else (0,):
        whole = np.eye(n, k=shift + offset, dtype=np.int8) * np.int8(factor)
        for block in range(blocks(channels, n)):
            used = channels - block * n
            tile = whole
            if used < n:
                tile = whole.copy()
                tile[used:] = 0
            if tile.any():
                at = ahead + block + (offset < 0)
                terms[at].append(Term(source, block, line, place, tile))
    for each in terms:
        each.sort(key=lambda term: term.block)
    return terms


def window_terms(
    channels: int, window: tuple[int, int], before: tuple[int, int], n: int, factor: int
) -> list[list[Term]]:
    """Terms of a window sum times ``factor``: the same tile at every offset."""
    tile = scale_tile(n, factor)
    places = [(r - before[0], c - before[1]) for r in range(window[0]) for c in range(window[1])]
    return [
        [Term(0, block, line, place, tile) for line, place in places]
        for block in range(blocks(channels, n))
    ]
