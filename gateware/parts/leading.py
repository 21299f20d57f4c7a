# SPDX-License-Identifier: BSD-2-Clause
"""Leading-zero counter, a tree of equal halves."""

from amaranth import Cat, Const, Mux, Value
from amaranth.hdl import ValueLike

__all__ = ["leading_zeros"]


def leading_zeros(value: ValueLike) -> Value:
    """Number of leading zeros of ``value``, its length if it is 0; one multiplexer level per bit of
    the count."""
    value = Value.cast(value)
    width = 1 << len(value).bit_length()

    def count(bits):
        """Leading zeros of a power of two of bits: (whether any bit is set, leading zeros if
        so)."""
        if len(bits) == 1:
            return bits[0], Const(0, 0)
        half = len(bits) // 2
        (any_low, low), (any_high, high) = count(bits[:half]), count(bits[half:])
        return any_low | any_high, Cat(Mux(any_high, high, low), ~any_high)

    # Ones below the value end the count.
    return count(Cat(Const(-1, width - len(value)), value))[1][: len(value).bit_length()]
