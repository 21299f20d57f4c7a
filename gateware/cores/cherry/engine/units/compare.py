# SPDX-License-Identifier: BSD-2-Clause
"""Comparison keys: maps elements to integers with the same order; and the vector ALU's functions of
one element (specification, sections 4.2, 4.3)."""

from amaranth import Cat, Const, Mux, Value
from amaranth.hdl import ValueLike

from ...tables import NAN, ONE
from ..ops import AluKind

__all__ = ["LOWEST", "from_key", "larger", "passed", "sort", "to_key"]

#: Below every element's key: one that takes no part.
LOWEST = 0


def _classes(x):
    exponent, fraction = x[9:17], x[:9]
    return exponent == 0, exponent.all() & fraction.any()


def to_key(x: Value) -> Value:
    """Key of an element: NaN is the largest, the others are ordered by value, with -0 just below
    +0."""
    zero, nan = _classes(x)
    magnitude = Cat((bit & ~zero) ^ x[17] | nan for bit in x[:17])
    return Cat(magnitude, ~x[17] | nan)


def from_key(key: Value) -> Value:
    """Element of a key; zeros get fraction 0, and NaN is the canonical one."""
    nan = key.all()
    magnitude = Cat(bit ^ ~key[17] for bit in key[:17])
    return Cat(Mux(nan, NAN & 0x1FFFF, magnitude)[:17], ~key[17])


def larger(x: Value, y: Value) -> Value:
    """The larger of two keys."""
    return Mux(x > y, x, y)


def sort(x: Value) -> Value:
    """Class of an element for :func:`passed`: whether it is positive, and whether it is NaN."""
    zero, nan = _classes(x)
    return Cat(~x[17] & ~zero, nan)


def passed(kind: ValueLike, x: Value, known: Value) -> Value:
    """Result of relu, gtz, copy or zero of an element, by ``kind``; ``known``: its class by
    :func:`sort`."""
    positive, nan = known[0], known[1]
    relu = Mux(nan, Const(NAN, 18), x & positive.replicate(18))
    gtz = Const(ONE, 18) & (positive & ~nan).replicate(18)
    return Mux(
        kind == AluKind.RELU,
        relu,
        Mux(kind == AluKind.GTZ, gtz, x & (kind != AluKind.ZERO).replicate(18)),
    )
