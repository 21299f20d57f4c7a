# SPDX-License-Identifier: BSD-2-Clause
"""Decomposition of linear layers (convolutions, dense layers, window sums) into products of
tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .form import Term
from .layout import blocks
from .planes import Planes

__all__ = [
    "Gathered",
    "conv_matrices",
    "copy_terms",
    "cut",
    "cut_phases",
    "dense_terms",
    "gather",
    "scale_tile",
    "window_terms",
]


@dataclass(frozen=True)
class Gathered:
    """An im2col layout: a map of few channels with neighbouring positions side by side in its
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
    into one term per tile; tiles that are all zero are left out."""
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
) -> tuple[dict[tuple[int, int], np.ndarray], tuple[int, int]]:
    """The matrices that a convolution multiplies its source with, keyed by (line, position) offset:
    [elements of the source's blocks, out].

    Parameters
    ----------
    weights : whole numbers [out, lines, places, channels / groups]
    planes : Planes of the source
    before : (lines, places) of zeros in front
    stride, dilation : (lines, places)

    Returns
    -------
    (matrices, stride of them)
    """
    out, high, wide, inner = weights.shape
    each, phases = out // groups, planes.phases
    channels = (np.arange(out) // each * inner)[:, None] + np.arange(
        inner
    )  # of the source, for every output
    if phases != (1, 1) and phases != tuple(stride):
        raise ValueError(f"phases {phases} are not the stride {stride}")
    matrices: dict[tuple[int, int], np.ndarray] = {}
    for r in range(high):
        for c in range(wide):
            away = (
                r * dilation[0] - before[0] + planes.shift[0],
                c * dilation[1] - before[1] + planes.shift[1],
            )
            line, line_phase = divmod(away[0], phases[0])
            place, place_phase = divmod(away[1], phases[1])
            matrix = matrices.setdefault(
                (line, place), np.zeros((planes.blocks * planes.n, out), np.int8)
            )
            matrix[planes.lane(line_phase, place_phase, 0) + channels, np.arange(out)[:, None]] += (
                weights[:, r, c].astype(np.int8)
            )
    return matrices, (stride[0] // phases[0], stride[1] // phases[1])


def cut_phases(
    matrices: Mapping[tuple[int, int], np.ndarray], out: int, n: int, stride: tuple[int, int]
) -> tuple[list[tuple[int, int]], list[list[Term]]]:
    """Splits the matrices of a strided convolution into terms on polyphase maps, one map per phase
    that it reads.

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
    """The im2col layout (:class:`Gathered`) of a convolution's source if it makes the convolution
    into a map ``target`` faster, else ``None``. ``matrices``, ``stride``: of
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
    ``first`` on of a result of ``total`` channels."""
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
    """Terms of a sum over a window times ``factor``: the same tile at every offset."""
    tile = scale_tile(n, factor)
    places = [(r - before[0], c - before[1]) for r in range(window[0]) for c in range(window[1])]
    return [
        [Term(0, block, line, place, tile) for line, place in places]
        for block in range(blocks(channels, n))
    ]
