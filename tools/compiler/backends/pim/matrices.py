# SPDX-License-Identifier: BSD-2-Clause
"""Layers as matrices: what one multiplication takes in, in which order, and what it gives."""
from dataclasses import dataclass

import numpy as np

from ...graph import Conv

__all__ = ["MOST_ROWS", "Matrix", "dense_pieces", "matrices_of"]

#: Rows and columns of a group, and arrays that it may be cut into.
MOST_ROWS = MOST_COLS = 1024
_MOST_ARRAYS = 16


@dataclass(frozen=True)
class Matrix:
    """One multiplication a position.

    Attributes
    ----------
    weights : int8 [rows, cols]; bias : int32 [cols] or ``None``; shift : int
    first, count : channels of the source that it takes
    out : first channel of the result
    """
    weights: np.ndarray
    bias: np.ndarray | None
    shift: int
    first: int
    count: int
    out: int

    def arrays(self, params):
        rows, cols = self.weights.shape
        return -(-rows // params["xb_rows"]) * -(-cols // params["xb_cols"])

    def cycles(self, params):
        """Of the matrix unit, back to back."""
        return self.weights.shape[0] * -(-self.weights.shape[1] // params["lanes"]) + 4


def _together(node, params):
    """Groups of a convolution that one matrix takes: products with zeros cost nothing while they fill lanes that idle."""
    out, inner = node.weights.shape[0] // node.groups, node.weights.shape[3]
    taps = node.weights.shape[1] * node.weights.shape[2]
    return max(1, min(node.groups, params["lanes"] // max(out, 1), MOST_ROWS // max(taps * inner, 1)))


def matrices_of(node, numbers, params):
    """The :class:`Matrix` list of a convolution with its whole-number weights and bias (``Integer``)."""
    weights, bias, shift = numbers.weights, numbers.bias, int(numbers.shift.flat[0])
    total, kh, kw, inner = weights.shape
    if node.groups == 1:
        outs = min(total, MOST_COLS)
        return [Matrix(_int8(weights[a:a + outs].reshape(-1, kh * kw * inner).T), _int32(bias, a, a + outs), shift, 0, inner, a)
                for a in range(0, total, outs)]
    each, found, together = total // node.groups, [], _together(node, params)
    for g in range(0, node.groups, together):
        count = min(together, node.groups - g)
        matrix = np.zeros((kh * kw, count, inner, count, each), np.int8)
        for k in range(count):
            own = weights[(g + k) * each:(g + k + 1) * each]
            matrix[:, k, :, k, :] = own.reshape(each, kh * kw, inner).transpose(1, 2, 0)
        found.append(Matrix(matrix.reshape(kh * kw * count * inner, count * each), _int32(bias, g * each, (g + count) * each), shift,
                            g * inner, count * inner, g * each))
    return found


def dense_pieces(rows, cols, params):
    """First rows of the groups that a dense layer's rows are cut into, and rows of one."""
    wide = -(-cols // params["xb_cols"])
    step = min(MOST_ROWS, _MOST_ARRAYS // wide * params["xb_rows"]) if wide <= _MOST_ARRAYS else 0
    return step and [(k, min(step, rows - k)) for k in range(0, rows, step)]


def _int8(values):
    return np.ascontiguousarray(values, np.int8)


def _int32(bias, a, b):
    return None if bias is None else np.ascontiguousarray(bias[a:b], np.int32)


def gathers(node):
    """Pieces of a neighbourhood that lie together, for one matrix: ``(row, column, columns)`` of each."""
    kh, kw = node.weights.shape[1:3]
    whole = node.groups == 1 and node.dilation[1] == 1
    if whole:
        return [(r * node.dilation[0], 0, kw) for r in range(kh)]
    return [(r * node.dilation[0], c * node.dilation[1], 1) for r in range(kh) for c in range(kw)]


def is_conv(node):
    return isinstance(node, Conv)
