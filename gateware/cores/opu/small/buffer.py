# SPDX-License-Identifier: BSD-2-Clause
"""Buffers of the small OPU engine: 16-bit words in an SPRAM, or in block RAM on chips without
SPRAM."""

from amaranth import Module, Mux
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ....primitives.spram import SPRAM

__all__ = ["Buffer"]


class Buffer(wiring.Component):
    """Buffer memory. Read data are valid from the cycle after the access to the next access. An
    SPRAM either reads or writes, and its data are undefined after a write; block RAM does both in
    one cycle, at two addresses.

    Parameters
    ----------
    words : int, at most 16,384
    spram : bool
    family : as the primitives'

    Members
    -------
    read, read_address, write, write_address : In, addresses of 14 bits
    write_data : In, 16 bits; read_data : Out, 16 bits
    """

    def __init__(self, *, words: int, spram: bool, family: str | None) -> None:
        self._words, self._spram, self._family = words, spram, family
        super().__init__(
            {
                "read": In(1),
                "read_address": In(14),
                "write": In(1),
                "write_address": In(14),
                "write_data": In(16),
                "read_data": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._spram:
            m.submodules.spram = ram = SPRAM(family=self._family)
            m.d.comb += [
                ram.address.eq(Mux(self.write, self.write_address, self.read_address)),
                ram.enable.eq(self.read | self.write),
                ram.write.eq(self.write),
                ram.mask.eq(0xF),
                ram.write_data.eq(self.write_data),
                self.read_data.eq(ram.read_data),
            ]
            return m
        m.submodules.words_disjoint = ram = memory.Memory(shape=16, depth=self._words, init=[])
        reader, writer = ram.read_port(), ram.write_port()
        m.d.comb += [
            reader.addr.eq(self.read_address),
            reader.en.eq(self.read),
            self.read_data.eq(reader.data),
            writer.addr.eq(self.write_address),
            writer.en.eq(self.write),
            writer.data.eq(self.write_data),
        ]
        return m
