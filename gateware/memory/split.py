# SPDX-License-Identifier: BSD-2-Clause
"""Memory split: one port for two memories, a fast one below an address limit and another above
it."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_integer
from ..parts.queues import ShiftQueue, StreamBuffer
from .port import MAX_BEATS, MemoryPort, RequestLayout
from .width import NOBODYS
from .words import check_size

__all__ = ["MemorySplit"]


class MemorySplit(wiring.Component):
    """Address decoder of a memory port: addresses below the limit go to `low`, others to `high`,
    unchanged.

    A request that crosses the border is cut in two. Answers return in the order of the requests, so
    that an answer of one memory waits while an earlier request of the other is not answered. A
    request that leaves the memory is refused whole.

    Latency: a cycle for requests, in which their addresses are compared, none for answers; write
    data pass from the cycle after their request has. Throughput: one request and one beat per
    cycle, and a cycle more for a request that is cut.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat of all three ports: 1, 2, 4, 8 or 16.
    border : int
        First byte address of `high`; a multiple of 64, so that it is no window's middle.
    size : int
        Bytes of the whole address space, more than `border`, at most 2^31.
    outstanding : int
        Requests under way, those that were cut counted twice: at least 2.

    Members
    -------
    port : In(MemoryPort)
    low, high : Out(MemoryPort)
    """

    def __init__(self, *, beat_bytes: int, border: int, size: int, outstanding: int = 4) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_size(size, beat_bytes, largest=NOBODYS)
        check_integer("Border", border, 64, size - 1, multiple_of=64, unit="bytes")
        check_integer("Number of outstanding requests", outstanding, 2, 64)
        self._beat_bytes, self._border, self._size, self._outstanding = (
            beat_bytes,
            border,
            size,
            outstanding,
        )
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)),
                "low": Out(MemoryPort(beat_bytes)),
                "high": Out(MemoryPort(beat_bytes)),
            }
        )
        #: Parts whose answers are outstanding, and parts of writes whose data are. For proofs.
        self._order = ShiftQueue(
            shape=data.StructLayout({"high": 1, "write": 1, "final": 1}), depth=outstanding
        )
        self._writes = ShiftQueue(shape=data.StructLayout({"high": 1, "left": 8}), depth=2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.order, m.submodules.writes = self._order, self._writes
        self._split_requests(m)
        self._route_writes(m)
        self._route_answers(m)
        return m

    def _compare(self, m):
        """Registered stream of requests with their address comparisons. The comparisons are slow,
        and the register keeps them out of the paths to both memories."""
        buffer = m.submodules.requests = StreamBuffer(
            shape=data.StructLayout(
                {
                    "request": RequestLayout(),
                    "leaves": 1,  # it is out of bounds
                    "below": 1,  # it begins below the border
                    "crosses": 1,
                    "lower": range(MAX_BEATS + 1),  # beats below the border, if it crosses
                }
            )
        )
        asked, put = self.port.req, buffer.i.payload
        shift = self._beat_bytes.bit_length() - 1
        border = self._border >> shift
        first, end = Signal(32 - shift), Signal(33 - shift)  # in beats
        m.d.comb += [
            first.eq(asked.payload.address >> shift),
            end.eq(first + asked.payload.beats + 1),
            put.request.eq(asked.payload),
            put.leaves.eq(end > self._size >> shift),
            put.below.eq(first < border),
            put.crosses.eq((first < border) & (end > border) & (end <= self._size >> shift)),
            put.lower.eq(border - first),
            buffer.i.valid.eq(asked.valid),
            asked.ready.eq(buffer.i.ready),
        ]
        return buffer.o

    def _split_requests(self, m):
        compared, low, high = self._compare(m), self.low.req, self.high.req
        asked = compared.payload.request
        leaves, below, crosses, lower = (
            compared.payload.leaves,
            compared.payload.below,
            compared.payload.crosses,
            compared.payload.lower,
        )
        second = Signal()  # the lower part of a request that crosses was taken
        to_high, free, final, taken = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            to_high.eq(~below | second | leaves),
            final.eq(~crosses | second),
            free.eq(compared.valid & self._order.i.ready & (self._writes.i.ready | ~asked.write)),
            low.valid.eq(free & ~to_high),
            high.valid.eq(free & to_high),
            taken.eq(free & Mux(to_high, high.ready, low.ready)),
            compared.ready.eq(taken & final),
            low.payload.eq(asked),
            high.payload.eq(asked),
        ]
        with m.If(crosses):
            m.d.comb += [
                low.payload.beats.eq(lower - 1),
                high.payload.beats.eq(asked.beats - lower),
                high.payload.address.eq(self._border),
            ]
        with m.If(leaves):
            m.d.comb += high.payload.address.eq(NOBODYS)
        with m.If(taken):
            m.d.sync += second.eq(~final)
        m.d.comb += [
            self._order.i.valid.eq(taken),
            self._order.i.payload.high.eq(to_high),
            self._order.i.payload.final.eq(final),
            self._order.i.payload.write.eq(asked.write),
            self._writes.i.valid.eq(taken & asked.write),
            self._writes.i.payload.high.eq(to_high),
            self._writes.i.payload.left.eq(Mux(to_high, high.payload.beats, low.payload.beats)),
        ]

    def _route_writes(self, m):
        wide, writes = self.port.w, self._writes.o
        done, beat, last = Signal(8), Signal(), Signal()
        for memory, mine in ((self.low, ~writes.payload.high), (self.high, writes.payload.high)):
            m.d.comb += [
                memory.w.payload.eq(wide.payload),
                memory.w.valid.eq(wide.valid & writes.valid & mine),
            ]
        m.d.comb += [
            wide.ready.eq(
                writes.valid & Mux(writes.payload.high, self.high.w.ready, self.low.w.ready)
            ),
            beat.eq(wide.valid & wide.ready),
            last.eq(done == writes.payload.left),
            writes.ready.eq(beat & last),
        ]
        with m.If(beat):
            m.d.sync += done.eq(Mux(last, 0, done + 1))

    def _route_answers(self, m):
        port, head = self.port, self._order.o
        reads, writes, final = Signal(), Signal(), head.payload.final
        m.d.comb += [
            reads.eq(head.valid & ~head.payload.write),
            writes.eq(head.valid & head.payload.write),
        ]
        refused = Signal()  # the lower part of a write had an error
        with m.Switch(head.payload.high):
            for high, memory in enumerate((self.low, self.high)):
                with m.Case(high):
                    m.d.comb += [
                        port.r.payload.eq(memory.r.payload),
                        port.r.payload.last.eq(memory.r.payload.last & final),
                        port.r.valid.eq(memory.r.valid & reads),
                        memory.r.ready.eq(port.r.ready & reads),
                        port.ack.payload.error.eq(memory.ack.payload.error | refused),
                        port.ack.valid.eq(memory.ack.valid & writes & final),
                        memory.ack.ready.eq((port.ack.ready | ~final) & writes),
                        head.ready.eq(
                            (memory.r.valid & memory.r.ready & memory.r.payload.last)
                            | (memory.ack.valid & memory.ack.ready)
                        ),
                    ]
        with m.If(head.ready & writes):
            m.d.sync += refused.eq(~final & port.ack.payload.error)
