# SPDX-License-Identifier: BSD-2-Clause
"""The two CRCs of USB packets, one byte per cycle, in wire order: bit 0 of a byte, and of the
register, comes first."""

from amaranth import Cat, Value
from amaranth.hdl import ValueLike

__all__ = ["CRC5_GOOD", "CRC16_GOOD", "crc5", "crc16"]


def _step(width, taps, state, byte):
    """Updates a CRC by one byte. ``state`` and ``byte`` are lists of bits (values or integers)."""
    for bit in byte:
        feedback = state[0] ^ bit
        state = [*state[1:], 0]
        state = [
            (old ^ feedback if place in taps else old) if place != width - 1 else feedback
            for place, old in enumerate(state)
        ]
    return state


# x^16 + x^15 + x^2 + 1 and x^5 + x^2 + 1, reflected: the places below the top one that the feedback
# goes to.
_TAPS16, _TAPS5 = {0, 13}, {2}


def crc16(state: ValueLike, byte: ValueLike) -> Value:
    """Updates a data packet's CRC by ``byte``; the initial state is all ones, and the CRC is sent
    inverted, low byte first."""
    bits = _step(16, _TAPS16, [state[i] for i in range(16)], [byte[i] for i in range(8)])
    return Cat(*bits)


def crc5(state: ValueLike, byte: ValueLike) -> Value:
    """Updates a token's CRC by ``byte``; the initial state is all ones."""
    bits = _step(5, _TAPS5, [state[i] for i in range(5)], [byte[i] for i in range(8)])
    return Cat(*bits)


def _good(width, taps):
    """Residue: contents of the CRC register after any packet with a correct CRC."""
    state = [1] * width
    for bit in [1 - b for b in state]:
        state = _step(width, taps, state, [bit])
    return sum(bit << place for place, bit in enumerate(state))


CRC16_GOOD, CRC5_GOOD = _good(16, _TAPS16), _good(5, _TAPS5)
