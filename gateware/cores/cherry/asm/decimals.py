# SPDX-License-Identifier: BSD-2-Clause
"""Exact conversion of decimal numbers to Cherry floats. Pure Python."""

from fractions import Fraction

__all__ = ["element", "value"]


def element(number: int | float | str | Fraction) -> int:
    """Element nearest to ``number`` (any argument of ``Fraction``), ties to even; overflow to
    infinity, underflow to zero (specification, section 2.1)."""
    exact = Fraction(number)
    sign = exact < 0
    exact = abs(exact)
    if not exact:
        return 0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    # round() of a Fraction rounds halves to even.
    kept = round(exact / Fraction(2) ** (exponent - 9))
    if kept == 1024:
        kept, exponent = 512, exponent + 1
    if exponent > 127:
        return sign << 17 | 0x1FE00
    if exponent < -126:
        return sign << 17
    return sign << 17 | exponent + 127 << 9 | kept - 512


def value(pattern: int) -> Fraction:
    """Exact value of a finite element, as a ``Fraction``."""
    sign, exponent, fraction = pattern >> 17, pattern >> 9 & 0xFF, pattern & 0x1FF
    if not exponent:
        return Fraction(0)
    return (-1) ** sign * Fraction(512 + fraction) * Fraction(2) ** (exponent - 136)
