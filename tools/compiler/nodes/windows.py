# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that slide a window over a map: convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .node import Activation, Node, Shape, activate

__all__ = ["AveragePool", "Conv", "MaxPool"]


def _map(shape):
    if len(shape) != 3:
        raise ValueError(f"a map has rows, columns and channels, this is {shape}")
    return shape


def _windows(lengths, window, stride, padding):
    (top, left, bottom, right) = padding
    result = [
        (length + pad - effective_size) // step + 1
        for length, pad, effective_size, step in zip(
            lengths, (top + bottom, left + right), window, stride, strict=True
        )
    ]
    if min(result) < 1:
        raise ValueError(
            f"a window of {window[0]} x {window[1]} on a map of {lengths[0]} x {lengths[1]} "
            f"with padding {tuple(padding)}"
        )
    return result


def _padded(x, padding, value=0.0):
    top, left, bottom, right = padding
    return (
        np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)
        if any(padding)
        else x
    )


def _taps(x, size, stride, dilation):
    """Taps of a window: for each, its row and column and the elements [inputs, rows, columns,
    channels] under it."""
    effective_size = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    rows, columns = (length - r for length, r in zip(x.shape[1:3], effective_size, strict=True))
    for row in range(size[0]):
        for column in range(size[1]):
            r, c = row * dilation[0], column * dilation[1]
            yield row, column, x[:, r : r + rows + 1 : stride[0], c : c + columns + 1 : stride[1]]


@dataclass(eq=False, kw_only=True)
class Conv(Node):
    """Convolution: ``weights`` float64 [out, rows, columns, in / groups], ``bias`` [out] or
    ``None``.

    ``stride``, ``dilation``: (rows, columns); ``padding``: zeros (top, left, bottom, right);
    ``groups`` = channels in is depthwise. ``activation``: an :class:`Activation` of kind relu,
    leaky or clip that follows (its names unused), or ``None``. A second input is a residual: added
    to the convolution, before the activation; only a back end's own pass fuses it. ``weight_scale``
    [out]: scale of the weights of a QDQ model. ``floor`` [out]: least value of each channel's
    results, or ``None``; only the quantiser sets it, where saturation gives nothing below it, so
    that cores need not apply it.
    """

    weights: np.ndarray
    bias: np.ndarray | None = None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    activation: Activation | None = None
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """``conv``, ``depthwise`` or ``grouped``."""
        if self.groups == 1:
            return "conv"
        return "depthwise" if self.weights.shape[3] == 1 else "grouped"

    @property
    def window(self) -> tuple[int, int]:
        """Effective kernel size, dilation included: (rows, columns)."""
        rows, columns = (
            (k - 1) * d + 1 for k, d in zip(self.weights.shape[1:3], self.dilation, strict=True)
        )
        return rows, columns

    def _shape(self, shape, residual=None):
        rows, columns, channels = _map(shape)
        out, _, _, inner = self.weights.shape
        if inner * self.groups != channels or out % self.groups:
            raise ValueError(
                f"weights of shape {self.weights.shape} in {self.groups} groups on {channels} "
                f"channels"
            )
        if self.bias is not None and self.bias.shape != (out,):
            raise ValueError(f"bias of shape {self.bias.shape} for {out} channels")
        result = (*_windows((rows, columns), self.window, self.stride, self.padding), out)
        if residual is not None and tuple(residual) != result:
            raise ValueError(f"residual of shape {tuple(residual)}, the convolution gives {result}")
        return result

    def _run(self, x, residual=0.0):
        out, rows, columns, inner = self.weights.shape
        grouped = self.weights.reshape(self.groups, out // self.groups, rows, columns, inner)
        total = 0.0
        for row, column, part in _taps(
            _padded(x, self.padding), (rows, columns), self.stride, self.dilation
        ):
            weights = grouped[:, :, row, column]
            if self.groups == 1:
                total = total + part @ weights[0].T
                continue
            part = part.reshape(*part.shape[:3], self.groups, inner)
            product = (
                part * weights[:, :, 0]
                if inner == 1
                else (part[..., None, :] @ weights.transpose(0, 2, 1))[..., 0, :]
            )
            total = total + product.reshape(*part.shape[:3], out)
        return activate(self, total + (0.0 if self.bias is None else self.bias) + residual)

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        return result[0] * result[1] * self.weights.size


@dataclass(eq=False, kw_only=True)
class MaxPool(Node):
    """Max pooling over windows; ``padding`` (top, left, bottom, right) counts as minus infinity."""

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)

    def _shape(self, shape):
        rows, columns, channels = _map(shape)
        window = [(k - 1) * d + 1 for k, d in zip(self.window, self.dilation, strict=True)]
        return (*_windows((rows, columns), window, self.stride, self.padding), channels)

    def _run(self, x):
        x = _padded(x, self.padding, -np.inf)
        return np.max(
            [part for *_, part in _taps(x, self.window, self.stride, self.dilation)], axis=0
        )


@dataclass(eq=False, kw_only=True)
class AveragePool(Node):
    """Average pooling over windows; a global average has the map's own size. ``include_padding``:
    zeros of the padding count in the mean. ``bias`` [channels] is added to the mean: no model has
    one, the quantiser adds it."""

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    include_padding: bool = True
    bias: np.ndarray | None = None

    def _shape(self, shape):
        rows, columns, channels = _map(shape)
        return (*_windows((rows, columns), self.window, self.stride, self.padding), channels)

    def _run(self, x):
        def total(values):
            return sum(part for *_, part in _taps(values, self.window, self.stride, (1, 1)))

        count = np.prod(self.window)
        if not self.include_padding:
            count = total(_padded(np.ones((1, *x.shape[1:3], 1)), self.padding))
        mean = total(_padded(x, self.padding)) / count
        return mean if self.bias is None else mean + self.bias
