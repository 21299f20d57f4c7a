# SPDX-License-Identifier: BSD-2-Clause
"""Integer parameters of OpenTPU's layers: factors of additions and averages, shifts of blocks, clip
bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph import Activation, AveragePool, Binary, Conv, Dense, MatMul, MaxPool, Node
from ...quantised import Arithmetic, Integer, Quantised
from .form import bias_tile_limit

__all__ = [
    "BIAS_BITS",
    "LEAKY_SHIFT",
    "WiredNorm",
    "arithmetic",
    "clip_limit",
    "factors",
    "integer_bias",
    "leaky_factor",
    "least_bias",
    "window_factor",
    "wired_norm",
]

#: Biases are products too: a tile adds up to 127 * 127 * (n - 1), and more take more tiles.
BIAS_BITS = 24

#: A leaky relu is made of 64ths.
LEAKY_SHIFT = 6


@dataclass(frozen=True)
class WiredNorm:
    """Normalisation of sums that a build without ``ext_norm`` has wired in, the same in every
    layer.

    Attributes
    ----------
    shift : right shift of every sum
    rounds : whether the shift rounds to the nearest, else toward minus infinity
    mode : 0: the low byte is the result, it wraps; 1: saturates to int8; 2: to uint8
    """

    shift: int
    rounds: bool
    mode: int


def wired_norm(params: Mapping[str, Any]) -> WiredNorm | None:
    """The :class:`WiredNorm` of a build; ``None`` if it has ``ext_norm``."""
    if params["ext_norm"]:
        return None
    word = params["norm_reset"]
    return WiredNorm(shift=word & 0x1F, rounds=bool(word & 0x100), mode=word >> 16)


def arithmetic(node: Node, params: Mapping[str, Any]) -> Arithmetic:
    """The :class:`~quintet.tools.compiler.quantised.Arithmetic` of a node of a legalised graph."""
    n, norm = params["n"], wired_norm(params)
    if isinstance(node, Conv | Dense) and norm is not None:
        return Arithmetic(
            bias_bits=BIAS_BITS,
            bias_tile=bias_tile_limit(n),
            shifts=(norm.shift, norm.shift),
            wraps=norm.mode == 0,
        )
    if isinstance(node, Conv | Dense):
        return Arithmetic(
            bias_bits=BIAS_BITS, bias_tile=bias_tile_limit(n), shift_group=n, clips=True
        )
    if isinstance(node, Binary | AveragePool):
        return Arithmetic(clips=True)
    if isinstance(node, MatMul):
        return Arithmetic(weight_bits=None)
    # The larger of two numbers takes two steps more where they may be negative.
    positive = isinstance(node, MaxPool) and not params["ext_pool"]
    return Arithmetic(
        weight_bits=None, shifts=(0, 0), same_scale=True, clips=True, favours_positive=positive
    )


def _nearest(ratios):
    """Approximates real ``ratios`` by integers up to 127 with a common right shift."""
    shift = int(np.clip(np.floor(np.log2(127 / max(ratios))), 0, 31))
    return [min(127, int(np.rint(ratio * 2.0**shift))) for ratio in ratios], shift


def factors(quantised: Quantised, node: Binary) -> tuple[tuple[int, int], int]:
    """Integer factors of an addition: ((factor of each operand), shift), the quantiser's or derived
    from the tensors' scales."""
    integer = quantised.layers.get(node.name)
    if integer is None:
        out = quantised.scales[node.output].step
        (first, second), shift = _nearest(
            [quantised.scales[name].step / out for name in node.inputs]
        )
    else:
        first, second = (int(w) for w in np.ravel(integer.weights))
        shift = int(np.ravel(integer.shift)[0])
    return (first, -second if node.function == "sub" else second), shift


def window_factor(quantised: Quantised, node: AveragePool) -> tuple[int, int]:
    """Integer factor of an average: (factor, shift); the window's sum is multiplied by the factor
    and shifted right."""
    integer = quantised.layers.get(node.name)
    if integer is not None:
        return int(np.ravel(integer.weights)[0]), int(np.ravel(integer.shift)[0])
    size, scales = node.window[0] * node.window[1], quantised.scales
    (factor,), shift = _nearest([scales[node.inputs[0]].step / scales[node.output].step / size])
    return factor, shift


def clip_limit(quantised: Quantised, node: Node, activation: Activation) -> int:
    """Upper bound of a clip, 127 if saturation suffices."""
    limit = activation.high / quantised.scales[node.output].step
    return 127 if limit >= 127 else int(np.rint(limit))


def leaky_factor(activation: Activation) -> int:
    """Slope of a leaky ReLU for negative numbers, in units of 1/64."""
    return int(np.rint(activation.alpha * (1 << LEAKY_SHIFT)))


def integer_bias(integer: Integer) -> np.ndarray | None:
    """Bias of a layer at the scale of the products, int64 [out], or ``None``."""
    return None if integer.bias is None else integer.bias.astype(np.int64) << integer.bias_shift


def least_bias(integer: Integer, *, relu: bool, positive: bool) -> np.ndarray | None:
    """The smallest bias that gives the same results: int64 [out] at the scale of the products, or
    ``None``.

    A channel whose sums are saturated whatever it reads, as channels that a relu keeps at zero are,
    needs no more than what saturates them.

    Parameters
    ----------
    integer : Integer of a convolution or dense layer
    relu : bool, what follows
    positive : bool, the source has no negative numbers
    """
    bias = integer_bias(integer)
    if bias is None:
        return None
    weights = integer.weights.reshape(len(integer.weights), -1)
    above, below = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    low = 0 if positive else -128
    highest, lowest = 127 * above + low * below, 127 * below + low * above
    shift = np.broadcast_to(np.ravel(integer.shift), bias.shape).astype(np.int64)
    unit, half = (
        np.int64(1) << shift,
        np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0),
    )
    zero = (0 if relu else -128) * unit + unit - 1 - half  # up to here a sum gives the least number
    most = 127 * unit - half  # from here on the greatest
    held = (np.abs(bias) + np.maximum(highest, -lowest) < 1 << 31) & (
        np.abs(zero) + np.abs(most) + highest - lowest < 1 << 31
    )
    return np.where(
        held, np.clip(bias, np.minimum(zero - highest, 0), np.maximum(most - lowest, 0)), bias
    )
