# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that reduce an axis, or normalise along it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .node import Node, check_channels

__all__ = ["INDEX_FUNCTIONS", "LayerNorm", "Reduce", "Softmax", "TopK"]

#: Reductions that give the index of the greatest or least element along one axis: of equal ones
#: the first, or the last.
INDEX_FUNCTIONS = frozenset(("argmax", "argmin", "argmax_last", "argmin_last"))


_REDUCE: dict[str, Callable[..., np.ndarray]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "prod": np.prod,
}


def _index(node, x, axis):
    """Index of the greatest or least element along one axis."""
    x = -x if node.function.startswith("argmin") else x
    if not node.function.endswith("_last"):
        return np.argmax(x, axis=axis, keepdims=node.keep).astype(np.float64)
    behind = np.argmax(np.flip(x, axis), axis=axis, keepdims=node.keep)
    return (x.shape[axis] - 1 - behind).astype(np.float64)


def _axis(node, shape):
    """The axis of a node, counted from the first one of ``shape``."""
    if not -len(shape) <= node.axis < len(shape):
        raise ValueError(f"axis {node.axis} of a tensor of {len(shape)} axes")
    return node.axis % len(shape)


@dataclass(eq=False, kw_only=True)
class Reduce(Node):
    """Reduction over ``axes`` of the graph's tensor: ``function`` is mean, sum, max (over axes that
    no pooling layer covers) or prod, or a member of :data:`INDEX_FUNCTIONS` along a single axis."""

    function: str
    axes: tuple[int, ...]
    keep: bool = False

    def _shape(self, shape):
        axes = {axis % len(shape) for axis in self.axes}
        return tuple(
            1 if axis in axes else length
            for axis, length in enumerate(shape)
            if self.keep or axis not in axes
        )

    def _run(self, x):
        axes = tuple(1 + axis % (x.ndim - 1) for axis in self.axes)
        if self.function in INDEX_FUNCTIONS:
            return _index(self, x, axes[0])
        return _REDUCE[self.function](x, axis=axes, keepdims=self.keep)


@dataclass(eq=False, kw_only=True)
class TopK(Node):
    """The ``count`` greatest elements along ``axis`` of the graph's tensor, the greatest first
    (``largest`` false: the least first); of equal ones the first. ``indices``: their indices."""

    axis: int
    count: int
    largest: bool = True
    indices: bool = False

    def _shape(self, shape):
        axis = _axis(self, shape)
        if not 1 <= self.count <= shape[axis]:
            raise ValueError(f"{self.count} of an axis of {shape[axis]}")
        return (*shape[:axis], self.count, *shape[axis + 1 :])

    def _run(self, x):
        axis = 1 + self.axis % (x.ndim - 1)
        order = np.argsort(-x if self.largest else x, axis=axis, kind="stable")
        order = np.take(order, range(self.count), axis=axis)
        return order.astype(np.float64) if self.indices else np.take_along_axis(x, order, axis)


@dataclass(eq=False, kw_only=True)
class Softmax(Node):
    """Softmax over ``axis`` of the graph's tensor, exp(x) / sum(exp(x)); ``log``: its logarithm."""

    axis: int = -1
    log: bool = False

    def _shape(self, shape):
        _axis(self, shape)
        return shape

    def _run(self, x):
        axis = 1 + self.axis % (x.ndim - 1)
        below = x - x.max(axis=axis, keepdims=True)
        total = np.exp(below).sum(axis=axis, keepdims=True)
        return below - np.log(total) if self.log else np.exp(below) / total


@dataclass(eq=False, kw_only=True)
class LayerNorm(Node):
    """Layer normalisation, (x - mean) / sqrt(variance + ``epsilon``) * ``scale`` + ``shift``, over
    the last axis of the graph's tensor."""

    scale: np.ndarray
    shift: np.ndarray
    epsilon: float = 1e-5

    def _shape(self, shape):
        check_channels(self, shape)
        return shape

    def _run(self, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return (
            centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon) * self.scale
            + self.shift
        )
