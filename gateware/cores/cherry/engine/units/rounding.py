# SPDX-License-Identifier: BSD-2-Clause
"""Rounding of a sum of products (specification, section 4.1): window, direction, and packing of
the result."""

from amaranth import Cat, Mux, Value

__all__ = ["SUM", "WINDOW", "packed", "rounds_up"]

#: Bits of a term in the window, and of the sum of five of them without its sign.
WINDOW, SUM = 24, 27


def rounds_up(normal: Value, bits: int) -> Value:
    """Rounding decision for a sum of :data:`SUM` bits, leading one at the top: whether it is
    rounded up to ``bits`` fraction bits; to nearest, ties to even."""
    return normal[SUM - 2 - bits] & (normal[: SUM - 2 - bits].any() | normal[SUM - 1 - bits])


def packed(
    fraction: Value,
    exponent: Value,
    sign: Value,
    *,
    nan: Value,
    plus: Value,
    minus: Value,
    over: Value,
    under: Value,
    frac: int,
) -> Value:
    """Packs a rounded sum into an element of ``frac`` fraction bits; ``nan``, ``plus``,
    ``minus``: NaNs and infinities among the terms; ``over``, ``under``: exponent overflow and
    underflow."""
    infinite, invalid = plus | minus | over, nan | (plus & minus)
    field = Mux(invalid | infinite, 0xFF, Mux(under, 0, exponent[:8]))
    return Cat(
        Mux(invalid, 1 << frac - 1, Mux(infinite | under, 0, fraction[:frac]))[:frac],
        field[:8],
        sign & ~invalid,
    )
