# SPDX-License-Identifier: BSD-2-Clause
"""Integer numpy reference of networks."""

from typing import Any

import numpy as np

from ..inputs import integers
from .network import Conv, Dense, Network, Pool

__all__ = ["run_layer", "run_network"]


def _finish(sums, layer):
    if layer.bias is not None:
        sums = sums + layer.bias
    shift = int(layer.shift)
    if shift:
        sums = sums + (1 << shift - 1) >> shift
    if layer.relu:
        sums = np.maximum(sums, 0)
    return np.clip(sums, -(1 << layer.bits - 1), (1 << layer.bits - 1) - 1)


def run_layer(layer: Dense | Conv | Pool, values: np.ndarray) -> np.ndarray:
    """Computes one layer on int64 [images, ...]."""
    if isinstance(layer, Dense):
        return _finish(values.reshape(len(values), -1) @ layer.weights.astype(np.int64), layer)
    if isinstance(layer, Conv):
        (top, left, bottom, right), (kh, kw, _, out) = layer.pads, layer.weights.shape
        padded = np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)))
        h, w, _ = layer.shape(values.shape[1:])
        (down, across), (sparse, wide) = layer.strides, layer.dilations
        sums = np.zeros((len(values), h, w, out), np.int64)
        for r in range(kh):
            for c in range(kw):
                rows = slice(r * sparse, r * sparse + (h - 1) * down + 1, down)
                columns = slice(c * wide, c * wide + (w - 1) * across + 1, across)
                sums += padded[:, rows, columns] @ layer.weights[r, c].astype(np.int64)
        return _finish(sums, layer)
    n, h, w, c = values.shape
    return values.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def run_network(network: Network, values: Any) -> np.ndarray:
    """Computes a network on ``values`` [images, ...], integers of -128 to 127; int64 [images,
    outputs...].

    Raises
    ------
    KernelError
        Values of another kind, range or shape.
    """
    values = integers("inputs", values, ("images", *network.shapes[0]), 8, floats=False)
    for layer in network.layers:
        values = run_layer(layer, values)
    return values
