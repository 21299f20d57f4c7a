# SPDX-License-Identifier: BSD-2-Clause
"""LiteDRAM native master for a memory port."""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...arguments import check_integer
from ...memory.port import MemoryPort, RequestLayout, WriteLayout
from ...parts.queues import RAMQueue, ShiftQueue, StreamBuffer
from ..signatures import NativePort, check_base

__all__ = ["NativeMaster"]


class NativeMaster(wiring.Component):
    """LiteDRAM master: carries out the requests of a memory port on LiteDRAM's native port in
    order, one command per beat.

    The controller waits neither for write data nor for a place for read data: a write command is
    issued with its data in the queue, a read command with its data's place reserved. A write is
    acknowledged when the controller has taken its last beat; each later command of the same
    address is behind it in the queue of its bank. The port knows no errors.

    Latency: two cycles for a request, two for read data. Throughput: one beat per cycle, bursts and
    single beats back to back.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of the port, 1 to 16.
    base : int
        Address of the port's byte 0 in the chip's memory, put on the address by OR.
    outstanding : int
        Largest number of requests under way, 1 to 32.
    buffer : int
        Beats of read data under way or waiting, 2 to 4096.
    writes : int
        Beats of write data under way, a power of two from 16 to 512: at full rate the cycles from a
        write command to its data, and three.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    bus : Out(NativePort(beat_bytes))
    """

    def __init__(
        self,
        *,
        beat_bytes: int,
        base: int = 0,
        outstanding: int = 8,
        buffer: int = 64,
        writes: int = 32,
    ) -> None:
        signature = NativePort(beat_bytes)
        check_base(base, beat_bytes)
        check_integer("Requests under way", outstanding, 1, 32)
        check_integer("Beats of the read buffer", buffer, 2, 4096)
        check_integer("Beats of the write buffer", writes, 16, 512, power_of_two=True)
        self._beat_bytes, self._base = beat_bytes, base
        self.outstanding, self.buffer = outstanding, buffer
        super().__init__({"port": In(MemoryPort(beat_bytes)), "bus": Out(signature)})
        # State that the proofs look at (tests/gateware/bus/test_bus_master_proofs.py).
        #: Beats of the read buffer that no issued command has reserved.
        self._credits = Signal(range(buffer + 1), init=buffer)
        self._answers = SyncFIFOBuffered(width=8 * beat_bytes, depth=buffer)
        self._data = RAMQueue(
            shape=data.StructLayout({"beat": WriteLayout(beat_bytes), "last": 1}), depth=writes
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        order = m.submodules.order = ShiftQueue(
            shape=data.StructLayout({"write": 1, "beats": unsigned(8)}), depth=self.outstanding
        )
        self._issue(m, order)
        self._collect(m, order)
        return m

    def _issue(self, m, order):
        bus, shift = self.bus, exact_log2(self._beat_bytes)
        requests = m.submodules.requests = StreamBuffer(shape=RequestLayout())
        beats = m.submodules.beats = StreamBuffer(shape=WriteLayout(self._beat_bytes))
        connect(m, flipped(self.port.req), requests.i)
        connect(m, flipped(self.port.w), beats.i)
        queue = m.submodules.data = self._data

        active, write = Signal(), Signal()
        address, left = Signal.like(bus.cmd_addr), Signal(8)
        free, step, ends, take = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~bus.cmd_valid | bus.cmd_ready),
            step.eq(active & free & Mux(write, beats.o.valid & queue.space, self._credits != 0)),
            ends.eq(step & (left == 0)),
            beats.o.ready.eq(step & write),
            queue.put.eq(step & write),
            queue.entry.beat.eq(beats.o.payload),
            queue.entry.last.eq(left == 0),
            bus.wdata_valid.eq(queue.o.valid),
            bus.wdata_data.eq(queue.o.payload.beat.data),
            bus.wdata_we.eq(queue.o.payload.beat.mask),
            queue.o.ready.eq(bus.wdata_ready),
        ]
        with m.If(bus.cmd_ready):
            m.d.sync += bus.cmd_valid.eq(0)
        with m.If(step):
            m.d.sync += [
                bus.cmd_valid.eq(1),
                bus.cmd_we.eq(write),
                bus.cmd_addr.eq(address | (self._base >> shift)),
                bus.cmd_last.eq(left == 0),
                address.eq(address + 1),
                left.eq(left - 1),
            ]
        asked = requests.o.payload
        m.d.comb += [
            take.eq((~active | ends) & order.i.ready),
            requests.o.ready.eq(take),
            order.i.valid.eq(take & requests.o.valid),
            order.i.payload.write.eq(asked.write),
            order.i.payload.beats.eq(asked.beats),
        ]
        with m.If(ends):
            m.d.sync += active.eq(0)
        with m.If(take & requests.o.valid):
            m.d.sync += [
                active.eq(1),
                write.eq(asked.write),
                address.eq(asked.address[shift:]),
                left.eq(asked.beats),
            ]
        taken = self._answers.r_en & self._answers.r_rdy
        m.d.sync += self._credits.eq(self._credits + taken - (step & ~write))

    def _collect(self, m, order):
        bus, port, head, queue = self.bus, self.port, order.o, self._data
        answers = m.submodules.answers = self._answers
        write, given = head.payload.write, Signal(8)
        #: Writes whose last beat was taken, and which are not acknowledged.
        landed = Signal(range(self.outstanding + 1))
        m.d.comb += [
            bus.rdata_ready.eq(1),
            answers.w_en.eq(bus.rdata_valid),
            answers.w_data.eq(bus.rdata_data),
            port.r.valid.eq(head.valid & ~write & answers.r_rdy),
            port.r.payload.data.eq(answers.r_data),
            port.r.payload.last.eq(given == head.payload.beats),
            answers.r_en.eq(head.valid & ~write & port.r.ready),
            port.ack.valid.eq(head.valid & write & (landed != 0)),
            head.ready.eq(
                Mux(
                    write,
                    port.ack.valid & port.ack.ready,
                    port.r.valid & port.r.ready & port.r.payload.last,
                )
            ),
        ]
        with m.If(port.r.valid & port.r.ready):
            m.d.sync += given.eq(Mux(port.r.payload.last, 0, given + 1))
        m.d.sync += landed.eq(
            landed
            + (queue.o.valid & queue.o.ready & queue.o.payload.last)
            - (port.ack.valid & port.ack.ready)
        )
