# SPDX-License-Identifier: BSD-2-Clause
"""CRC-32 of a concatenation, from the CRCs of its two parts."""

__all__ = ["combine"]

POLYNOMIAL = 0xEDB88320


def _multiply(a, b):
    """Product of two polynomials modulo the CRC's polynomial, with reversed bits (bit 31 is
    x^0)."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return product


def combine(first: int, second: int, length: int) -> int:
    """CRC-32 of ``A + B`` from the CRCs of A and of B, which has ``length`` bytes.

    Appending to A multiplies its CRC by x^(8 * length); the constants at the two ends of the CRC
    cancel.
    """
    power, square = 1 << 31, 1 << 23  # x^0, x^8
    while length:
        if length & 1:
            power = _multiply(power, square)
        square = _multiply(square, square)
        length >>= 1
    return _multiply(power, first) ^ second
