# SPDX-License-Identifier: BSD-2-Clause
"""Wishbone bridge to a memory port (docs/how/contracts.md, section 2)."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_integer
from ..bus.soclib import MemoryMap, wishbone
from .port import MemoryPort

__all__ = ["WishboneFront"]


class WishboneFront(wiring.Component):
    """Wishbone bridge: a 32-bit Wishbone slave with byte enables that accesses a memory port.

    One word at a time: a word is one beat where beats are of 4 bytes or more, else a burst of 4 /
    ``beat_bytes``. ``ack`` or ``err`` comes with the last answer of the memory, one cycle after the
    memory's port offered it at the latest.

    A master that drops its cycle early (a watchdog's end, a reset) leaves the memory in order: what
    was asked is finished and not answered; beats of a write not yet taken are written with mask 0.
    ``cyc`` or ``stb`` must then be low for one cycle at least, before the next cycle of the bus
    begins.

    Parameters
    ----------
    beat_bytes : int
        1, 2, 4, 8 or 16.
    size : int
        Bytes of the memory behind, a power of two of at least 8: sets the width of the bus address
        and the memory map.

    Members
    -------
    bus : In(wishbone.Signature), 32 bits wide, granularity 8, with ``err``; word addresses
    memory : Out(MemoryPort)
    """

    def __init__(self, *, beat_bytes: int, size: int = 1 << 31) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_integer("Size", size, 8, 1 << 32, power_of_two=True)
        self.beat_bytes = beat_bytes
        self.size = size
        address_width = size.bit_length() - 1
        super().__init__(
            {
                "bus": In(
                    wishbone.Signature(
                        addr_width=address_width - 2, data_width=32, granularity=8, features={"err"}
                    )
                ),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )
        memory_map = MemoryMap(addr_width=address_width, data_width=8)
        memory_map.add_resource(self, name=("memory",), size=size)
        self.bus.memory_map = memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, memory = self.bus, self.memory
        beats = max(1, 4 // self.beat_bytes)
        lanes = max(1, self.beat_bytes // 4)
        lane_bits = lanes.bit_length() - 1

        active, write = Signal(), Signal()
        asking, paying = Signal(), Signal()  # the request, or write beats, are still to be taken
        index = Signal(range(max(2, beats)))  # beat that is written or read
        orphaned = Signal()  # the master has dropped the cycle since
        attended = Signal()
        m.d.comb += attended.eq(bus.cyc & bus.stb & ~orphaned)

        m.d.comb += [
            memory.req.valid.eq(asking),
            memory.req.payload.write.eq(write),
            memory.req.payload.beats.eq(beats - 1),
            memory.req.payload.address.eq(Cat(0, 0, bus.adr) & ~(self.beat_bytes - 1)),
            memory.w.valid.eq(paying),
            memory.r.ready.eq(active),
            memory.ack.ready.eq(active),
        ]
        with m.If(memory.req.ready):
            m.d.sync += asking.eq(0)

        # Write data: a part of the word, or the word in its lane of the beat.
        if lanes == 1:
            width = 8 * self.beat_bytes
            m.d.comb += memory.w.payload.data.eq(
                bus.dat_w.word_select(index, width) if beats > 1 else bus.dat_w
            )
            mask = bus.sel.word_select(index, self.beat_bytes) if beats > 1 else bus.sel
        else:
            m.d.comb += memory.w.payload.data.eq(bus.dat_w.replicate(lanes))
            mask = bus.sel << (4 * bus.adr[:lane_bits])
        with m.If(attended):
            m.d.comb += memory.w.payload.mask.eq(mask)
        with m.If(memory.w.valid & memory.w.ready):
            m.d.sync += index.eq(index + 1)
            with m.If(index == beats - 1):
                m.d.sync += [paying.eq(0), index.eq(0)]

        # Answers.
        ends, error, earlier = Signal(), Signal(), Signal()
        beat = Signal()
        m.d.comb += [
            beat.eq(memory.r.valid & active),
            ends.eq((beat & memory.r.payload.last) | (memory.ack.valid & active)),
            error.eq(
                (beat & memory.r.payload.error)
                | (memory.ack.valid & memory.ack.payload.error)
                | earlier
            ),
            bus.ack.eq(ends & ~error & attended),
            bus.err.eq(ends & error & attended),
        ]
        data = memory.r.payload.data
        if lanes > 1:
            m.d.comb += bus.dat_r.eq(data.word_select(bus.adr[:lane_bits], 32))
        elif beats == 1:
            m.d.comb += bus.dat_r.eq(data)
        else:
            # Earlier beats are shifted towards the low end; the last one passes.
            before = Signal(32 - len(data))
            m.d.comb += bus.dat_r.eq(Cat(before, data))
            with m.If(beat):
                m.d.sync += before.eq(Cat(before, data) >> len(data))
        with m.If(beat):
            m.d.sync += earlier.eq(error)

        with m.If(~active):
            m.d.sync += orphaned.eq(0)
            with m.If(bus.cyc & bus.stb):
                m.d.sync += [active.eq(1), write.eq(bus.we), asking.eq(1), paying.eq(bus.we)]
        with m.Else():
            with m.If(~(bus.cyc & bus.stb)):
                m.d.sync += orphaned.eq(1)
            with m.If(ends):
                m.d.sync += [active.eq(0), earlier.eq(0)]
        return m
