# SPDX-License-Identifier: BSD-2-Clause
"""Folding of kernel taps into channels (im2col): with few source channels, several taps fit the 16
channels that one tap multiplies anyway.

A layer of 3x3 taps on one channel becomes one of 1x1 on nine, on an input that holds each result's
neighbourhood: a ninth of the work. It applies to inputs, which the host lays out.
"""

import numpy as np

from ....gateware.cores.opu.types import SLOT
from ..inputs import KernelError

__all__ = ["fold_input", "fold_weights"]


def fold_input(
    values: np.ndarray,
    taps: tuple[int, int],
    *,
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> np.ndarray:
    """Rearranges an input so that each position's neighbourhood becomes its channels.

    Parameters
    ----------
    values : [images, height, width, channels]
    taps : (rows, columns) of the kernel that are folded: (1, columns) or all of it
    stride, padding : (rows, columns), (top, bottom, left, right) of the layer,
        in the folded directions; elsewhere 1 and 0

    Returns
    -------
    array [images, rows, columns, taps * channels], of the type of ``values``; channel (r * columns
    + c) * channels + k is channel k of tap [r, c]
    """
    values = np.asarray(values)
    if values.ndim != 4:
        raise KernelError(
            f"values must be [images, height, width, channels], not {list(values.shape)}"
        )
    if taps[0] * taps[1] * values.shape[3] > SLOT:
        raise KernelError(
            f"{taps[0]} x {taps[1]} taps of {values.shape[3]} channels do not fit {SLOT} channels"
        )
    top, bottom, left, right = padding
    padded = np.pad(values, ((0, 0), (top, bottom), (left, right), (0, 0)))
    rows, columns = ((padded.shape[1 + k] - taps[k]) // stride[k] + 1 for k in (0, 1))
    if rows < 1 or columns < 1:
        raise KernelError(
            f"{taps[0]} x {taps[1]} taps do not fit values of {values.shape[1]} x {values.shape[2]}"
        )
    return np.concatenate(
        [
            padded[
                :,
                r : r + (rows - 1) * stride[0] + 1 : stride[0],
                c : c + (columns - 1) * stride[1] + 1 : stride[1],
            ]
            for r in range(taps[0])
            for c in range(taps[1])
        ],
        axis=3,
    )


def fold_weights(weights: np.ndarray, *, rows: bool = True) -> np.ndarray:
    """Rearranges weights [out, in, rows, columns] for such an input: [out, rows * columns * in, 1,
    1], or with ``rows`` false only the columns are folded, [out, columns * in, rows, 1]."""
    weights = np.asarray(weights)
    out, channels, high, wide = weights.shape
    if rows:
        return weights.transpose(0, 2, 3, 1).reshape(out, high * wide * channels, 1, 1)
    return weights.transpose(0, 3, 1, 2).reshape(out, wide * channels, high, 1)
