# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone ROM in block RAM."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In

from ..arguments import check_integer
from .soclib import MemoryMap, wishbone

__all__ = ["ROM"]


class ROM(wiring.Component):
    """Wishbone ROM: 32-bit words, read-only; latency two cycles, three with an output register.
    Writes are answered and ignored; addresses past the end wrap around.

    The block RAM is 16 bits wide: 512 bytes are one of an iCE40's.

    Parameters
    ----------
    data : bytes
        Contents; a whole number of words after padding with zeros.
    size : int
        Bytes of address space, a power of two of at least ``len(data)``.
    registered : bool
        Output register, for clocks above some 60 MHz: an ECP5's block RAM alone takes 5.8 ns from
        clock to output.

    Members
    -------
    bus : In, Wishbone of 32 data bits, granularity 8
    """

    def __init__(self, *, data: bytes, size: int = 4096, registered: bool = False) -> None:
        data = bytes(data)
        check_integer("Size of a ROM", size, 8, power_of_two=True)
        if not data or len(data) > size:
            raise ValueError(f"Contents of a ROM must be 1 to {size} bytes, not {len(data)}")
        self._halves = [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
        self._registered = bool(registered)
        width = size.bit_length() - 1
        super().__init__(
            {"bus": In(wishbone.Signature(addr_width=width - 2, data_width=32, granularity=8))}
        )
        memory_map = MemoryMap(addr_width=width, data_width=8)
        memory_map.add_resource(self, name=("rom",), size=size)
        self.bus.memory_map = memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        depth = max(4, 1 << (len(self._halves) - 1).bit_length())
        rom = m.submodules.rom = memory.Memory(shape=16, depth=depth, init=self._halves)
        read = rom.read_port()
        low = Signal(16)
        high, last = read.data, 2
        if self._registered:
            high = Signal(16)
            last = 3
            m.d.sync += high.eq(read.data)
        step = Signal(range(last + 1))  # half words read so far, and a wait for the register
        active = bus.cyc & bus.stb
        m.d.comb += [
            read.addr.eq(Cat(step != 0, bus.adr)),
            read.en.eq(1),
            bus.dat_r.eq(Cat(low, high)),
            bus.ack.eq(active & (step == last)),
        ]
        m.d.sync += step.eq(Mux(active & (step != last), step + 1, 0))
        with m.If(step == 1):
            m.d.sync += low.eq(read.data)
        return m
