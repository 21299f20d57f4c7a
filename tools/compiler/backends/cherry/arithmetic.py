# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's arithmetic on float64 arrays that hold its numbers (specification, section 4),
implemented independently of the golden model.

A float64 holds every element, its zeros' signs, infinities and NaN; products of two are exact, and
a sum of five rounds as the core's window does unless it lies near a tie: those few are worked out
in whole numbers.
"""

import numpy as np

__all__ = [
    "DIGITS",
    "accumulate",
    "add",
    "bits",
    "divide",
    "exp",
    "from_bf16",
    "gtz",
    "log2",
    "maximum",
    "multiply",
    "nearest",
    "power",
    "relu",
    "subtract",
    "to_element",
]


#: Significant bits of an element.
DIGITS = 10
_MANTISSA, _ALL = 52, 53
_LARGEST, _SMALLEST = 2.0**128, 2.0**-126
#: Bits below the largest term's exponent that a sum keeps.
_WINDOW = 22


def nearest(x: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Rounds float64 to ``digits`` significant bits, ties to even; overflow to infinity, underflow
    to zero."""
    x = np.ascontiguousarray(x, np.float64)
    cut = _ALL - digits
    pattern = x.view(np.int64)
    pattern = pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)
    return _ranged(np.where(np.isfinite(x), pattern.view(np.float64), x))


def _ranged(x):
    size = np.abs(x)
    x = np.where(size >= _LARGEST, np.copysign(np.inf, x), x)
    return np.where(size < _SMALLEST, np.copysign(0.0, x), x)


def to_element(x: float | np.ndarray) -> np.ndarray:
    """Rounds real numbers to float32 and then to elements, as DMA does; float32 subnormals become
    zero."""
    with np.errstate(over="ignore"):
        single = np.asarray(x, np.float32).astype(np.float64)
    return nearest(np.where(np.abs(single) < _SMALLEST, np.copysign(0.0, single), single))


def from_bf16(x: np.ndarray) -> np.ndarray:
    """Rounds real numbers to bfloat16, as float64."""
    return nearest(to_element(x), 8)


def bits(x: np.ndarray) -> np.ndarray:
    """18-bit patterns of elements; every NaN is the canonical one."""
    single = np.asarray(x, np.float64).astype(np.float32).view(np.uint32).astype(np.int64)
    return np.where(np.isnan(x), 0x1FF00, single >> 14)


# Sums of products


def _exponents(x):
    """Exponents of float64 numbers; a zero gets one far smaller than all others."""
    return (x.view(np.int64) >> _MANTISSA & 0x7FF) - 1023


def accumulate(
    acc: np.ndarray | None, a: np.ndarray, b: np.ndarray, digits: int = DIGITS
) -> np.ndarray:
    """``acc`` and the sum over the last axis of ``a * b``, rounded once (section 4.1).

    Parameters
    ----------
    acc : float64 array of the result's shape, or ``None``: no addend
    a, b : arrays that broadcast against each other, last axis 1 to 4
    digits : of ``acc`` and the result
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        total = a[..., 0] * b[..., 0]
        for k in range(1, max(a.shape[-1], b.shape[-1])):
            total = total + a[..., k] * b[..., k]
        if acc is not None:
            total = total + acc
    total = np.ascontiguousarray(total)
    ea, eb = (
        _exponents(np.ascontiguousarray(a)).max(-1),
        _exponents(np.ascontiguousarray(b)).max(-1),
    )
    top = ea + eb
    if acc is not None:
        acc = np.broadcast_to(np.asarray(acc, np.float64), total.shape)
        top = np.maximum(top, _exponents(np.ascontiguousarray(acc)))
    cut = _ALL - digits
    pattern = total.view(np.int64)
    # How far it may be off in units of its last place, and how far it is from a tie.
    slack = np.left_shift(
        np.int64(5), np.clip(top - _exponents(total) + (_MANTISSA - _WINDOW), 0, _ALL)
    )
    near = np.abs((pattern & (1 << cut) - 1) - (1 << cut - 1)) <= slack
    rounded = (pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)).view(np.float64)
    finite = np.isfinite(total)
    result = np.where(finite, rounded, total)
    near &= finite
    if near.any():
        at = np.nonzero(near)
        shape = (*total.shape, max(a.shape[-1], b.shape[-1]))
        result[at] = _window(
            None if acc is None else acc[at],
            np.broadcast_to(a, shape)[at],
            np.broadcast_to(b, shape)[at],
            total[at],
            digits,
        )
    return _ranged(result)


def _window(acc, a, b, total, digits):
    """Sums finite terms one by one in the core's 24-bit accumulator window."""
    products, exponents = a * b, _exponents(a.copy()) + _exponents(b.copy())
    if acc is not None:
        products = np.concatenate([products, acc[..., None]], -1)
        exponents = np.concatenate([exponents, _exponents(acc.copy())[..., None]], -1)
    there = products != 0
    top = np.where(there, exponents, -5000).max(-1)
    top = np.where(there.any(-1), top, 0)
    scaled = np.ldexp(np.abs(products), _WINDOW - top[..., None])
    whole = np.floor(scaled)
    whole = whole.astype(np.int64) | (whole != scaled)
    found = np.where(products < 0, -whole, whole).sum(-1)
    exact = nearest_unlimited(np.ldexp(found.astype(np.float64), top - _WINDOW), digits)
    # A sum of zeros has the sign that IEEE gives it; one that cancels is +0.
    return np.where(there.any(-1), exact, total)


