# SPDX-License-Identifier: BSD-2-Clause
"""CRC-32 of zlib, Ethernet and PNG, one byte a cycle."""
from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CRC32", "RESIDUE"]

POLYNOMIAL = 0xEDB88320  # bits reversed: the first bit on the line is the lowest

#: What the register holds after data and its CRC, low byte first, went through it.
RESIDUE = 0xDEBB20E3


def _table(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


class CRC32(wiring.Component):
    """The CRC-32 register.

    The CRC is ``~state`` (one's complement). It is sent low byte first by sending ``~state[0:8]`` four times with
    ``step`` and ``shift`` high.

    Members
    -------
    init : In(1)
        Set the register to its start value. Wins over ``step``.
    step : In(1)
        Take ``data``; ``state`` follows in the next cycle.
    shift : In(1)
        With ``step``: shift the register down by a byte instead, filling with zeros.
    data : In(8)
    state : Out(32)
    """
    def __init__(self):
        super().__init__({
            "init": In(1),
            "step": In(1),
            "shift": In(1),
            "data": In(8),
            "state": Out(32, init=0xFFFF_FFFF),
        })

    def elaborate(self, platform):
        m = Module()
        # Eight steps of the bit-serial register, as a sum over GF(2): bit i of what follows is state[i + 8] and those
        # bits of (data ^ low byte) whose table entry has bit i.
        index = [(self.data[j] ^ self.state[j]) & ~self.shift for j in range(8)]
        following = []
        for i in range(32):
            terms = [index[j] for j in range(8) if _table(1 << j) >> i & 1]
            if i < 24:
                terms.append(self.state[i + 8])
            following.append(reduce(xor, terms, Const(0)) if terms else Const(0))
        with m.If(self.step):
            m.d.sync += self.state.eq(Cat(following))
        with m.If(self.init):
            m.d.sync += self.state.eq(0xFFFF_FFFF)
        return m
