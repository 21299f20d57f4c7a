# SPDX-License-Identifier: BSD-2-Clause
"""Conversion of drawings and images from the page to inputs of a network."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import FileError, load_array
from quintet.tools.errors import InputError

__all__ = ["digit", "image_shape", "image_values", "npy_values", "probabilities"]

#: Rows and columns of a digit of the data set, and of the bitmap that its pixels count.
_SIDE, _CELL = 8, 4


def digit(ink: np.ndarray) -> np.ndarray:
    """Converts a drawing, uint8 [rows, columns] with 0 for paper and 255 for ink, to pixels 0 to
    16, float64 [64].

    As the data set was made: the drawing is cut out, scaled to the height of a bitmap of 32 x 32,
    set in its middle, and every pixel counts the ink of 4 x 4 cells.
    """
    ink = np.asarray(ink, np.float64) / 255
    rows, columns = np.flatnonzero(ink.max(1) > 0.2), np.flatnonzero(ink.max(0) > 0.2)
    if not rows.size:
        raise InputError("the drawing is empty")
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    size = _SIDE * _CELL
    scale = size / max(cut.shape)
    height, width = (max(1, round(scale * side)) for side in cut.shape)
    bitmap = np.zeros((size, size))
    top, left = (size - height) // 2, (size - width) // 2
    bitmap[top : top + height, left : left + width] = _resized(cut, height, width)
    cells = bitmap.reshape(_SIDE, _CELL, _SIDE, _CELL).sum((1, 3))
    return np.rint(cells).reshape(-1)


def _weights(length, wanted):
    """Area-averaging weights [wanted, length]: the share of each of ``length`` cells in each of
    ``wanted`` equal cells; rows sum to 1."""
    edges = np.linspace(0, length, wanted + 1)
    cells = np.arange(length)
    part = np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells)
    part = np.maximum(part, 0)
    return part / part.sum(1, keepdims=True)


def _resized(picture, height, width):
    """Resizes ``picture`` by area averaging."""
    return _weights(picture.shape[0], height) @ picture @ _weights(picture.shape[1], width).T


def image_shape(shape: Sequence[int]) -> tuple[int, int, int, bool] | None:
    """Interprets an input of ``shape`` as an image: (height, width, channels, channels first), or
    ``None``.

    A plane [height, width], three axes with 1 or 3 channels first or last, or a square of pixels in
    one axis.
    """
    if len(shape) == 3 and shape[0] in (1, 3):
        return shape[1], shape[2], shape[0], True
    if len(shape) == 3 and shape[2] in (1, 3):
        return shape[0], shape[1], shape[2], False
    if len(shape) == 2:
        return shape[0], shape[1], 1, False
    if len(shape) == 1 and (side := math.isqrt(shape[0])) ** 2 == shape[0]:
        return side, side, 1, False
    return None


def image_values(rgb: np.ndarray, shape: Sequence[int], low: float, high: float) -> np.ndarray:
    """Converts ``rgb``, uint8 [height, width, 3], to an input of ``shape``, float64: 0 becomes
    ``low`` and 255 ``high``."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"range {low:g} to {high:g}: expected two numbers, the lower one first")
    found = image_shape(shape)
    if found is None:
        raise InputError(f"an input of the shape {list(shape)} cannot be an image; give it as .npy")
    height, width, channels, first = found
    if rgb.shape != (height, width, 3):
        raise InputError(
            f"the image has {rgb.shape[1]} x {rgb.shape[0]} pixels, expected {width} x {height}"
        )
    values = rgb.astype(np.float64)
    if channels == 1:
        values = (values @ [0.299, 0.587, 0.114])[..., None]
    values = low + values * (high - low) / 255
    return (values.transpose(2, 0, 1) if first else values).reshape(shape)


def npy_values(data: bytes, shape: Sequence[int]) -> np.ndarray:
    """Reads an input of ``shape`` from the bytes of an ``.npy``; the first of several inputs.
    Pickled objects are never read."""
    with tempfile.TemporaryDirectory(prefix="quintet-") as folder:
        path = Path(folder, "upload.npy")
        path.write_bytes(data)
        try:
            array = np.asarray(load_array(path), np.float64)
        except FileError as error:
            raise InputError(f"expected an .npy of numbers: {error.trouble}") from None
        except (TypeError, ValueError):
            raise InputError("expected an .npy of numbers") from None
    if array.shape[1:] == tuple(shape) and len(array):
        array = array[0]
    if array.shape != tuple(shape) or not np.isfinite(array).all():
        raise InputError(
            f"the .npy has the shape {list(array.shape)}, expected finite numbers of the shape "
            f"{list(shape)}"
        )
    return array


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Converts scores to probabilities: unchanged if they already sum to 1, otherwise by
    softmax."""
    scores = np.asarray(scores, np.float64).reshape(-1)
    if scores.min() >= 0 and abs(scores.sum() - 1) < 0.02:
        return scores / scores.sum()
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()
