# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's buffers of 16-bit words: an SPRAM, or block RAM where there is none."""
from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....primitives.spram import SPRAM

__all__ = ["Buffer"]


class Buffer(wiring.Component):
    """One access a cycle. What was read stands from the cycle after to the next access, and is undefined after a write.

    Parameters
    ----------
    words : int, at most 16,384
    spram : bool
    family : as the primitives'

    Members
    -------
    address : In, 14 bits; enable, write : In
    write_data : In, 16 bits; read_data : Out, 16 bits
    """
    def __init__(self, *, words, spram, family):
        self._words, self._spram, self._family = words, spram, family
        super().__init__({"address": In(14), "enable": In(1), "write": In(1), "write_data": In(16), "read_data": Out(16)})

    def elaborate(self, platform):
        m = Module()
        if self._spram:
            m.submodules.spram = ram = SPRAM(family=self._family)
            m.d.comb += [
                ram.address.eq(self.address), ram.enable.eq(self.enable), ram.write.eq(self.write), ram.mask.eq(0xF),
                ram.write_data.eq(self.write_data), self.read_data.eq(ram.read_data)]
            return m
        m.submodules.words_disjoint = ram = memory.Memory(shape=16, depth=self._words, init=[])
        reader, writer = ram.read_port(), ram.write_port()
        address = self.address[:ceil_log2(self._words)]
        m.d.comb += [
            reader.addr.eq(address), reader.en.eq(self.enable & ~self.write), self.read_data.eq(reader.data),
            writer.addr.eq(address), writer.en.eq(self.enable & self.write), writer.data.eq(self.write_data)]
        return m
