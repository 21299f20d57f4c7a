# SPDX-License-Identifier: BSD-2-Clause
"""LMem reader: delivers consecutive words, buffered until the consumer accepts them."""

from amaranth import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import LMemRead, address_bits, lmem_word_bytes

__all__ = ["LMemReader"]

#: Words requested and not yet taken: one on its way for each cycle of an LMem of byte lanes, one
#: that is shown, one that goes meanwhile.
_DEPTH = 8


class LMemReader(wiring.Component):
    """LMem reader: prefetches consecutive words into registers and holds them until they are
    accepted.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while ``free``: ``first`` (byte address),
        ``step`` (bytes from one word to the next), ``count`` (words, at least 1)
    free : Out, every word of the last start was requested
    word : Out, ``valid`` : Out, ``take`` : In: the words, in order
    read : Out(LMemRead)
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        bits, word = address_bits(params), lmem_word_bytes(params)
        super().__init__(
            {
                "start": In(1),
                "first": In(bits),
                "step": In(range(word + 1)),
                "count": In(12),
                "free": Out(1),
                "word": Out(8 * word),
                "valid": Out(1),
                "take": In(1),
                "read": Out(LMemRead(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        read, request = self.read, self.read.request
        address, step, left = Signal.like(self.first), Signal.like(self.step), Signal(12)
        owed = Signal(range(_DEPTH + 1))  # requested, not taken
        asked = Signal()
        m.d.comb += [
            request.valid.eq((left != 0) & (owed != _DEPTH)),
            request.payload.eq(address),
            asked.eq(request.valid & request.ready),
            self.free.eq(left == 0),
        ]
        m.d.sync += owed.eq(owed + asked - self.take)
        with m.If(asked):
            m.d.sync += [address.eq(address + step), left.eq(left - 1)]
        with m.If(self.start):
            m.d.sync += [address.eq(self.first), step.eq(self.step), left.eq(self.count)]

        m.submodules.held = held = memory.Memory(shape=len(self.word), depth=_DEPTH, init=[])
        put, get = held.write_port(), held.read_port(domain="comb")
        level = Signal(range(_DEPTH + 1))
        keep, drop = Signal(), Signal()
        m.d.comb += [
            put.data.eq(read.data),
            put.en.eq(keep),
            self.word.eq(get.data),
            drop.eq(self.take),
            keep.eq(read.valid),
        ]
        m.d.sync += [
            level.eq(level + keep - drop),
            self.valid.eq(keep | (level > 1) | (level == 1) & ~drop),
        ]
        first, last = Signal(range(_DEPTH)), Signal(range(_DEPTH))
        m.d.comb += [put.addr.eq(last), get.addr.eq(first)]
        with m.If(keep):
            m.d.sync += last.eq(last + 1)
        with m.If(drop):
            m.d.sync += first.eq(first + 1)
        return m
