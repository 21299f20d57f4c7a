# SPDX-License-Identifier: BSD-2-Clause
"""Fixed-point conversion: numbers to register bits, and register bits to words of block RAM rows
(section 3.3). Numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..isa import PES
from .target import IMAGineError, Target

__all__ = ["OVERFLOWS", "matrix_blocks", "matrix_rows", "to_fixed", "vector_of", "words_of"]

OVERFLOWS = ("wrap", "raise", "saturate")

_NUMBERS = "numbers: a list, a tuple or an array"


def _array(name, values):
    try:
        array = np.array(values)
    except ValueError:
        raise IMAGineError(name, values, _NUMBERS) from None
    if array.size == 0:
        return array.astype(np.float64)
    if array.dtype.kind == "O" and all(type(x) is int for x in array.flat):
        return array  # integers of more than 64 bits: refused by their magnitude
    if array.dtype.kind not in "biuf":
        raise IMAGineError(name, values, _NUMBERS)
    return array


def vector_of(name: str, values: Any) -> np.ndarray:
    """Converts ``values`` to a one-dimensional array."""
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise IMAGineError(name, values, _NUMBERS)
    array = _array(name, values)
    if array.ndim != 1:
        raise IMAGineError(name, values, "one dimension of numbers")
    return array


def matrix_rows(name: str, values: Any) -> list[np.ndarray]:
    """Rows of ``values``, as one-dimensional arrays, each of any length."""
    if (
        not isinstance(values, (list, tuple, np.ndarray))
        or isinstance(values, np.ndarray)
        and values.ndim != 2
    ):
        raise IMAGineError(
            name, values, "rows of numbers: a list of lists, or an array of two dimensions"
        )
    rows = []
    for row in values:
        if not isinstance(row, (list, tuple, np.ndarray)):
            raise IMAGineError(
                name, values, "rows of numbers: a list of lists, or an array of two dimensions"
            )
        rows.append(vector_of(name, row))
    return rows


def matrix_blocks(matrix: Any, target: Target) -> np.ndarray | None:
    """Block RAM rows of a whole ``matrix`` at once, [rows, blocks, width] as in :func:`words_of`;
    ``None`` unless it is an array of floats that all fit, so that it must be checked row by row."""
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind != "f":
        return None
    scaled, half = matrix.astype(np.float64) * (1 << target.fracWidth), 1 << target.regWidth - 1
    # The comparison is false for NaN.
    if not matrix.size or not ((scaled > -half - 1) & (scaled < half)).all():
        return None
    return words_of(scaled.astype(np.int64), target.regWidth)


def to_fixed(
    name: str, array: np.ndarray, target: Target, overflow: str, warn: Callable[[str], object]
) -> np.ndarray:
    """Converts ``array`` to int64 integers: times 2**fracWidth, truncated toward zero, and reduced
    to N bits.

    Parameters
    ----------
    overflow : treatment of values outside N bits: ``"wrap"`` (its low N bits,
        with a warning), ``"raise"``, ``"saturate"``.
    warn : called with the text of a warning.
    """
    if array.size == 0:
        return np.zeros(0, np.int64)
    scale = 1 << target.fracWidth
    if array.dtype.kind == "f":
        scaled = array.astype(np.float64) * scale
        if not np.isfinite(scaled).all():
            bad = array[~np.isfinite(scaled)][0]
            raise IMAGineError(name, float(bad), "finite numbers")
        refused = np.abs(scaled) >= 2.0**63
        integers = np.where(refused, 0, scaled).astype(np.int64)
    else:
        exact = [int(x) * scale for x in array.flat]
        refused = np.array([abs(x) >= 1 << 63 for x in exact])
        integers = np.array(
            [0 if bad else x for x, bad in zip(exact, refused, strict=True)], np.int64
        )
    if refused.any():
        raise IMAGineError(
            name,
            array[refused][0].item() if array.dtype.kind != "O" else array[refused][0],
            f"less than 2**63 after scaling by 2**{target.fracWidth}",
        )
    low, high = -(1 << target.regWidth - 1), (1 << target.regWidth - 1) - 1
    outside = (integers < low) | (integers > high)
    if not outside.any():
        return integers
    first = array[outside][0].item()
    if overflow == "raise":
        raise IMAGineError(
            name,
            first,
            f"{low / scale} to {high / scale} (regWidth = {target.regWidth}, fracWidth = "
            f"{target.fracWidth})",
        )
    if overflow == "saturate":
        return integers.clip(low, high)
    warn(
        f"{name} = {first} does not fit regWidth = {target.regWidth}, fracWidth = "
        f"{target.fracWidth}: it wraps "
        f"({int(outside.sum())} of {array.size} values)"
    )
    return (integers - low & (1 << target.regWidth) - 1) + low


def words_of(integers: np.ndarray, width: int) -> np.ndarray:
    """Block RAM rows for a row of elements: an array [blocks, width] in which bit p of a word
    belongs to PE p; for an array of rows, [..., blocks, width]."""
    *rows, length = integers.shape
    blocks = -(-length // PES)
    padded = np.zeros((*rows, blocks * PES), np.int64)
    padded[..., :length] = integers
    bits = padded.reshape(*rows, blocks, 1, PES) >> np.arange(width)[:, None] & 1
    return (bits << np.arange(PES)).sum(axis=-1)
