# SPDX-License-Identifier: BSD-2-Clause
"""Tensors and layers of a network: channel blocks, kernel taps, and their order."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ......gateware.cores.opu.types import SLOT

__all__ = ["BLOCK", "NARROW", "Layer", "Phases", "Tensor"]

#: Taps that one window offset of ``conv`` reaches, a side.
BLOCK = 16
#: Channels of a channel block of a split tensor: the fewest that a tap multiplies.
NARROW = 16


@dataclass(frozen=True, eq=False)
class Tensor:
    """A feature map ``height`` x ``width`` x ``channels`` of every image of the batch, or a vector
    (height and width 1).

    It lies in memory in channel blocks (``channel_blocks``): 64 to a map, or, ``split``, 16, of
    which up to four share a map. ``full``: channels that it does not have are zero in every slot,
    for readers that take its slots as kernels.
    """

    name: str
    height: int
    width: int
    channels: int
    fraction: int
    split: bool = False
    full: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the tensor: (height, width, channels)."""
        return self.height, self.width, self.channels

    @property
    def maps(self) -> int:
        """Number of maps of 64 channels that hold the tensor."""
        return -(-self.channels // SLOT)

    @property
    def each(self) -> int:
        """Channels per channel block; the last block may have fewer."""
        return NARROW if self.split else SLOT

    @property
    def channel_blocks(self) -> int:
        """Number of channel blocks."""
        return -(-self.channels // self.each)

    @property
    def shares(self) -> int:
        """Number of channel blocks that share a map, interleaved by rows."""
        return -(-min(self.channels, SLOT) // self.each)

    def span(self, block: int) -> tuple[int, int]:
        """Channel range of a channel block: (first, end)."""
        return block * self.each, min(self.channels, (block + 1) * self.each)


class Phases(NamedTuple):
    """Phases of an interleaved map that one layer copies: ``factors`` (row phases, column phases)
    of the map, number ``row`` of the row phase, and in ``columns`` the (number, first channel in
    the source) of each column phase."""

    factors: tuple[int, int]
    row: int
    columns: tuple[tuple[int, int], ...]


@dataclass(eq=False)
class Layer:
    """A convolution with its fused operations; fully connected layers and averages are convolutions
    too.

    Attributes
    ----------
    name, source, result : str, Tensor, Tensor
    taps : (rows, columns) of the kernel
    weights : int64 [out, in / groups, rows, columns], or ``None`` for an average
    identity : int
        Of an average: the weight on the diagonal of every tap.
    bias : int64 [out] or None
    f, b : shifts of the dot products and of the bias, one for each channel block of the result
    stride, dilation : (rows, columns)
    padding : (top, bottom, left, right)
    act, order : numbers of ``@post``; pool : (rows, columns, row stride, column stride)
    rows, columns : of the convolution, before pooling
    second : Tensor or None, of a product of two tensors the one whose positions are the kernel;
        ``turned``: its source itself, times ones on a diagonal; ``batched``: each row of either is
        a matrix, else all rows are one
    residual : Tensor or None; by_tap :
        it is added as one more tap instead of by ``store``; residual_f : shift of that tap
    phases : Phases or None, of a layer that copies the source to its places in an interleaved map,
        which other layers complete
    """

    name: str
    source: Tensor
    result: Tensor
    taps: tuple[int, int]
    weights: np.ndarray | None
    bias: np.ndarray | None
    f: tuple[int, ...]
    b: tuple[int, ...]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    act: int
    order: int
    pool: tuple[int, int, int, int]
    rows: int
    columns: int
    identity: int = 0
    residual: Tensor | None = None
    by_tap: bool = False
    residual_f: int = 0
    groups: int = 1
    dilation: tuple[int, int] = (1, 1)
    second: Tensor | None = None
    turned: bool = False
    batched: bool = False
    phases: Phases | None = None

    @property
    def adds(self) -> bool:
        """Whether ``store`` adds a residual."""
        return self.residual is not None and not self.by_tap

    @property
    def flat(self) -> bool:
        """Whether the kernel covers the whole source, so that there is one result per image."""
        return (
            self.taps == self.source.shape[:2]
            and not any(self.padding)
            and self.rows == self.columns == 1
            and self.weights is not None
            and self.groups == 1
            and self.dilation == (1, 1)
            and self.residual is None
            and self.pool == (1, 1, 1, 1)
        )

    @property
    def positions(self) -> list[tuple[int, int]]:
        """Taps (row, column) in accumulation order: one block of taps after another, each as large
        as a window offset can address (16 x 16 without dilation), row by row within each. The order
        is part of the layer's semantics since sums saturate."""
        return [
            (r, c)
            for r0, c0, high, wide in self.blocks
            for r in range(r0, r0 + high)
            for c in range(c0, c0 + wide)
        ]

    @property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        """Blocks of taps that share one load: (first row, first column, rows, columns)."""
        high, wide = ((BLOCK - 1) // d + 1 for d in self.dilation)
        return [
            (r, c, min(high, self.taps[0] - r), min(wide, self.taps[1] - c))
            for r in range(0, self.taps[0], high)
            for c in range(0, self.taps[1], wide)
        ]

    def reads(self, block: int) -> range:
        """Indices of the source's channel blocks that contribute to channel block ``block``."""
        first, last = self.result.span(block)
        out, each = self.result.channels // self.groups, self.source.channels // self.groups
        width = self.source.each
        return range(first // out * each // width, -(-((last - 1) // out + 1) * each // width))

    def block(
        self, result_block: int, part: int, r: int, c: int, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights [out, in] of tap (r, c) between channel block ``part`` of the source and channel
        block ``result_block`` of the result, from ``weights`` or the layer's own."""
        weights = self.weights if weights is None else weights
        (first, last), (low, high) = self.result.span(result_block), self.source.span(part)
        if self.groups == 1 and weights is not None:
            return weights[first:last, low:high, r, c]
        out, each = self.result.channels // self.groups, self.source.channels // self.groups
        outs, ins = np.arange(first, last)[:, None], np.arange(low, high)
        index = ins - outs // out * each
        some = np.full((1, 1), self.identity) if weights is None else weights[first:last, :, r, c]
        found = np.take_along_axis(
            np.broadcast_to(some, (last - first, each)), np.clip(index, 0, each - 1), 1
        )
        return np.where((index >= 0) & (index < each), found, 0)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the layer for one image, without padding channels."""
        if self.turned or self.phases is not None:
            return 0
        channels = self.source.channels // self.groups
        return (
            self.rows * self.columns * self.taps[0] * self.taps[1] * channels * self.result.channels
        )
