# SPDX-License-Identifier: BSD-2-Clause
"""Space-to-depth layout: with few channels, several neighbouring positions share the 16 channels of
a tap, which would otherwise be multiplied by zero.

A convolution on such a tensor has fewer taps on more channels; one that makes such a tensor
computes several of its positions at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .layers import MOST_STRIDE

__all__ = ["Grid", "Regular", "Side", "side"]


@dataclass(frozen=True)
class Grid:
    """Layout of a tensor whose positions share slots.

    Attributes
    ----------
    block : rows and columns of positions in a slot
    phase : zeros of a padding (rows, columns) that lie before the first position
    shape : rows, columns, channels of the tensor that the core sees
    """

    block: tuple[int, int]
    phase: tuple[int, int]
    shape: tuple[int, int, int]

    def pack(self, values: np.ndarray) -> np.ndarray:
        """Converts ``values`` [inputs, rows, columns, channels] into the core's space-to-depth
        layout."""
        (down, across), (top, left), (rows, columns, _) = self.block, self.phase, self.shape
        count, high, wide, channels = values.shape
        whole = np.zeros((count, rows * down, columns * across, channels), values.dtype)
        whole[:, top : top + high, left : left + wide] = values
        blocks = whole.reshape(count, rows, down, columns, across, channels)
        return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows, columns, -1)

    def unpack(self, values: np.ndarray) -> np.ndarray:
        """Converts from the space-to-depth layout, the inverse of :meth:`pack`, for a tensor whose
        blocks are columns of one row."""
        count, rows, columns, _ = values.shape
        return values.reshape(count, rows, columns * self.block[1], -1)


@dataclass(frozen=True)
class Side:
    """A convolution along one axis, in blocks of positions.

    Attributes
    ----------
    source, result : positions in a block of each
    taps, stride, before, after : kernel, stride and padding in blocks
    groups : blocks of the source, without the padding
    places : for each tap of the network's kernel and position in a result's block: (tap,
        position in a source's block)
    """

    source: int
    result: int
    taps: int
    stride: int
    before: int
    after: int
    groups: int
    places: tuple[tuple[tuple[int, int], ...], ...]


def side(
    *,
    taps: int,
    stride: int,
    before: int,
    phase: int,
    length: int,
    results: int,
    source: int,
    result: int,
    whole: bool = False,
) -> Side | None:
    """The :class:`Side` of ``taps`` at ``stride`` with ``before`` zeros ahead, on ``length``
    positions in blocks of ``source``, the first at ``phase``; ``results`` in blocks of ``result``.
    ``whole``: the source's blocks include its padding; those that no kernel reads are a negative
    padding behind. ``None`` if blocks do not divide evenly."""
    if result * stride % source or results % result:
        return None
    if not whole and result * stride // source > MOST_STRIDE:
        return None
    offsets = [[p * stride + k - before + phase for k in range(taps)] for p in range(result)]
    low, high = min(min(offsets)) // source, max(map(max, offsets)) // source
    low = min(low, 0)
    step, count = result * stride // source, high - low + 1
    extent = (results // result - 1) * step + count
    groups = -(-length // source)
    if whole:
        # Also positions that no kernel reads have a place.
        groups = max(extent, -(-(length + phase) // source))
    after = extent + low - groups
    if low < 0 if whole else after < 0:
        # a kernel would begin before the first block, or too many results would come
        return None
    places = tuple(tuple((o // source - low, o % source) for o in row) for row in offsets)
    return Side(source, result, count, step, -low, after, groups, places)


@dataclass(frozen=True)
class Regular:
    """A convolution in blocks of positions: ``rows`` and ``columns`` are Sides."""

    rows: Side
    columns: Side

    @property
    def stride(self) -> tuple[int, int]:
        """Stride (rows, columns), in blocks."""
        return self.rows.stride, self.columns.stride

    @property
    def padding(self) -> tuple[int, int, int, int]:
        """Padding (top, bottom, left, right), in blocks."""
        return self.rows.before, self.rows.after, self.columns.before, self.columns.after

    def weights(self, weights: np.ndarray, groups: int) -> np.ndarray:
        """Rearranges weights [out, rows, columns, in / groups] to [positions * out, positions * in,
        rows, columns], with rows and columns counted in blocks."""
        out, _, _, each = weights.shape
        inner, rows, columns = each * groups, self.rows, self.columns
        found = np.zeros(
            (columns.result, out, rows.source, columns.source, inner, rows.taps, columns.taps),
            weights.dtype,
        )
        sources = np.arange(out)[:, None] // (out // groups) * each + np.arange(each)
        for kr, (tap_r, at_r) in enumerate(rows.places[0]):
            for p, places in enumerate(columns.places):
                for kc, (tap_c, at_c) in enumerate(places):
                    found[p, np.arange(out)[:, None], at_r, at_c, sources, tap_r, tap_c] = weights[
                        :, kr, kc
                    ]
        return found.reshape(
            columns.result * out, rows.source * columns.source * inner, rows.taps, columns.taps
        )
