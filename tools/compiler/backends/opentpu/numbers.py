# SPDX-License-Identifier: BSD-2-Clause
"""Whole numbers of OpenTPU's layers: factors of additions and averages, shifts of blocks, limits of clips."""
import numpy as np

from ...graph import AveragePool, Binary, Conv, Dense
from ...quantised import Arithmetic

__all__ = ["BIAS_BITS", "LEAKY_SHIFT", "arithmetic", "clip_limit", "factors", "leaky_factor", "window_factor"]

#: Biases are products too: a tile adds up to 127 * 127 * (n - 1), and more take more tiles.
BIAS_BITS = 24

#: A leaky relu is made of 64ths.
LEAKY_SHIFT = 6


def arithmetic(node, n):
    """:class:`~quintet.tools.compiler.quantised.Arithmetic` of a node of a prepared graph."""
    if isinstance(node, Conv | Dense):
        return Arithmetic(bias_bits=BIAS_BITS, shift_group=n)
    if isinstance(node, Binary | AveragePool):
        return Arithmetic()
    return Arithmetic(weight_bits=None, shifts=(0, 0), same_scale=True)


def _nearest(ratios):
    """Whole numbers up to 127 and the shift with which they are nearest to real ``ratios``."""
    shift = int(np.clip(np.floor(np.log2(127 / max(ratios))), 0, 31))
    return [min(127, int(np.rint(ratio * 2.0 ** shift))) for ratio in ratios], shift


def factors(quantised, node):
    """(factors of an addition's operands, shift): the quantiser's, or those that the tensors' scales ask for."""
    integer = quantised.layers.get(node.name)
    if integer is None:
        out = quantised.scales[node.output].step
        (first, second), shift = _nearest([quantised.scales[name].step / out for name in node.inputs])
    else:
        first, second = (int(w) for w in np.ravel(integer.weights))
        shift = int(np.ravel(integer.shift)[0])
    return (first, -second if node.function == "sub" else second), shift


def window_factor(quantised, node):
    """(factor, shift) of an average: the sum of the window times the factor, shifted."""
    integer = quantised.layers.get(node.name)
    if integer is not None:
        return int(np.ravel(integer.weights)[0]), int(np.ravel(integer.shift)[0])
    size, scales = node.window[0] * node.window[1], quantised.scales
    (factor,), shift = _nearest([scales[node.inputs[0]].step / scales[node.output].step / size])
    return factor, shift


def clip_limit(quantised, node, activation):
    """Greatest number of a clip's result, 127 where saturation does it."""
    limit = activation.high / quantised.scales[node.output].step
    return 127 if limit >= 127 else int(np.rint(limit))


def leaky_factor(activation):
    """Slope for negative numbers in 64ths."""
    return int(np.rint(activation.alpha * (1 << LEAKY_SHIFT)))
