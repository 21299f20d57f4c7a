# SPDX-License-Identifier: BSD-2-Clause
"""Accumulator conversion: between elements of ACC and those of the other registers, combinational
(specification, section 4.1)."""

from amaranth import Cat, Const, Value

from ...tables import FRAC

__all__ = ["from_accumulator", "to_accumulator"]


def _checked(value, frac, width, name):
    if frac not in (9, 17):
        raise ValueError(f"Fraction bits must be 9 or 17, not {frac!r}")
    value = Value.cast(value)
    if len(value) != width:
        raise ValueError(f"{name} must have {width} bits, not {len(value)}")
    return value


def from_accumulator(value: Value, frac: int) -> Value:
    """Converter from ``frac`` fraction bits (``frac`` + 9 bits in total) to 9, rounded: 18 bits.

    Nearest, ties to even, overflow to infinity; zeros, infinities and NaN keep their upper bits,
    and a NaN stays one. Combinational: an increment of 17 bits behind one level of logic; with
    ``frac`` 9 nothing at all.

    Raises
    ------
    ValueError
        ``frac`` is neither 9 nor 17, or ``value`` has not frac + 9 bits.
    """
    value = _checked(value, frac, frac + 9, "An element of ACC")
    if frac == FRAC:
        return value
    cut = frac - FRAC
    exponent, kept = value[frac : frac + 8], value[cut:frac]
    ordinary = exponent.any() & ~exponent.all()
    up = ordinary & value[cut - 1] & (value[: cut - 1].any() | value[cut])
    # A carry out of the fraction is the next exponent, and out of the largest one infinity.
    rounded = (value[cut : frac + 8] + up)[:17]
    quiet = exponent.all() & ~kept.any() & value[:cut].any()
    return Cat(rounded[: FRAC - 1], rounded[FRAC - 1] | quiet, rounded[FRAC:], value[-1])


def to_accumulator(value: Value, frac: int) -> Value:
    """Converter from 9 to ``frac`` fraction bits: appends zeros.

    Raises
    ------
    ValueError
        ``frac`` is neither 9 nor 17, or ``value`` has not 18 bits.
    """
    value = _checked(value, frac, 18, "An element of INPUT, WEIGHTS or OUTPUT")
    return Cat(Const(0, frac - FRAC), value) if frac != FRAC else value
