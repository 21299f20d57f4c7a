# SPDX-License-Identifier: BSD-2-Clause
"""Asynchronous SRAM controller: reads a 16-bit word every cycle, or writes one every two cycles."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arguments import check_beat_bytes
from ...parts.queues import ShiftQueue
from ..port import MemoryPort, ReadLayout, RequestLayout
from .parts import SRAMPart, find_sram
from .phy import SRAMPins

__all__ = ["SRAMController"]

#: Reads under way and answers that wait, together: as many as a stream of one a cycle needs.
DEPTH = 4


class SRAMController(wiring.Component):
    """Asynchronous SRAM controller: a memory port for a chip of 16 bits.

    A read takes one cycle on the pins. A write takes two, with its pulse from the middle of the
    first to the middle of the second, so that address and data stand half a cycle before and after
    it. One idle cycle lies between reads and writes, in which nobody drives the data lines. Bursts
    of one direction follow each other without a gap. A beat of four bytes is two words, the lower
    one first.

    Latency: the first beat of a read is offered four cycles after its request was taken, five with
    beats of four bytes; a write is acknowledged two cycles after its last beat was taken. Requests
    that leave the memory are answered with ``error``, and write nothing.

    Parameters
    ----------
    part : SRAMPart or str
    clock_hz : float
        Frequency of ``sync``; the part must be fast enough for it.
    beat_bytes : 2 or 4

    Members
    -------
    port : In(MemoryPort)
    pins : Out(SRAMPins), before the registers of the I/O cells

    Attributes
    ----------
    beat_bytes, size : int
    """

    kind = "SRAM"

    def __init__(self, *, part: SRAMPart | str, clock_hz: float, beat_bytes: int = 2) -> None:
        check_beat_bytes(beat_bytes, (2, 4))
        self.part = find_sram(part)
        self.part.check_clock(clock_hz)
        self.clock_hz = clock_hz
        self.beat_bytes = beat_bytes
        self.size = self.part.size
        super().__init__(
            {"port": In(MemoryPort(self.beat_bytes)), "pins": Out(SRAMPins(self.part))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, pins = self.port, self.pins
        width = self.part.address_bits
        halves = self.beat_bytes // 2
        asked = Signal(RequestLayout())
        busy, write, error = Signal(), Signal(), Signal()
        address, left = Signal(width), Signal(8)
        second = Signal()  # second cycle of a write
        upper = Signal()  # the upper word of a beat of two
        whole = upper if halves == 2 else Const(1)
        read_before, wrote_before = Signal(), Signal()  # on the pins in the cycle before this one
        reading, writing, read_beat, write_beat, ends = (
            Signal(name=n) for n in ("reading", "writing", "read_beat", "write_beat", "ends")
        )

        # Answers that were promised and not yet taken.
        promised = Signal(range(DEPTH + 1))
        taken = Signal()
        answers = m.submodules.answers = ShiftQueue(shape=ReadLayout(self.beat_bytes), depth=DEPTH)
        ack_waits = Signal()
        m.d.comb += [
            asked.eq(port.req.payload),
            port.req.ready.eq(~busy | ends),
            # Reads and writes answer in order: none begins while an answer of the other kind may
            # still wait.
            read_beat.eq(busy & ~write & (promised != DEPTH) & ~ack_waits & ~wrote_before),
            write_beat.eq(
                busy
                & write
                & port.w.valid
                & (promised == 0)
                & ~ack_waits
                & ~read_before
                & (second | error)
            ),
            writing.eq(
                busy & write & port.w.valid & (promised == 0) & ~ack_waits & ~read_before & ~error
            ),
            reading.eq(read_beat & ~error),
            ends.eq((read_beat | write_beat) & whole & (left == 0)),
            port.w.ready.eq(write_beat & whole),
            taken.eq(port.r.valid & port.r.ready),
        ]
        m.d.sync += [
            promised.eq(promised + (read_beat & whole) - taken),
            read_before.eq(reading),
            wrote_before.eq(writing),
            second.eq(writing & ~second),
        ]
        with m.If(read_beat | write_beat):
            m.d.sync += [address.eq(address + 1), left.eq(left - whole), upper.eq(~whole)]
        with m.If(port.req.ready):
            low, high = asked.address[halves : 1 + width], asked.address[1 + width :]
            m.d.sync += [
                busy.eq(port.req.valid),
                write.eq(asked.write),
                address.eq(low << halves - 1),
                left.eq(asked.beats),
                upper.eq(0),
                error.eq((low + asked.beats >= 1 << width >> halves - 1) | high.any()),
            ]

        m.d.comb += [
            pins.a.eq(address),
            pins.oe.eq(reading),
            pins.be.eq(Mux(write, port.w.payload.mask.word_select(upper, 2), 0b11)),
            pins.d.o.eq(port.w.payload.data.word_select(upper, 16)),
            pins.d.oe.eq(writing),
            pins.we.eq(Mux(writing, Mux(second, 0b01, 0b10), 0)),
        ]
        # On the pins in the first cycle, in the input registers in the second.
        stage, arrived = Signal(ReadLayout(2)), Signal(ReadLayout(2))
        on_pins, there = Signal(), Signal()
        m.d.sync += [
            stage.error.eq(error),
            stage.last.eq(left == 0),
            on_pins.eq(read_beat & whole),
            arrived.eq(stage),
            there.eq(on_pins),
        ]
        # The lower one of two words came a cycle before, or earlier.
        came = Signal(2)
        lower = Signal(16, reset_less=True)
        if halves == 2:
            m.d.sync += came.eq(Cat(read_beat & ~upper, came))
            with m.If(came[1]):
                m.d.sync += lower.eq(pins.d.i)
        m.d.comb += [
            answers.i.valid.eq(there),
            answers.i.payload.error.eq(arrived.error),
            answers.i.payload.last.eq(arrived.last),
            answers.i.payload.data.eq(Cat(lower, pins.d.i) if halves == 2 else pins.d.i),
        ]
        m.d.comb += [
            port.r.valid.eq(answers.o.valid),
            port.r.payload.eq(answers.o.payload),
            answers.o.ready.eq(port.r.ready),
            port.ack.valid.eq(ack_waits),
        ]
        with m.If(write_beat & whole & (left == 0)):
            m.d.sync += [ack_waits.eq(1), port.ack.payload.error.eq(error)]
        with m.Elif(port.ack.ready):
            m.d.sync += ack_waits.eq(0)
        return m
