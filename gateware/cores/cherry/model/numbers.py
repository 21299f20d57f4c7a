# SPDX-License-Identifier: BSD-2-Clause
"""Cherry floats, which are bits 31:14 of an IEEE binary32 (specification, section 2.1), and the
rounding of all arithmetic (4.1).

Everything works on numpy arrays of int64 that hold bit patterns; nothing is computed in floating
point. ``frac`` is the number of fraction bits: 9 of an element, 17 of one of ACC in a build with
``acc_frac`` 17.
"""

import numpy as np

from ..tables import BIAS, FRAC

__all__ = ["bit_length", "is_nan", "narrow", "pack", "round_value", "significand", "split", "widen"]


def split(x: np.ndarray, frac: int = FRAC) -> tuple[np.ndarray, ...]:
    """Splits bit patterns into sign, exponent field and fraction."""
    x = np.asarray(x, np.int64)
    return x >> frac + 8 & 1, x >> frac & 0xFF, x & (1 << frac) - 1


def pack(
    sign: np.ndarray, exponent: int | np.ndarray, fraction: int | np.ndarray, frac: int = FRAC
) -> np.ndarray:
    """Builds a bit pattern from sign, exponent field and fraction."""
    return sign << frac + 8 | exponent << frac | fraction


def is_nan(x: np.ndarray, frac: int = FRAC) -> np.ndarray:
    """Whether bit patterns are NaN."""
    _, exponent, fraction = split(x, frac)
    return (exponent == 255) & (fraction != 0)


def significand(x: np.ndarray, frac: int = FRAC) -> np.ndarray:
    """Significand with the hidden one; 0 if the exponent field is 0."""
    _, exponent, fraction = split(x, frac)
    return np.where(exponent == 0, 0, fraction | 1 << frac)


def bit_length(x: np.ndarray) -> np.ndarray:
    """Number of bits of integers from 0 to 2^53 - 1."""
    # Exact: such integers are float64 numbers.
    return np.frexp(np.asarray(x).astype(np.float64))[1].astype(np.int64)


def round_value(
    sign: np.ndarray, magnitude: np.ndarray, exponent: np.ndarray | int, frac: int = FRAC
) -> np.ndarray:
    """Bit pattern of (-1)^sign * magnitude * 2^exponent, rounded to nearest, ties to even, with
    unbounded exponent; then overflow to infinity and flush to zero (section 4.1, step 5).
    ``magnitude`` is 1 to 2^53 - 1."""
    sign, magnitude, exponent = np.broadcast_arrays(
        *(np.asarray(v, np.int64) for v in (sign, magnitude, exponent))
    )
    drop = bit_length(magnitude) - (frac + 1)
    right = np.maximum(drop, 0)
    kept = np.where(drop >= 0, magnitude >> right, magnitude << np.maximum(-drop, 0))
    rest = magnitude & (np.int64(1) << right) - 1
    half = np.where(drop > 0, np.int64(1) << np.maximum(drop - 1, 0), np.int64(1) << 60)
    kept = kept + ((rest > half) | ((rest == half) & (kept & 1 == 1)))
    carried = kept >> frac + 1
    kept, drop = kept >> carried, drop + carried
    unbiased = exponent + drop + frac
    result = pack(sign, unbiased + BIAS, kept & (1 << frac) - 1, frac)
    result = np.where(unbiased > 127, pack(sign, 255, 0, frac), result)
    return np.where(unbiased < -126, pack(sign, 0, 0, frac), result)


def widen(x: np.ndarray, frac: int) -> np.ndarray:
    """Converts elements to patterns with ``frac`` fraction bits by appending zeros."""
    return np.asarray(x, np.int64) << frac - FRAC


def narrow(x: np.ndarray, frac: int) -> np.ndarray:
    """Rounds patterns with ``frac`` fraction bits to elements: nearest, ties to even, overflow to
    infinity."""
    x = np.asarray(x, np.int64)
    if frac == FRAC:
        return x
    sign, exponent, fraction = split(x, frac)
    cut = frac - FRAC
    rounded = round_value(
        sign, np.where(exponent == 0, 1, significand(x, frac)), exponent - BIAS - frac, FRAC
    )
    plain = pack(sign, exponent, fraction >> cut)
    # Zeros with fraction bits, infinities and NaN keep their upper bits; a NaN stays one.
    special = np.where(
        (exponent == 255) & (fraction != 0) & (fraction >> cut == 0), plain | 0x100, plain
    )
    return np.where((exponent == 0) | (exponent == 255), special, rounded)
