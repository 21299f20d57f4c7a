# SPDX-License-Identifier: BSD-2-Clause
"""CRC-32 generator (zlib, Ethernet, PNG), four bits per cycle."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CRC32", "RESIDUE"]

POLYNOMIAL = 0xEDB88320  # bits reversed: the first bit on the line is the lowest

#: What the register holds after data and its CRC, low byte first, went through it.
RESIDUE = 0xDEBB20E3


def _table(nibble):
    for _ in range(4):
        nibble = nibble >> 1 ^ (POLYNOMIAL if nibble & 1 else 0)
    return nibble


class CRC32(wiring.Component):
    """CRC-32 register. A byte takes two cycles, which halves the logic of a single-cycle version.

    The CRC is ``~state`` (one's complement), and is sent low byte first.

    Members
    -------
    init : In(1)
        Set the register to its start value. Wins over ``step``.
    step : In(1)
        Take half of ``data``, which is to be stable for both cycles.
    shift : In(1)
        With ``step``: shift the register down by four bits instead, filling with zeros.
    data : In(8)
    last : Out(1)
        The next half is the second.
    state : Out(32)
        Not reset: ``init`` is due before the first use.
    """

    def __init__(self):
        super().__init__(
            {
                "init": In(1),
                "step": In(1),
                "shift": In(1),
                "data": In(8),
                "last": Out(1),
                "state": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Four steps of the bit-serial register, as a sum over GF(2): bit i of what follows is bit i
        # + 4 and those bits of (data ^ low bits) whose table entry has bit i.
        state = Signal(32, reset_less=True)
        half = self.data.word_select(self.last, 4)
        index = Signal(4)
        m.d.comb += [
            self.state.eq(state),
            index.eq((half ^ state[:4]) & ~self.shift.replicate(4)),
        ]
        following = []
        for i in range(32):
            terms = [index[j] for j in range(4) if _table(1 << j) >> i & 1] + (
                [state[i + 4]] if i < 28 else []
            )
            following.append(reduce(xor, terms, Const(0, 1)))
        with m.If(self.step):
            m.d.sync += [
                state.eq(Cat(following)),
                self.last.eq(~self.last),
            ]
        with m.If(self.init):
            m.d.sync += state.eq(0xFFFF_FFFF)
        return m
