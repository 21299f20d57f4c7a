# SPDX-License-Identifier: BSD-2-Clause
"""A network with the layer shapes of ResNet-20 and random weights, for measuring the core: 3x3
3->16 at 32x32, three stages of three residual blocks (16, 32, 64 channels; 32, 16, 8 pixels), 1x1
shortcuts of stride 2 between stages, 8x8 average, 64->10."""

from typing import Any

import numpy as np

from ....tools.compiler.backends.opu.layers import Network

__all__ = ["CLASSES", "image", "resnet20"]

CLASSES = 10
_STAGES = ((16, 1), (32, 2), (64, 2))
_BLOCKS = 3


class _Random:
    """Random weights and biases that keep the values of every layer in range, neither zero nor
    saturated."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def weights(self, out, channels, side):
        # Values of 7 fraction bits with the variance that ReLU networks are started with.
        spread = np.sqrt(2 / (channels * side * side))
        return np.clip(
            np.rint(self.rng.normal(0, spread, (out, channels, side, side)) * 128), -127, 127
        ).astype(np.int8)

    def bias(self, out):
        return self.rng.integers(-2000, 2001, out).astype(np.int16)


def resnet20(
    *, seed: int = 5, by_tap: bool = False, fold: bool = False, types: str = "8-8-16-16"
) -> Network:
    """Builds the network with random weights.

    Parameters
    ----------
    seed : int, of the weights
    by_tap : bool, residuals are added as a tap (see ``Network.conv``) instead of by ``store``
    fold : bool, the columns of the first layer's taps are folded into channels: each position's
        channels are those of its neighbours, a third of the layer's work; the multiplications on
        real channels stay the same
    types : str, type set

    Returns
    -------
    Network with input ``image`` (32, 32, 3), or (32, 32, 9) with ``fold``, and result ``classes``
    (1, 1, 10)
    """
    make = _Random(seed)
    network = Network(types=types)
    x = network.input("image", (32, 32, 9 if fold else 3))
    scales: dict[str, Any] = {"shift": 7, "bias_shift": -1}

    def conv(name, source, out, side, stride=1, **more):
        return network.conv(
            name,
            source,
            make.weights(out, source.channels, side),
            bias=make.bias(out),
            stride=(stride, stride),
            padding=(side // 2,) * 4,
            **scales,
            **more,
        )

    if fold:
        first, bias = make.weights(16, 3, 3), make.bias(16)
        # [out, in, rows, columns] -> [out, columns * in, rows, 1].
        folded = first.transpose(0, 3, 1, 2).reshape(16, 9, 3, 1)
        x = network.conv("first", x, folded, bias=bias, padding=(1, 1, 0, 0), act="relu", **scales)
    else:
        x = conv("first", x, 16, 3, act="relu")
    for stage, (channels, stride) in enumerate(_STAGES, 1):
        for block in range(1, _BLOCKS + 1):
            name = f"stage{stage}.{block}"
            step = stride if block == 1 else 1
            middle = conv(f"{name}.a", x, channels, 3, step, act="relu")
            kept = conv(f"{name}.shortcut", x, channels, 1, step) if step > 1 else x
            x = conv(f"{name}.b", middle, channels, 3, act="relu", residual=kept, by_tap=by_tap)
    x = network.conv("average", x, None, taps=(8, 8), identity=1, shift=5)
    network.conv("classes", x, make.weights(CLASSES, 64, 1), bias=make.bias(CLASSES), shift=9)
    return network


def image(seed: int = 6, *, fold: bool = False) -> np.ndarray:
    """A random image, int8 [1, 32, 32, 3], or in the layout of the space-to-depth network, [1, 32,
    32, 9]."""
    values = np.random.default_rng(seed).integers(-100, 101, (1, 32, 32, 3)).astype(np.int8)
    if not fold:
        return values
    padded = np.pad(values, ((0, 0), (0, 0), (1, 1), (0, 0)))
    return np.concatenate([padded[:, :, column : column + 32] for column in range(3)], axis=3)
