# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that multiply and add: products of matrices, two tensors elementwise, scale and shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from .node import Activation, Node, Shape, activate, check_channels

__all__ = ["Affine", "Binary", "Dense", "MatMul"]

_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}


def _aligned(values):
    """Aligns operands for numpy's broadcasting over the graph's axes: inserts axes of one length
    after the batch axis."""
    axes = max(value.ndim for value in values)
    return [
        value.reshape(value.shape[0], *(1,) * (axes - value.ndim), *value.shape[1:])
        for value in values
    ]


@dataclass(eq=False, kw_only=True)
class Dense(Node):
    """Fully connected layer: ``weights`` float64 [out, in], ``bias`` [out] or ``None``; a map is
    flattened in the order rows, columns, channels. ``activation``, ``weight_scale`` and ``floor``
    as in :class:`~.windows.Conv`. With ``steps`` it applies to every step of a sequence
    separately."""

    weights: np.ndarray
    bias: np.ndarray | None = None
    activation: Activation | None = None
    steps: bool = False
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None

    def _shape(self, shape):
        out, features = self.weights.shape
        given = shape[-1] if self.steps else prod(shape)
        if given != features:
            raise ValueError(f"weights for {features} features, the tensor has {given}")
        if self.bias is not None and self.bias.shape != (out,):
            raise ValueError(f"bias of shape {self.bias.shape} for {out} features")
        return (*shape[:-1], out) if self.steps else (out,)

    def _run(self, x):
        x = x if self.steps else x.reshape(len(x), -1)
        return activate(self, x @ self.weights.T + (0.0 if self.bias is None else self.bias))

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        return self.weights.size * (result[0] if self.steps else 1)


@dataclass(eq=False, kw_only=True)
class MatMul(Node):
    """Matrix product of two activations over their last two axes, broadcast by numpy's rules.
    ``turned``: the last two axes of the second operand are swapped first; only a back end's own
    pass sets it."""

    turned: bool = False

    def _shape(self, first, second):
        if not first or not second:
            raise ValueError("a product of matrices wants operands of one axis at least")
        if self.turned:
            second = (*second[:-2], *second[-2:][::-1])
        rows = first if len(first) > 1 else (1, *first)
        columns = second if len(second) > 1 else (*second, 1)
        if rows[-1] != columns[-2]:
            raise ValueError(f"matrices of {tuple(first)} and {tuple(second)}")
        return (
            *np.broadcast_shapes(rows[:-2], columns[:-2]),
            *rows[-2:-1][: len(first) - 1],
            *columns[-1:][: len(second) - 1],
        )

    def _run(self, first, second):
        second = second.swapaxes(-1, -2) if self.turned else second
        row, column = first.ndim == 2, second.ndim == 2
        result = np.matmul(
            *_aligned([first[:, None] if row else first, second[..., None] if column else second])
        )
        if column:
            result = result[..., 0]
        return result[..., 0, :] if row and not column else result[..., 0] if row else result

    def macs(self, shapes: Sequence[Shape], result: Shape) -> int:
        return prod(result) * shapes[0][-1]


@dataclass(eq=False, kw_only=True)
class Binary(Node):
    """Elementwise ``function`` (add, sub, mul or div) of two tensors, broadcast by numpy's rules
    over the graph's axes; either may be a constant. ``activation`` as in
    :class:`~.windows.Conv`."""

    function: str
    activation: Activation | None = None

    def _shape(self, first, second):
        return np.broadcast_shapes(first, second)

    def _run(self, first, second):
        return activate(self, _BINARY[self.function](*_aligned([first, second])))


@dataclass(eq=False, kw_only=True)
class Affine(Node):
    """Scale and shift per channel, ``scale`` * x + ``shift``: a batch normalisation that could not
    be folded into a convolution. ``activation`` as in :class:`~.windows.Conv`."""

    scale: np.ndarray
    shift: np.ndarray
    activation: Activation | None = None

    def _shape(self, shape):
        check_channels(self, shape)
        return shape

    def _run(self, x):
        return activate(self, self.scale * x + self.shift)