def nearest_unlimited(x: np.ndarray, digits: int) -> np.ndarray:
    """Rounds like :func:`nearest`, but with an unlimited exponent."""
    cut = _ALL - digits
    pattern = np.ascontiguousarray(x).view(np.int64)
    return (pattern + ((1 << cut - 1) - 1) + (pattern >> cut & 1) & -(1 << cut)).view(np.float64)


# Element by element


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.add(x, y))


def subtract(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Difference of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.subtract(x, y))


def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Product of two elements, rounded to an element."""
    with np.errstate(invalid="ignore"):
        return nearest(np.multiply(x, y))


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correctly rounded quotient: quotients of ten-bit significands are never so near a tie that
    float64 rounds wrongly."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return nearest(np.divide(x, y))


def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit: the number if it is positive, else +0; NaN stays."""
    return np.where(np.isnan(x) | (np.asarray(x) > 0), x, 0.0)


def gtz(x: np.ndarray) -> np.ndarray:
    """Greater-than-zero indicator: 1 if the number is positive, else +0."""
    return np.where(np.asarray(x) > 0, 1.0, 0.0)


def exp(x: np.ndarray) -> np.ndarray:
    """Correctly rounded exponential: no element's exponential is so near a tie that float64 rounds
    wrongly."""
    with np.errstate(over="ignore", invalid="ignore"):
        return nearest(np.exp(x))


def log2(x: np.ndarray) -> np.ndarray:
    """Correctly rounded base-2 logarithm; minus infinity for zero, NaN for negative numbers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return nearest(np.log2(x))


def maximum(x: np.ndarray, axis: int) -> np.ndarray:
    """IEEE maximum along an axis: NaN wins, +0 is greater than -0."""
    x = np.asarray(x)
    largest = x.max(axis)
    return np.where(
        largest == 0, np.where(((x == 0) & ~np.signbit(x)).any(axis), 0.0, -0.0), largest
    )


def power(x: np.ndarray, y: float) -> np.ndarray:
    """Power |x|^y by the specification's integer algorithm (section 4.4), for finite x > 0 and
    finite y; special values of x behave as in C.

    ``y`` is one number: 0.5 and -0.5 are what the decompositions need.
    """
    x = np.asarray(x, np.float64)
    result = np.full(x.shape, np.nan)
    usual = np.isfinite(x) & (x > 0) & (x != 1)
    result[usual] = _finite_power(x[usual], float(y))
    result[x == 1] = 1
    result[x == 0] = np.inf if y < 0 else 0
    result[x == np.inf] = 0 if y < 0 else np.inf
    result[x == -np.inf] = 0 if y < 0 else np.inf
    return result


def _finite_power(x, y):
    fraction, exponent = np.frexp(x)
    table = np.array(
        [round(float(v)) for v in np.log2(1 + np.arange(512, dtype=np.longdouble) / 512) * 2**32],
        np.int64,
    )
    v = (exponent.astype(np.int64) - 1 << 32) + table[(fraction * 1024).astype(np.int64) - 512]
    # |log2 x| to 20 bits, nearest even: q * 2^d.
    q, d = np.frexp(nearest_unlimited(np.abs(v).astype(np.float64), 20))
    q, d = (q * 2**20).astype(np.int64), d.astype(np.int64) - 20
    fy, ey = np.frexp(abs(y))
    product, shift = q * int(fy * 1024), 32 - d - (int(ey) - 1) + 9 - 24
    right = np.clip(shift, 1, 62)
    t = np.where(
        shift > 0,
        (product >> right) + (product >> right - 1 & 1),
        product << np.clip(-shift, 0, 12),
    )
    over = (shift < -12) | (t >= 1 << 32)
    negative = (v < 0) ^ (y < 0)
    return np.where(over, np.where(negative, 0.0, np.inf), _two_to(np.where(negative, -t, t)))


def _two_to(t):
    """Power of two 2^(t * 2^-24), by the specification's table and series."""
    low, index = t & 0x7FFF, t >> 15 & 0x1FF
    table = np.array(
        [round(float(v)) for v in np.exp2(np.arange(512, dtype=np.longdouble) / 512) * 2**26],
        np.int64,
    )[index]
    c = low * 0xB172 >> 16
    c = c + (c * c >> 25)
    return nearest(np.ldexp(((table << 24) + table * c).astype(np.float64), (t >> 24) - 50))
