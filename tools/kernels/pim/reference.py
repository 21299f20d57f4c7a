# SPDX-License-Identifier: BSD-2-Clause
"""What a network must give, in plain numpy integers."""
import numpy as np

from .network import Conv, Dense

__all__ = ["run_layer", "run_network"]


def _finish(sums, layer):
    if layer.bias is not None:
        sums = sums + layer.bias
    if layer.shift:
        sums = sums + (1 << layer.shift - 1) >> layer.shift
    if layer.relu:
        sums = np.maximum(sums, 0)
    return np.clip(sums, -(1 << layer.bits - 1), (1 << layer.bits - 1) - 1)


def run_layer(layer, values):
    """Values int64 [images, ...] behind one layer."""
    if isinstance(layer, Dense):
        return _finish(values.reshape(len(values), -1) @ layer.weights.astype(np.int64), layer)
    if isinstance(layer, Conv):
        p, (kh, kw, _, out) = layer.padding, layer.weights.shape
        padded = np.pad(values, ((0, 0), (p, p), (p, p), (0, 0)))
        h, w = padded.shape[1] - kh + 1, padded.shape[2] - kw + 1
        sums = np.zeros((len(values), h, w, out), np.int64)
        for r in range(kh):
            for c in range(kw):
                sums += padded[:, r:r + h, c:c + w] @ layer.weights[r, c].astype(np.int64)
        return _finish(sums, layer)
    n, h, w, c = values.shape
    return values.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def run_network(network, values):
    """Results of int8 ``values`` [images, ...]; int64 [images, outputs...]."""
    values = np.asarray(values).astype(np.int64).reshape(-1, *network.shapes[0])
    for layer in network.layers:
        values = run_layer(layer, values)
    return values
