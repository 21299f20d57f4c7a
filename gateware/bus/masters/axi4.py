# SPDX-License-Identifier: BSD-2-Clause
"""AXI4 master for a memory port."""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...arguments import check_integer
from ...memory.port import MemoryPort, RequestLayout, WriteLayout
from ...parts.queues import ShiftQueue, StreamBuffer
from ..signatures import AXI4, check_base

__all__ = ["AXI4Master"]

#: Bytes that a burst must not cross (AXI4 specification, A3.4.1); also the unit in which requests
#: are compared for a common address.
PAGE = 4096
#: Bits of a page's number that are compared: fewer cost less, and only make requests wait that
#: need not.
PAGE_BITS = 8
#: AxBURST of incrementing addresses.
INCR = 0b01
#: AxCACHE, normal memory, neither cacheable nor bufferable: the answer of a write comes from the
#: memory itself, so that every later reader finds the bytes there.
NOT_BUFFERABLE = 0b0010


class AXI4Master(wiring.Component):
    """AXI4 master: carries out the requests of a memory port as incrementing bursts with a single
    identifier.

    A request is cut at multiples of ``burst`` beats, so that no burst crosses 4 KiB. AXI4 orders
    reads and writes among themselves only: a burst waits as long as one of the other direction is
    unanswered whose page of 4 KiB may be the same. Answers come in the order of the requests.

    The space for a read burst's data is reserved before it is issued: ``rready`` and ``bready`` are
    always high, and a slow side that asks never holds up the interconnect.

    Latency: two cycles for a request, one for write data, two for read data. Throughput: one beat
    per cycle and direction, one burst per cycle.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of the bus, 1 to 16.
    base : int
        Bus address of the port's address 0, put on the address by OR.
    burst : int
        Largest number of beats of a burst, a power of two up to 256; with `beat_bytes`, 4 KiB at
        most.
    outstanding : int
        Largest number of bursts under way, 1 to 32.
    buffer : int
        Beats of read data under way or waiting, at least ``burst``.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    bus : Out(AXI4(beat_bytes))
    """

    def __init__(
        self,
        *,
        beat_bytes: int,
        base: int = 0,
        burst: int = 16,
        outstanding: int = 8,
        buffer: int = 64,
    ) -> None:
        signature = AXI4(beat_bytes)
        check_base(base, beat_bytes)
        most = min(256, PAGE // beat_bytes)
        check_integer("Beats of a burst", burst, 1, most, power_of_two=True)
        check_integer("Bursts under way", outstanding, 1, 32)
        # The read buffer holds a burst.
        check_integer("Beats of the read buffer", buffer, max(2, burst), 4096)
        self._beat_bytes, self._base, self.burst = beat_bytes, base, burst
        self.outstanding, self.buffer = outstanding, buffer
        super().__init__({"port": In(MemoryPort(beat_bytes)), "bus": Out(signature)})
        # State that the proofs look at (tests/gateware/bus/test_bus_master_proofs.py).
        #: Beats of the read buffer that no issued burst has reserved.
        self._credits = Signal(range(buffer + 1), init=buffer)
        self._answers = SyncFIFOBuffered(width=8 * beat_bytes + 2, depth=buffer)
        #: Unanswered bursts, in order.
        self._order = ShiftQueue(
            shape=data.StructLayout({"write": 1, "final": 1, "page": unsigned(PAGE_BITS)}),
            depth=outstanding,
        )
        #: Beats, less one, of the write bursts whose data are not all sent.
        self._writes = ShiftQueue(shape=unsigned(8), depth=outstanding)
        self._sent = Signal(8)
        #: Answers of writes, whether each is an error.
        self._written = ShiftQueue(shape=1, depth=outstanding)

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()
        self._cut(m, s)
        self._issue(m, s)
        self._send(m)
        self._collect(m)
        return m

    def _cut(self, m, s):
        """Splits requests into bursts: address, number of beats, and whether it is the request's
        last burst."""
        shift, block = exact_log2(self._beat_bytes), exact_log2(self.burst)
        requests = m.submodules.requests = StreamBuffer(shape=RequestLayout())
        connect(m, flipped(self.port.req), requests.i)
        s.active, s.write, s.final, s.issue = Signal(), Signal(), Signal(), Signal()
        s.address, left = Signal(32 - shift), Signal(8)
        s.beats, to_block = Signal(8), Signal(8)
        m.d.comb += [
            to_block.eq(~s.address[:block] if block else 0),
            s.final.eq(left <= to_block),
            s.beats.eq(Mux(s.final, left, to_block)),
            requests.o.ready.eq(~s.active | (s.issue & s.final)),
        ]
        asked = requests.o.payload
        with m.If(requests.o.ready):
            m.d.sync += [
                s.active.eq(requests.o.valid),
                s.write.eq(asked.write),
                s.address.eq(asked.address[shift:]),
                left.eq(asked.beats),
            ]
        with m.Elif(s.issue):
            m.d.sync += [left.eq(left - s.beats - 1), s.address.eq(s.address + s.beats + 1)]

    def _issue(self, m, s):
        bus, shift = self.bus, exact_log2(self._beat_bytes)
        order = m.submodules.order = self._order
        writes = m.submodules.writes = self._writes
        page = s.address[exact_log2(PAGE) - shift :][:PAGE_BITS]
        hazard, free, reserved = Signal(), Signal(), Signal()
        m.d.comb += [
            hazard.eq(
                Cat(
                    full & (entry.write != s.write) & (entry.page == page)
                    for full, entry in order.contents
                ).any()
            ),
            reserved.eq(self._credits > s.beats),
            free.eq(
                Mux(
                    s.write,
                    (~bus.awvalid | bus.awready) & writes.i.ready,
                    (~bus.arvalid | bus.arready) & reserved,
                )
            ),
            s.issue.eq(s.active & order.i.ready & ~hazard & free),
            order.i.valid.eq(s.issue),
            order.i.payload.write.eq(s.write),
            order.i.payload.final.eq(s.final),
            order.i.payload.page.eq(page),
            writes.i.valid.eq(s.issue & s.write),
            writes.i.payload.eq(s.beats),
        ]
        for way, mine in (("aw", s.write), ("ar", ~s.write)):
            valid, ready, address, beats = (
                getattr(bus, f"{way}{name}") for name in ("valid", "ready", "addr", "len")
            )
            m.d.comb += [
                getattr(bus, f"{way}size").eq(shift),
                getattr(bus, f"{way}burst").eq(INCR),
                getattr(bus, f"{way}cache").eq(NOT_BUFFERABLE),
            ]
            with m.If(ready):
                m.d.sync += valid.eq(0)
            with m.If(s.issue & mine):
                m.d.sync += [
                    valid.eq(1),
                    address.eq(s.address << shift | self._base),
                    beats.eq(s.beats),
                ]
        taken = self._answers.r_en & self._answers.r_rdy
        m.d.sync += self._credits.eq(
            self._credits + taken - Mux(s.issue & ~s.write, s.beats + 1, 0)
        )

    def _send(self, m):
        bus, writes, sent = self.bus, self._writes, self._sent
        beats = m.submodules.beats = StreamBuffer(shape=WriteLayout(self._beat_bytes))
        connect(m, flipped(self.port.w), beats.i)
        m.d.comb += [
            bus.wvalid.eq(beats.o.valid & writes.o.valid),
            bus.wdata.eq(beats.o.payload.data),
            bus.wstrb.eq(beats.o.payload.mask),
            bus.wlast.eq(sent == writes.o.payload),
            beats.o.ready.eq(bus.wready & writes.o.valid),
            writes.o.ready.eq(bus.wvalid & bus.wready & bus.wlast),
        ]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += sent.eq(Mux(bus.wlast, 0, sent + 1))

    def _collect(self, m):
        """Collects the bus's answers and returns them in the order of the requests."""
        bus, port, head = self.bus, self.port, self._order.o
        answers = m.submodules.answers = self._answers
        written = m.submodules.written = self._written
        answer = data.View(
            data.StructLayout({"data": 8 * self._beat_bytes, "error": 1, "last": 1}),
            answers.r_data,
        )
        failed, write = Signal(), head.payload.write
        m.d.comb += [
            bus.rready.eq(1),
            bus.bready.eq(1),
            answers.w_en.eq(bus.rvalid),
            # SLVERR and DECERR are 10 and 11.
            answers.w_data.eq(Cat(bus.rdata, bus.rresp[1], bus.rlast)),
            written.i.valid.eq(bus.bvalid),
            written.i.payload.eq(bus.bresp[1]),
            port.r.valid.eq(head.valid & ~write & answers.r_rdy),
            port.r.payload.data.eq(answer.data),
            port.r.payload.error.eq(answer.error),
            port.r.payload.last.eq(answer.last & head.payload.final),
            answers.r_en.eq(head.valid & ~write & port.r.ready),
            port.ack.valid.eq(head.valid & write & head.payload.final & written.o.valid),
            port.ack.payload.error.eq(written.o.payload | failed),
            written.o.ready.eq(head.valid & write & (port.ack.ready | ~head.payload.final)),
            head.ready.eq(
                Mux(
                    write,
                    written.o.valid & written.o.ready,
                    answers.r_rdy & answers.r_en & answer.last,
                )
            ),
        ]
        with m.If(written.o.valid & written.o.ready):
            m.d.sync += failed.eq((failed | written.o.payload) & ~head.payload.final)
