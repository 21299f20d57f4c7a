# SPDX-License-Identifier: BSD-2-Clause
"""The digits CNN in floating point: 3x3 1->16, ReLU, 2x2 max-pool; 3x3 16->32, ReLU, 2x2 max-pool;
128->64, ReLU; 64->10."""

from collections.abc import Mapping

import numpy as np

__all__ = ["LAYERS", "as_matrix", "forward"]

#: name -> shape of the weights, convolutions [out, in, rows, columns], the others [out, in].
LAYERS = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "dense1": (64, 128), "dense2": (10, 64)}


def _patches(values):
    """[images, h, w, c] -> [images, h, w, 9 * c]: 3x3 neighbourhoods, zeros outside; order row,
    column, channel."""
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, w = values.shape[1:3]
    return np.concatenate(
        [padded[:, r : r + h, c : c + w] for r in range(3) for c in range(3)], axis=3
    )


def as_matrix(weights: np.ndarray) -> np.ndarray:
    """Weights as the matrix that rows of inputs are multiplied by."""
    return (
        weights.transpose(2, 3, 1, 0).reshape(-1, weights.shape[0])
        if weights.ndim == 4
        else weights.T
    )


def _pool(values):
    n, h, w, c = values.shape
    return values.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def forward(
    model: Mapping[str, tuple[np.ndarray, np.ndarray]], images: np.ndarray
) -> dict[str, np.ndarray]:
    """Values of every layer, in float; ``images`` [count, 8, 8, 1] from 0 to 1. ``model``: name ->
    (weights, bias)."""
    found = {"image": images}
    x = images
    for name in LAYERS:
        weights, bias = model[name]
        if weights.ndim == 4:
            x = _patches(x)
        elif x.ndim == 4:
            x = x.reshape(len(x), -1)
        found[name + ".in"] = x
        x = x @ as_matrix(weights) + bias
        if name != "dense2":
            x = np.maximum(x, 0)
        found[name] = x
        if weights.ndim == 4:
            x = _pool(x)
            found[name + ".pooled"] = x
    return found
