# SPDX-License-Identifier: BSD-2-Clause
"""Terms of layers: convolutions of any kind, dense layers, and what else is a sum of products with
constants."""

from dataclasses import dataclass

import numpy as np

from .layout import blocks
from .planes import Planes
from .step import Term

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
    """A map of few channels with neighbouring lines side by side in its vectors.

    Attributes
    ----------
    planes : Planes of it
    terms : terms that make it of the map
    matrices : what a convolution multiplies it with, by (line, place)
    """

    planes: Planes
    terms: list
    matrices: dict


def scale_tile(n, factor=1):
    """The unit tile times ``factor``."""
    return np.eye(n, dtype=np.int8) * np.int8(factor)


def cut(matrices, out, n, source=0):
    """Terms of the matrices [elements of the source's blocks, out] by (line, place): a term for
    each tile that is not all zeros."""
    across = blocks(out, n)
    terms = [[] for _ in range(across)]
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


def conv_matrices(weights, planes, *, before, stride=(1, 1), dilation=(1, 1), groups=1):
    """What a convolution multiplies its source with, by (line, place): [elements of the source's
    blocks, out].

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
    matrices = {}
    for r in range(high):
        for c in range(wide):
            away = (
                r * dilation[0] - before[0] + planes.shift[0],
                c * dilation[1] - before[1] + planes.shift[1],
            )
            place, phase = zip(
                *(divmod(a, p) for a, p in zip(away, phases, strict=True)), strict=True
            )
            matrix = matrices.setdefault(place, np.zeros((planes.blocks * planes.n, out), np.int8))
            matrix[planes.lane(*phase, 0) + channels, np.arange(out)[:, None]] += weights[
                :, r, c
            ].astype(np.int8)
    return matrices, tuple(s // p for s, p in zip(stride, phases, strict=True))


def cut_phases(matrices, out, n, stride):
    """Terms of the matrices of a convolution with a stride, on one map for every phase that it
    meets.

    Returns
    -------
    (list of phases (line, place), terms whose sources are the phases' maps)
    """
    parts = {}
    for (line, place), matrix in matrices.items():
        (down, first), (across, second) = divmod(line, stride[0]), divmod(place, stride[1])
        parts.setdefault((first, second), {})[down, across] = matrix
    terms = [[] for _ in range(blocks(out, n))]
    for number, part in enumerate(parts.values()):
        for whole, mine in zip(terms, cut(part, out, n, number), strict=True):
            whole += mine
    return list(parts), terms


def gather(matrices, planes, target, stride):
    """:class:`Gathered` of a map of which one vector holds a position several times over, if a
    convolution of it into a map ``target`` is shorter so; else ``None``. ``matrices``, ``stride``:
    of :func:`conv_matrices`."""
    used = planes.phases[0] * planes.phases[1] * planes.channels
    count = planes.n // used
    if planes.blocks > 1 or count < 2:
        return None
    lines = [line for line, _ in matrices]
    top, reach = -min(lines), max(lines) - min(lines)
    down = (target.down - 1) * stride[0] + reach // count * count + 1
    merged = {}
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


def dense_terms(weights, planes, *, swap=False):
    """Terms of a dense layer on a whole map, ``weights`` whole numbers [out, rows * columns *
    channels]; ``swap``: lines are columns."""
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


def copy_terms(channels, first, total, n, *, source=0, factor=1, line=0, place=0):
    """Terms that put ``channels`` channels of a source, times ``factor``, behind ``first`` others
    of ``total``."""
    ahead, shift = divmod(first, n)
    terms = [[] for _ in range(blocks(total, n))]
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


def window_terms(channels, window, before, n, factor):
    """Terms of a sum over a window times ``factor``: the same tile for all of them."""
    tile = scale_tile(n, factor)
    places = [(r - before[0], c - before[1]) for r in range(window[0]) for c in range(window[1])]
    return [
        [Term(0, block, line, place, tile) for line, place in places]
        for block in range(blocks(channels, n))
    ]
