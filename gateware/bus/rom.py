# SPDX-License-Identifier: BSD-2-Clause
"""A ROM on the bus, in block RAM."""
from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In

from .soclib import MemoryMap, wishbone

__all__ = ["ROM"]


class ROM(wiring.Component):
    """32-bit words, read-only; answered in the next cycle, writes are answered and ignored. Past its end it repeats.

    Parameters
    ----------
    data : bytes
        Contents; a whole number of words after padding with zeros.
    size : int
        Bytes of address space, a power of two of at least ``len(data)``.

    Members
    -------
    bus : In, Wishbone of 32 data bits, granularity 8
    """
    def __init__(self, *, data, size=4096):
        data = bytes(data)
        if not isinstance(size, int) or isinstance(size, bool) or size < 8 or size & (size - 1):
            raise ValueError(f"Size of a ROM must be a power of two of at least 8, not {size!r}")
        if not data or len(data) > size:
            raise ValueError(f"Contents of a ROM must be 1 to {size} bytes, not {len(data)}")
        self._words = [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]
        width = size.bit_length() - 1
        super().__init__({"bus": In(wishbone.Signature(addr_width=width - 2, data_width=32, granularity=8))})
        memory_map = MemoryMap(addr_width=width, data_width=8)
        memory_map.add_resource(self, name=("rom",), size=size)
        self.bus.memory_map = memory_map

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        depth = max(2, 1 << (len(self._words) - 1).bit_length())
        rom = m.submodules.rom = memory.Memory(shape=32, depth=depth, init=self._words)
        read = rom.read_port()
        m.d.comb += [read.addr.eq(bus.adr), read.en.eq(1), bus.dat_r.eq(read.data)]
        m.d.sync += bus.ack.eq(bus.cyc & bus.stb & ~bus.ack)
        return m
