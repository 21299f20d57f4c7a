# SPDX-License-Identifier: BSD-2-Clause
"""The back end's intermediate form: a network of the core's layers, with tensors in channel blocks
and shifts in place of scales. :mod:`.lower` makes it of a legalised graph; schedule, code and
reference work on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .....gateware.cores.opu.types import SLOT, TypeSet, type_set

__all__ = ["ACTIVATIONS", "BLOCK", "MOST_STRIDE", "NARROW", "Layer", "Network", "Phases", "Tensor"]

#: Name of an activation -> its number in ``@post``.
ACTIVATIONS = {None: 0, "relu": 1, "leaky": 2}
#: Taps that one window offset of ``conv`` reaches, a side.
BLOCK = 16
#: Greatest stride of ``conv``, and of the windows of ``store``.
MOST_STRIDE = 7
#: Channels of a channel block of a split tensor: the fewest that a tap multiplies.
NARROW = 16


@dataclass(frozen=True, eq=False)
class Tensor:
    """A feature map ``height`` x ``width`` x ``channels`` of every image of the batch, or a vector
    (height and width 1).

    It lies in memory in channel blocks (``channel_blocks``): 64 to a map, or, ``split``, 16, of
    which up to four share a map. ``full``: channels that it does not have are zero in every slot,
    for readers that take its slots as kernels. ``exchanged``: its rows are the network's columns.
    """

    name: str
    height: int
    width: int
    channels: int
    split: bool = False
    full: bool = False
    exchanged: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the tensor: (height, width, channels)."""
        return self.height, self.width, self.channels

    @property
    def map_shape(self) -> tuple[int, int, int]:
        """Shape in the network: (rows, columns, channels)."""
        height, width, channels = self.shape
        return (width, height, channels) if self.exchanged else self.shape

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
    of the map, and in ``places`` the (row phase, column phase, first channel in the source) of
    each."""

    factors: tuple[int, int]
    places: tuple[tuple[int, int, int], ...]


@dataclass(eq=False, kw_only=True)
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
    padding : (top, bottom, left, right); negative: rows or columns that are left out
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
    f: tuple[int, ...]
    rows: int
    columns: int
    taps: tuple[int, int] = (1, 1)
    weights: np.ndarray | None = None
    identity: int = 0
    bias: np.ndarray | None = None
    b: tuple[int, ...]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1
    act: int = 0
    order: int = 0
    pool: tuple[int, int, int, int] = (1, 1, 1, 1)
    residual: Tensor | None = None
    by_tap: bool = False
    residual_f: int = 0
    second: Tensor | None = None
    turned: bool = False
    batched: bool = False
    phases: Phases | None = None

    def exchanged(self, tensors: Mapping[Tensor, Tensor]) -> Layer:
        """The layer with rows and columns exchanged, on ``tensors`` in place of its own."""
        phases = self.phases
        if phases is not None:
            phases = Phases(phases.factors[::-1], tuple((c, r, at) for r, c, at in phases.places))
        return replace(
            self,
            source=tensors[self.source],
            result=tensors[self.result],
            residual=None if self.residual is None else tensors[self.residual],
            rows=self.columns,
            columns=self.rows,
            taps=self.taps[::-1],
            weights=None if self.weights is None else self.weights.swapaxes(2, 3),
            stride=self.stride[::-1],
            dilation=self.dilation[::-1],
            padding=(*self.padding[2:], *self.padding[:2]),
            pool=(self.pool[1], self.pool[0], self.pool[3], self.pool[2]),
            phases=phases,
        )

    @property
    def adds(self) -> bool:
        """Whether ``store`` adds a residual."""
        return self.residual is not None and not self.by_tap

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The tensors that it reads."""
        found = (self.source, self.residual, self.second)
        return tuple(tensor for tensor in found if tensor is not None)

    @property
    def strided(self) -> bool:
        """Whether its windows are farther apart than ``conv`` takes them."""
        return max(self.stride) > MOST_STRIDE

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
        if self.taps[1] <= wide:
            # Rows follow each other anyway: their loads are of one size.
            high = -(-self.taps[0] // -(-self.taps[0] // high))
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


@dataclass(eq=False)
class Network:
    """Layers in execution order. Most methods add layers and return the tensor that they make.

    Numbers are integers of the type set. ``shift`` is the number of places that sums of products
    are shifted right by to become the result, ``bias_shift`` the number of places that the bias is
    shifted left by to be added to them: one integer, or an array of one for each output channel,
    equal within a channel block of the result.

    Parameters
    ----------
    types : str
        Type set: ``"8-8-16-16"`` (default), ``"8-8-32-32"``, ``"16-16-32-32"``.
    batch : int
        Images that one program works on.

    Attributes
    ----------
    outputs : list of Tensor; empty: the last layer's result
    borders : dict, Tensor -> width of the zero border that it has at least
    """

    types: str = "8-8-16-16"
    batch: int = 1
    inputs: list[Tensor] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    borders: dict[Tensor, int] = field(default_factory=dict)

    @property
    def set(self) -> TypeSet:
        """The type set."""
        return type_set(self.types)

    def results(self) -> list[Tensor]:
        """The output tensors."""
        return self.outputs or [self.layers[-1].result]

    def exchanged(self) -> tuple[Network, dict[Tensor, Tensor]]:
        """The network with rows and columns exchanged, for maps of more columns than the core
        addresses, and its tensor for each of this one's. Products of tensors have no such form."""
        made = {
            tensor: replace(tensor, height=tensor.width, width=tensor.height, exchanged=True)
            for tensor in [*self.inputs, *(layer.result for layer in self.layers)]
        }
        network = replace(
            self,
            inputs=[made[tensor] for tensor in self.inputs],
            layers=[layer.exchanged(made) for layer in self.layers],
            outputs=[made[tensor] for tensor in self.outputs],
            borders={made[tensor]: width for tensor, width in self.borders.items()},
        )
        return network, made

    def input(self, name: str, shape: Sequence[int], *, split: bool = False) -> Tensor:
        """Adds an input of ``shape`` (height, width, channels); a vector is (1, 1, channels)."""
        self.inputs.append(_tensor(name, shape, split))
        return self.inputs[-1]

    def conv(
        self,
        name: str,
        source: Tensor,
        weights: np.ndarray | None,
        *,
        shift: int | np.ndarray,
        bias: np.ndarray | None = None,
        bias_shift: int | np.ndarray = 0,
        taps: tuple[int, int] = (1, 1),
        identity: int = 0,
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
        dilation: tuple[int, int] = (1, 1),
        groups: int = 1,
        act: str | None = None,
        pool: tuple[int, int, int, int] = (1, 1, 1, 1),
        residual: Tensor | None = None,
        order: int = 1,
        by_tap: bool = False,
        residual_shift: int = 0,
        split: bool = False,
        full: bool = False,
    ) -> Tensor:
        """Adds a convolution with optional activation, pooling and residual addition. A kernel of
        the source's size makes it a fully connected layer.

        Parameters
        ----------
        weights : integers [out, in / groups, rows, columns]; ``None``: each channel by itself, with
            the weight ``identity`` at each of ``taps``
        padding : (top, bottom, left, right), zeros around the source; negative: left out of it
        dilation : (rows, columns), distance of neighbouring taps
        act : None, "relu" or "leaky" (slope 1/8)
        pool : (rows, columns, row stride, column stride) of a maximum over the result
        residual : Tensor of the shape of the numbers that it is added to
        order : 0 act, residual, pool; 1 residual, act, pool; 2 act, pool, residual
        by_tap : bool
            Add the residual in the partial sums, as one more tap with an identity kernel (order 1,
            or no act and order 0), shifted right by ``residual_shift``. The next tile can then be
            loaded before this one is stored. It is added before requantisation instead of behind
            it, which differs only where that saturates.
        split : bool
            The result lies in channel blocks of 16: what a depthwise convolution works on without
            multiplying by zeros.
        full : bool
            Channels that the result does not have are written as zeros: as a product reads its
            kernel (:meth:`product`).
        """
        if weights is None:
            out, groups, split = source.channels, source.channels, source.split
        else:
            weights = np.asarray(weights, np.int64)
            out, _, *taps = weights.shape
        rows, columns = (
            (size + before + after - (k - 1) * far - 1) // step + 1
            for size, before, after, k, far, step in zip(
                source.shape[:2], padding[::2], padding[1::2], taps, dilation, stride, strict=True
            )
        )
        shape = (rows - pool[0]) // pool[2] + 1, (columns - pool[1]) // pool[3] + 1, out
        result, places = _tensor(name, shape, split, full), self.set.store_shift
        if residual is None or by_tap or (order == 1 and act is None):
            order = 0  # of equal orders the one with an encoding
        self.layers.append(
            Layer(
                name=name,
                source=source,
                result=result,
                f=_of_blocks(result, places - shift),
                b=_of_blocks(result, 0 if bias is None else places - shift + bias_shift),
                rows=rows,
                columns=columns,
                taps=tuple(taps),
                weights=weights,
                identity=identity,
                bias=None if bias is None else np.asarray(bias, np.int64),
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
                act=ACTIVATIONS[act],
                order=order,
                pool=pool,
                residual=residual,
                by_tap=by_tap,
                residual_f=places - residual_shift if by_tap else 0,
            )
        )
        return result

    def identity(self, name: str, source: Tensor, factor: int = 1, **options: Any) -> Tensor:
        """Adds a layer that multiplies by ``factor``, with the options of :meth:`conv`: for what
        follows a convolution where none precedes it."""
        return self.conv(name, source, None, shift=0, identity=factor, **options)

    def product(
        self, name: str, source: Tensor, second: Tensor, *, shift: int, batched: bool = False
    ) -> Tensor:
        """Adds the matrix product of ``source`` and ``second`` transposed: each position of
        ``source`` times each of ``second``, which is full.

        Operands and result are [rows, 1, channels]; ``batched``: [matrices, rows, channels].
        """
        rows, out = (source.width, second.width) if batched else (source.height, second.height)
        return self._product(name, source, second, (rows, out), shift, batched=batched)

    def turned(self, name: str, source: Tensor, *, batched: bool = False) -> Tensor:
        """Adds the transpose of ``source``: [rows, 1, channels] becomes [channels, 1, rows];
        ``batched``: of each of [matrices, rows, channels]."""
        sides = source.channels, source.width if batched else source.height
        return self._product(name, source, source, sides, 0, batched=batched, turned=True)

    def _product(self, name, source, second, sides, shift, **options):
        (rows, out), batched = sides, options["batched"]
        result = _tensor(name, (source.height, rows, out) if batched else (rows, 1, out))
        self.layers.append(
            Layer(
                name=name,
                source=source,
                second=second,
                result=result,
                f=_of_blocks(result, self.set.store_shift - shift),
                b=_of_blocks(result, 0),
                rows=result.height,
                columns=result.width,
                **options,
            )
        )
        return result

    def interleave(
        self, names: Sequence[str], phases: Sequence[Sequence[tuple[Tensor, int]]], channels: int
    ) -> Tensor:
        """Adds the layers that make a map of its phases.

        Parameters
        ----------
        names : of the layers, one for each source of each row phase, in order
        phases : for each row phase and in it each column phase (Tensor, its first channel)
        channels : of the map
        """
        (first, _), factors = phases[0][0], (len(phases), len(phases[0]))
        shape = first.height * factors[0], first.width * factors[1], channels
        split = all(source.split for row in phases for source, _ in row)
        result, left = _tensor(names[0], shape, split), iter(names)
        for number, row in enumerate(phases):
            for source in dict.fromkeys(source for source, _ in row):
                places = tuple(
                    (number, q, at) for q, (other, at) in enumerate(row) if other is source
                )
                self.layers.append(
                    Layer(
                        name=next(left),
                        source=source,
                        result=result,
                        f=_of_blocks(result, self.set.store_shift),
                        b=_of_blocks(result, 0),
                        rows=source.height,
                        columns=source.width,
                        phases=Phases(factors, places),
                    )
                )
        return result


def _tensor(name, shape, split=False, full=False):
    return Tensor(name, *shape, split and shape[2] > NARROW, full)


def _of_blocks(tensor, value):
    """The value of each channel block, from one for all channels or one for each."""
    each = np.broadcast_to(value, (tensor.channels,))[:: tensor.each]
    return tuple(int(number) for number in each)
