# SPDX-License-Identifier: BSD-2-Clause
"""Cherry floats, which are bits 31:14 of an IEEE binary32 (specification, section 2.1), with the
rounding of all arithmetic, sums of products, comparisons and reductions (4.1 to 4.3).

Everything works on numpy arrays of int64 that hold bit patterns; nothing is computed in floating
point. ``frac`` is the number of fraction bits: 9 of an element, 17 of one of ACC in a build with
``acc_frac`` 17.
"""

import numpy as np

from ..tables import BIAS, FRAC, INF, NAN, ONE

__all__ = [
    "add",
    "bit_length",
    "dot",
    "gtz",
    "is_nan",
    "maximum",
    "mul",
    "narrow",
    "pack",
    "relu",
    "round_value",
    "significand",
    "split",
    "sub",
    "widen",
]


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
    sign, magnitude, exponent = (np.asarray(v, np.int64) for v in (sign, magnitude, exponent))
    drop = bit_length(magnitude) - (frac + 1)
    right = np.maximum(drop, 0)
    ones = np.int64(1) << right
    kept = magnitude << right - drop >> right
    # Up if more than half of a unit is dropped, or half of one and the unit is odd.
    kept = kept + ((magnitude & ones - 1) * 2 + (kept & 1) > ones)
    # The hidden one, or a carry out of the fraction, counts in the exponent.
    result = (exponent + drop + (frac + BIAS - 1) << frac) + kept
    result = np.minimum(result, 255 << frac)
    return np.where(result < 1 << frac, 0, result) | sign << frac + 8


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


#: Bits by which the products' sum is wider than a product.
GUARD = 4


def dot(
    a: np.ndarray, b: int | np.ndarray, addend: np.ndarray | None = None, frac: int = FRAC
) -> np.ndarray:
    """Sum of the products a[..., i] * b[..., i] and ``addend``, rounded once (section 4.1).

    Parameters
    ----------
    a, b : int arrays of elements, shape (..., 0 to 4), broadcast against each other
    addend : int array of shape (...), or None where it is absent
        Pattern with ``frac`` fraction bits.
    frac : int
        Fraction bits of addend and result: 9, or 17.

    Returns
    -------
    int64 array of shape (...)
    """
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    (ea, ma), (eb, mb) = _scaled(a, FRAC), _scaled(b, FRAC)
    sign = (a ^ b) >> FRAC + 8 & 1
    magnitude, exponent = ma * mb, ea + eb - 2 * BIAS
    top = np.where(magnitude != 0, exponent, _LOWEST).max(-1, initial=_LOWEST)
    negative = (sign == 1).all(-1)
    special = (ea == 255).any() or (eb == 255).any()
    if addend is not None:
        c = np.asarray(addend, np.int64)
        ec, mc = _scaled(c, frac)
        sc = c >> frac + 8 & 1
        # The same scale as a product: 2^(E - 18).
        ec, mc = ec - BIAS, mc << 2 * FRAC - frac
        top = np.maximum(top, np.where(mc != 0, ec, _LOWEST))
        negative = negative & (sc == 1)
        special = special or (ec == 255 - BIAS).any()
    total = _aligned(sign, magnitude, exponent, top[..., None]).sum(-1)
    if addend is not None:
        total = total + _aligned(sc, mc, ec, top)
    rounded = round_value(total < 0, np.maximum(np.abs(total), 1), top - 2 * FRAC - GUARD, frac)
    zero = np.where((top == _LOWEST) & negative, 1 << frac + 8, 0)
    result = np.where(total == 0, zero, rounded)
    return _with_specials(result, a, b, addend, frac) if special else result


#: Exponent in place of that of a term that is zero.
_LOWEST = -1 << 20


def _scaled(x, frac):
    """Exponent fields and significands."""
    exponent = x >> frac & 0xFF
    return exponent, np.where(exponent == 0, 0, x & (1 << frac) - 1 | 1 << frac)


def _aligned(sign, magnitude, exponent, top):
    """Terms with their signs at the scale of the greatest exponent; one bit lost anywhere sets the
    lowest bit of its term."""
    shift = np.minimum(np.maximum(top - exponent, 0), 62)
    raised = magnitude << GUARD
    shifted = raised >> shift
    shifted = shifted | (shifted << shift != raised)
    return np.where(sign == 1, -shifted, shifted)


def _with_specials(result, a, b, addend, frac):
    """Sums of which a term is infinite or no number, else ``result``."""
    (sa, ea, _), (sb, eb, _) = split(a), split(b)
    infinite = (ea == 255) | (eb == 255)
    nan = (is_nan(a) | is_nan(b) | (infinite & ((ea == 0) | (eb == 0)))).any(-1)
    sign = sa ^ sb
    plus, minus = (infinite & (sign == 0)).any(-1), (infinite & (sign == 1)).any(-1)
    if addend is not None:
        sc, ec, _ = split(addend, frac)
        nan = nan | is_nan(addend, frac)
        plus, minus = plus | (ec == 255) & (sc == 0), minus | (ec == 255) & (sc == 1)
    result = np.where(plus, INF << frac - FRAC, result)
    result = np.where(minus, (INF | 1 << 17) << frac - FRAC, result)
    return np.where(nan | (plus & minus), NAN << frac - FRAC, result)


def add(x: int | np.ndarray, y: int | np.ndarray) -> np.ndarray:
    """Correctly rounded sum x + y."""
    return dot(np.stack(np.broadcast_arrays(x, y), -1), ONE)


def sub(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correctly rounded difference x - y."""
    return dot(np.stack(np.broadcast_arrays(x, np.asarray(y) ^ 1 << 17), -1), ONE)


def mul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correctly rounded product x * y."""
    return dot(np.asarray(x)[..., None], np.asarray(y)[..., None])


def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit: x if it is positive, else +0; NaN stays NaN."""
    sign, exponent, _ = split(x)
    return np.where(is_nan(x), NAN, np.where((sign == 1) | (exponent == 0), 0, x))


def gtz(x: np.ndarray) -> np.ndarray:
    """Greater-than-zero indicator: 1.0 if x is positive, else +0, also for NaN."""
    sign, exponent, _ = split(x)
    return np.where(is_nan(x) | (sign == 1) | (exponent == 0), 0, ONE)


def maximum(x: np.ndarray, axis: int) -> np.ndarray:
    """IEEE maximum along ``axis``: NaN wins, +0 is greater than -0, and an exponent of 0 means a
    zero of its sign."""
    x = np.asarray(x, np.int64)
    sign, exponent, _ = split(x)
    clean = np.where(exponent == 0, sign << 17, x)
    magnitude = clean & (1 << 17) - 1
    # Order of patterns: negative ones by falling magnitude, -0 just below +0.
    largest = np.where(sign == 1, -magnitude - 1, magnitude).max(axis)
    result = np.where(largest < 0, -largest - 1 | 1 << 17, largest)
    return np.where(is_nan(x).any(axis), NAN, result)
