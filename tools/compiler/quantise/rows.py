# SPDX-License-Identifier: BSD-2-Clause
"""Layers with weights as matrices: one row per output channel, in groups that read the same
channels."""

from dataclasses import replace
from math import ceil

import numpy as np

from ..graph import Affine, Conv, Dense, Node

__all__ = ["neighbourhoods", "of_rows", "rows_of", "weighted", "with_weights"]

#: Positions whose neighbourhoods are kept of a layer, and elements of them all together.
POSITIONS, ELEMENTS = 1 << 13, 1 << 22


def weighted(node: Node) -> bool:
    """Whether the node has weights that multiply an activation, and a bias."""
    return isinstance(node, Affine | Conv | Dense)


def rows_of(node: Conv | Dense | Affine) -> np.ndarray:
    """Weights of a layer as rows, float64 [groups, out / groups, products]."""
    if isinstance(node, Conv):
        return node.weights.reshape(node.groups, len(node.weights) // node.groups, -1)
    return node.weights[None] if isinstance(node, Dense) else node.scale.reshape(-1, 1, 1)


def of_rows(node: Conv | Dense | Affine, rows: np.ndarray) -> np.ndarray:
    """Reshapes ``rows`` to the shape of the node's weights, the inverse of :func:`rows_of`."""
    return rows.reshape((node.scale if isinstance(node, Affine) else node.weights).shape)


def with_weights(
    node: Conv | Dense | Affine, weights: np.ndarray, bias: np.ndarray | None
) -> Conv | Dense | Affine:
    """A copy of the node with other weights and bias."""
    if isinstance(node, Affine):
        assert bias is not None
        return replace(node, scale=weights, shift=bias)
    return replace(node, weights=weights, bias=bias)


def _maps(node, values, random):
    """Random windows of a convolution's source: [positions, rows, columns, channels]."""
    high, wide = node.weights.shape[1:3]
    inputs, rows, columns, channels = values.shape
    top, left, bottom, right = node.padding
    size = [
        (length + before + after - effective_size) // step + 1
        for length, before, after, effective_size, step in zip(
            (rows, columns), (top, left), (bottom, right), node.window, node.stride, strict=True
        )
    ]
    total = inputs * size[0] * size[1]
    kept = min(total, POSITIONS, ceil(ELEMENTS / (high * wide * channels)))
    at = np.arange(total) if kept == total else random.choice(total, kept, replace=False)
    n, y, x = np.unravel_index(at, (inputs, *size))
    down = y[:, None] * node.stride[0] + np.arange(high) * node.dilation[0] - top
    across = x[:, None] * node.stride[1] + np.arange(wide) * node.dilation[1] - left
    inside = ((down >= 0) & (down < rows))[:, :, None] & ((across >= 0) & (across < columns))[
        :, None
    ]
    found = values[
        n[:, None, None],
        np.clip(down, 0, rows - 1)[:, :, None],
        np.clip(across, 0, columns - 1)[:, None],
    ]
    return np.where(inside[..., None], found, 0)


def neighbourhoods(
    node: Conv | Dense | Affine, values: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Random samples of a layer's im2col rows: float64 [groups, positions, products], in the order
    of :func:`rows_of`.

    Parameters
    ----------
    values : [inputs, ...], the layer's source
    random : numpy Generator
    """
    if isinstance(node, Conv):
        seen = _maps(node, values, random)
        count, groups = len(seen), node.groups
        return (
            seen.reshape(count, -1, groups, seen.shape[3] // groups)
            .transpose(2, 0, 1, 3)
            .reshape(groups, count, -1)
        )
    flat = (
        values.reshape(-1, values.shape[-1])
        if isinstance(node, Affine) or node.steps
        else values.reshape(len(values), -1)
    )
    kept = min(len(flat), POSITIONS, ceil(ELEMENTS / flat.shape[1]))
    if kept < len(flat):
        flat = flat[random.choice(len(flat), kept, replace=False)]
    return flat.T[:, :, None] if isinstance(node, Affine) else flat[None]
