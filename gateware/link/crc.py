# SPDX-License-Identifier: BSD-2-Clause
"""CRC-32 (zlib, Ethernet, PNG): a generator, four bits per cycle, and a check, two bits per
cycle."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CRC32", "CRC32Check", "RESIDUE"]

POLYNOMIAL = 0xEDB88320  # bits reversed: the first bit on the line is the lowest

#: What the register holds after data and its CRC, low byte first, went through it.
RESIDUE = 0xDEBB20E3


def _table(index, bits=4):
    for _ in range(bits):
        index = index >> 1 ^ (POLYNOMIAL if index & 1 else 0)
    return index


class CRC32(wiring.Component):
    """The CRC-32 register. A byte takes two cycles: half the logic of one that takes one.

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


class CRC32Check(wiring.Component):
    """The CRC-32 register of a receiver: compares a CRC that was sent as its bits come in, which
    takes less logic than a comparison of the whole register. A byte takes four cycles.

    Members
    -------
    init : In(1)
        Set the register to its start value. Wins over ``step``.
    step : In(1)
        Take two bits of ``data``, which is to be stable for all four cycles.
    check : In(1)
        ``data`` is a byte of the CRC that was sent.
    data : In(8)
    number : Out(2)
        Steps of ``data`` that are done.
    pair : Out(2)
        The bits of this step.
    differs : Out(1)
        With ``check``: the bits of this step are not those of the register.
    """

    def __init__(self):
        super().__init__(
            {
                "init": In(1),
                "step": In(1),
                "check": In(1),
                "data": In(8),
                "number": Out(2),
                "pair": Out(2),
                "differs": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = Signal(32, reset_less=True)
        index = Signal(2)
        m.d.comb += [
            self.pair.eq(self.data.word_select(self.number, 2)),
            # The CRC is sent as the register's complement. Inverted it leaves an index of zero, so
            # that the register moves on to the next bits.
            index.eq(self.pair ^ state[:2] ^ self.check.replicate(2)),
            self.differs.eq(index.any()),
        ]
        following = []
        for i in range(32):
            terms = [index[j] for j in range(2) if _table(1 << j, 2) >> i & 1] + (
                [state[i + 2]] if i < 30 else []
            )
            following.append(reduce(xor, terms, Const(0, 1)))
        with m.If(self.step):
            m.d.sync += [state.eq(Cat(following)), self.number.eq(self.number + 1)]
        with m.If(self.init):
            m.d.sync += state.eq(0xFFFF_FFFF)
        return m
