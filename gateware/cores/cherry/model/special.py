# SPDX-License-Identifier: BSD-2-Clause
"""Division, exponential, logarithm and power of Cherry floats: the integer algorithms of the
specification, section 4.4.

Proven there: exp and log of every element, and quotients of all pairs of significands, are
correctly rounded.
"""

import numpy as np

from ..tables import BIAS, FRAC, INF, L2E, LNC, NAN, ONE, expt, logt, rect
from .arithmetic import bit_length, is_nan, round_value, significand, split

__all__ = ["div", "exp", "log", "power"]

_SIGN = 1 << 17


def _expcore(sign, negative, t):
    """Power of two (-1)^sign * 2^(+-t / 2^24), rounded to an element."""
    t = np.where(negative, -t, t)
    low, index = t & 0x7FFF, t >> 15 & 0x1FF
    c = low * LNC >> 16
    c = c + (c * c >> 25)
    return round_value(sign, (expt()[index] << 24) + expt()[index] * c, (t >> 24) - 50)


def _rounded_shift(value, right):
    """Right shift, value >> right, with the last bit shifted out added; ``right`` is at least 1."""
    right = np.minimum(right, 62)
    return (value >> right) + (value >> right - 1 & 1)


def exp(x: int | np.ndarray) -> np.ndarray:
    """Correctly rounded exponential e^x."""
    x = np.asarray(x, np.int64)
    sign, exponent, _ = split(x)
    # Below 2^7 the shift is at least 6.
    t = _rounded_shift(significand(x) * L2E, np.maximum(12 - (exponent - BIAS), 1))
    result = _expcore(np.zeros_like(x), sign == 1, t)
    result = np.where(exponent >= BIAS + 7, np.where(sign == 1, 0, INF), result)
    result = np.where(exponent == 0, ONE, result)
    return np.where(is_nan(x), NAN, result)


def _log_value(x):
    """Logarithm log2 |x| with 32 fraction bits, for finite nonzero x."""
    _, exponent, fraction = split(x)
    return (exponent - BIAS << 32) + logt()[fraction]


def log(x: np.ndarray) -> np.ndarray:
    """Correctly rounded base-2 logarithm of x."""
    x = np.asarray(x, np.int64)
    sign, exponent, _ = split(x)
    v = _log_value(x)
    result = np.where(
        v == 0, 0, round_value((v < 0).astype(np.int64), np.maximum(np.abs(v), 1), -32)
    )
    result = np.where(exponent == 255, INF, result)
    result = np.where(sign == 1, NAN, result)
    result = np.where(exponent == 0, INF | _SIGN, result)
    return np.where(is_nan(x), NAN, result)


def div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correctly rounded quotient x / y."""
    x, y = np.broadcast_arrays(np.asarray(x, np.int64), np.asarray(y, np.int64))
    (sx, ex, _), (sy, ey, fy) = split(x), split(y)
    sign = sx ^ sy
    result = round_value(sign, np.maximum(significand(x) * rect()[fy], 1), ex - ey - 30)
    result = np.where((ex == 0) | (ey == 255), sign << 17, result)
    result = np.where((ey == 0) | (ex == 255), INF | sign << 17, result)
    invalid = ((ex == 0) & (ey == 0)) | ((ex == 255) & (ey == 255))
    return np.where(invalid | is_nan(x) | is_nan(y), NAN, result)


def _integer(y):
    """Whether y is an integer, and whether it is odd; for finite nonzero y."""
    _, exponent, _ = split(y)
    # Bits of the significand below the point.
    below = FRAC - (exponent - BIAS)
    cut = np.clip(below, 0, 40)
    whole = (below <= 0) | (significand(y) & (np.int64(1) << cut) - 1 == 0)
    return whole, whole & (below >= 0) & (significand(y) >> cut & 1 == 1)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Power |x|^y with the sign of x^y, by the integer algorithm; error at most 0.55 ulp."""
    x, y = np.broadcast_arrays(np.asarray(x, np.int64), np.asarray(y, np.int64))
    (sx, ex, _), (sy, ey, _) = split(x), split(y)
    magnitude = x & _SIGN - 1
    whole, odd = _integer(y)
    whole, odd = whole | (ey == 255), odd & (ey != 255)
    sign = sx & odd
    result = _finite_power(x, y, sign)

    above = magnitude > ONE
    infinity, nothing = INF | sign << 17, sign << 17
    result = np.where(magnitude == ONE, ONE | sign << 17, result)
    result = np.where((sx == 1) & ~whole & (ex != 0) & (ex != 255), NAN, result)
    result = np.where(ex == 255, np.where(sy == 1, nothing, infinity), result)
    result = np.where(ex == 0, np.where(sy == 1, infinity, nothing), result)
    unlimited = np.where(magnitude == ONE, ONE, np.where((above & (ex != 0)) == (sy == 0), INF, 0))
    result = np.where(ey == 255, unlimited, result)
    result = np.where(is_nan(x) | is_nan(y), NAN, result)
    result = np.where(x == ONE, ONE, result)
    return np.where(ey == 0, ONE, result)


def _finite_power(x, y, sign):
    v = _log_value(x)
    size = np.maximum(np.abs(v), 1)
    # |log2 x| as a number of 20 bits times 2^d.
    d = bit_length(size) - 20
    right = np.maximum(d, 0)
    q = np.where(d >= 0, size >> right, size << np.maximum(-d, 0))
    rest, half = (
        size & (np.int64(1) << right) - 1,
        np.where(d > 0, np.int64(1) << np.maximum(d - 1, 0), np.int64(1) << 60),
    )
    q = q + ((rest > half) | ((rest == half) & (q & 1 == 1)))
    carried = q >> 20
    q, d = q >> carried, d + carried
    _, ey, _ = split(y)
    product = q * significand(y)
    shift = 32 - d - (ey - BIAS) + FRAC - 24
    negative = (v < 0) ^ (split(y)[0] == 1)
    t = np.where(
        shift > 0, _rounded_shift(product, np.maximum(shift, 1)), product << np.clip(-shift, 0, 12)
    )
    overflow = (shift < -12) | (t >= 1 << 32)
    result = _expcore(sign, negative, np.where(overflow, 0, t))
    return np.where(overflow, np.where(negative, 0, INF) | sign << 17, result)
