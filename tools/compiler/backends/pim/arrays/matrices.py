# SPDX-License-Identifier: BSD-2-Clause
"""Layers as matrices of the array: rows, columns and order of operands of each multiplication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ....graph import Conv
    from ....quantised import Integer

__all__ = [
    "MOST_ARRAYS",
    "MOST_ROWS",
    "Matrix",
    "demand",
    "dense_splits",
    "gathers",
    "matrices_of",
    "most_rows",
]

#: Rows and columns of a group, and arrays that it may be cut into.
MOST_ROWS = MOST_COLS = 1024
MOST_ARRAYS = 16


@dataclass(frozen=True, eq=False)
class Matrix:
    """One array multiplication, which computes ``wide`` positions at once.

    Attributes
    ----------
    kernel : int8 [rows of the window, columns, channels, outputs]; bias :
        int32 [outputs] or ``None``; shift : int
    first : first channel of the source that it takes
    out : first channel of the result
    stride : columns from one position to the next
    """

    kernel: np.ndarray
    bias: np.ndarray | None
    shift: int
    first: int
    out: int
    stride: int = 1
    wide: int = 1

    @property
    def count(self) -> int:
        """Number of source channels."""
        return self.kernel.shape[2]

    @property
    def outputs(self) -> int:
        """Number of outputs per multiplication."""
        return self.kernel.shape[3]

    @property
    def columns(self) -> int:
        """Source columns under the window of a multiplication, if they are contiguous."""
        return (self.wide - 1) * self.stride + self.kernel.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the group."""
        return self.kernel.shape[0] * self.columns * self.count, self.wide * self.outputs

    def arrays(self, params: Mapping[str, Any]) -> int:
        """Number of arrays that the matrix occupies."""
        rows, cols = self.shape
        return -(-rows // params["xb_rows"]) * -(-cols // params["xb_cols"])

    def cycles(self, params: Mapping[str, Any]) -> float:
        """Cycles of the matrix unit per position in continuous operation."""
        rows, cols = self.shape
        return (rows * -(-cols // params["lanes"]) + 4) / self.wide

    def group(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The matrix as a group: (weights int8 [rows, cols], bias int32 [cols] or ``None``), with
        the kernel repeated for every position."""
        kh, kw, channels, outputs = self.kernel.shape
        matrix = np.zeros((kh, self.columns, channels, self.wide, outputs), np.int8)
        for k in range(self.wide):
            matrix[:, k * self.stride : k * self.stride + kw, :, k] = self.kernel
        return matrix.reshape(self.shape), None if self.bias is None else np.tile(
            self.bias, self.wide
        )


def _together(node, params, cores):
    """Number of convolution groups that one matrix computes: products with zeros are free while
    they occupy idle lanes."""
    out, inner = node.weights.shape[0] // node.groups, node.weights.shape[3]
    taps = node.weights.shape[1] * node.weights.shape[2]
    # No more than leaves every core a share: then each holds, and works on, channels of its own.
    return max(
        1,
        min(
            -(-node.groups // cores),
            params["lanes"] // max(out, 1),
            most_rows(params) // max(taps * inner, 1),
        ),
    )


def most_rows(params: Mapping[str, Any]) -> int:
    """Greatest number of rows of one group."""
    return min(MOST_ROWS, min(MOST_ARRAYS, params["arrays"]) * params["xb_rows"])


def _cut_columns(rows, total, biased, params):
    """Output ranges (first, end) of matrices of ``rows`` rows: as few as fit the groups of one
    core, in whole arrays."""
    wide = params["xb_cols"]
    most = (
        min(
            MOST_COLS // wide,
            min(MOST_ARRAYS, params["arrays"]) // -(-rows // params["xb_rows"]),
            *([params["bias_words"] // wide] if biased else []),
        )
        * wide
    )
    # Where not even one array's outputs fit, the search for free arrays reports what is needed.
    step = -(-total // -(-total // most) // wide) * wide if 0 < most < total else total
    return [(first, min(first + step, total)) for first in range(0, total, step)]


def matrices_of(
    node: Conv, numbers: Integer, params: Mapping[str, Any], width: int, *, whole: bool = False
) -> list[Matrix]:
    """The :class:`Matrix` list of a convolution with its integer weights and bias (``Integer``) and
    ``width`` results per row; ``whole``: for a core that computes all channels, whose results are
    contiguous."""
    kernel, bias, shift = (
        numbers.weights.transpose(1, 2, 3, 0).astype(np.int8),
        numbers.bias,
        int(numbers.shift.flat[0]),
    )
    kh, kw, inner, total = kernel.shape
    found, each, together = (
        [],
        total // node.groups,
        _together(node, params, 1 if whole else params["cores"]),
    )
    for g in range(0, node.groups, together):
        count = min(together, node.groups - g)
        if count == 1:
            for first, end in _cut_columns(kh * kw * inner, each, bias is not None, params):
                a, b = g * each + first, g * each + end
                found.append(
                    Matrix(
                        kernel[..., a:b], _int32(bias, a, b), shift, g * inner, a, node.stride[1]
                    )
                )
            continue
        block = np.zeros((kh, kw, count, inner, count, each), np.int8)
        for k in range(count):
            block[:, :, k, :, k] = kernel[..., (g + k) * each : (g + k + 1) * each]
        found.append(
            Matrix(
                block.reshape(kh, kw, count * inner, count * each),
                _int32(bias, g * each, (g + count) * each),
                shift,
                g * inner,
                g * each,
                node.stride[1],
            )
        )
    if node.dilation[1] > 1 or (whole or node.groups == 1) and len(found) > 1:
        return found
    return [_widened(matrix, params, width) for matrix in found]


def _widened(matrix, params, width):
    """Widens matrices to several positions at once: the width with the fewest cycles that needs no
    further array. Lanes that would idle compute the next position."""
    options = [replace(matrix, wide=wide) for wide in range(1, min(width, 16) + 1)]
    options = [
        m
        for m in options
        if m.arrays(params) <= matrix.arrays(params)
        and max(m.shape) <= MOST_ROWS
        and m.wide * m.outputs <= max(params["bias_words"] // 8, m.outputs)
    ]
    return min(options, key=lambda m: (m.cycles(params), m.wide), default=matrix)


def demand(matrices: Sequence[Matrix], params: Mapping[str, Any]) -> tuple[int, int, int]:
    """Resources that ``matrices`` occupy on a core: (arrays, biases, groups)."""
    return (
        sum(m.arrays(params) for m in matrices),
        sum(m.shape[1] for m in matrices if m.bias is not None),
        len(matrices),
    )


def dense_splits(rows: int, cols: int, params: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Splits the rows of a dense layer into groups: pairs (first row, number of rows)."""
    wide = -(-cols // params["xb_cols"])
    step = min(MOST_ROWS, MOST_ARRAYS // wide * params["xb_rows"]) if wide <= MOST_ARRAYS else 0
    return [(k, min(step, rows - k)) for k in range(0, rows, step)] if step else []


def _int32(bias, a, b):
    return None if bias is None else np.ascontiguousarray(bias[a:b], np.int32)


def gathers(node: Conv, matrix: Matrix, alone: bool) -> list[tuple[int, int, int]]:
    """Contiguous runs of a window: ``(row, column, columns)`` of each; ``alone``: the memory
    between them holds no other channels."""
    kh = node.weights.shape[1]
    if alone and node.dilation[1] == 1:
        return [(r * node.dilation[0], 0, matrix.columns) for r in range(kh)]
    return [
        (r * node.dilation[0], c * node.dilation[1], 1)
        for r in range(kh)
        for c in range(matrix.columns)
    ]
