# SPDX-License-Identifier: BSD-2-Clause
"""Gate in front of a memory that knows no errors: it holds requests back until the memory is ready,
and answers those that it must not get."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arguments import check_beat_bytes, check_integer
from ...parts.queues import StreamBuffer
from ..port import MAX_BEATS, MemoryPort, RequestLayout
from ..words import check_size

__all__ = ["RequestGate"]


class RequestGate(wiring.Component):
    """Passes requests that lie inside a memory once it is ready, and answers all others in full
    length with an error: those that leave the memory, and every one if the memory has failed.

    A refused request is answered when nothing else is outstanding, so that answers keep their
    order. Latency: one cycle for a request, none for data and answers. Throughput: one beat per
    cycle.

    Parameters
    ----------
    beat_bytes : int
    size : int
        Bytes of the memory.
    outstanding : int
        Largest number of requests under way.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    memory : Out(MemoryPort(beat_bytes))
    ready : In(1)
        Requests may pass. It never falls.
    failed : In(1)
        The memory does not work. Never high once ``ready`` was.
    """

    def __init__(self, *, beat_bytes: int, size: int, outstanding: int = 16) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16))
        check_size(size, beat_bytes)
        check_integer("Number of outstanding requests", outstanding, 1, 64)
        self._beat_bytes, self._size, self._outstanding = beat_bytes, size, outstanding
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)),
                "memory": Out(MemoryPort(beat_bytes)),
                "ready": In(1),
                "failed": In(1),
            }
        )

    def _compare(self, m):
        """Requests with the comparison of their addresses, behind a register: the comparison is
        slow."""
        buffer = m.submodules.requests = StreamBuffer(
            shape=data.StructLayout({"request": RequestLayout(), "leaves": 1})
        )
        asked, shift = self.port.req, self._beat_bytes.bit_length() - 1
        end = Signal(33 - shift)  # in beats
        m.d.comb += [
            end.eq((asked.payload.address >> shift) + asked.payload.beats + 1),
            buffer.i.payload.request.eq(asked.payload),
            buffer.i.payload.leaves.eq(end > self._size >> shift),
            buffer.i.valid.eq(asked.valid),
            asked.ready.eq(buffer.i.ready),
        ]
        return buffer.o

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, memory, compared = self.port, self.memory, self._compare(m)
        asked = compared.payload.request
        #: Requests that memory has not answered, and write beats that it has not got.
        count, owed = Signal(range(self._outstanding + 1)), Signal(range(2 * MAX_BEATS + 1))
        passes, taken, answered, beat = Signal(), Signal(), Signal(), Signal()
        refusing, left, acknowledge = Signal(), Signal(8), Signal()
        m.d.comb += [
            # A write may pass while at most one other's data are outstanding.
            passes.eq(
                self.ready
                & ~compared.payload.leaves
                & ~refusing
                & ~acknowledge
                & (count != self._outstanding)
                & (~asked.write | (owed <= MAX_BEATS))
            ),
            memory.req.payload.eq(asked),
            memory.req.valid.eq(compared.valid & passes),
            taken.eq(memory.req.valid & memory.req.ready),
            # Data
            memory.w.payload.eq(port.w.payload),
            memory.w.valid.eq(port.w.valid & (owed != 0)),
            beat.eq(memory.w.valid & memory.w.ready),
            # Answers
            port.r.payload.eq(memory.r.payload),
            port.r.valid.eq(memory.r.valid),
            memory.r.ready.eq(port.r.ready),
            port.ack.payload.eq(memory.ack.payload),
            port.ack.valid.eq(memory.ack.valid),
            memory.ack.ready.eq(port.ack.ready),
            answered.eq(
                (memory.r.valid & memory.r.ready & memory.r.payload.last)
                | (memory.ack.valid & memory.ack.ready)
            ),
            port.w.ready.eq(memory.w.ready & (owed != 0)),
        ]
        m.d.sync += [
            count.eq(count + taken - answered),
            owed.eq(owed + Mux(taken & asked.write, asked.beats + 1, 0) - beat),
        ]
        m.d.comb += compared.ready.eq(taken)

        refuse = compared.valid & (self.failed | (self.ready & compared.payload.leaves))
        with m.If(refuse & ~refusing & ~acknowledge & (count == 0)):
            m.d.sync += [refusing.eq(1), left.eq(asked.beats)]
        with m.If(refusing):
            step = Signal()
            with m.If(asked.write):
                m.d.comb += [port.w.ready.eq(1), step.eq(port.w.valid)]
            with m.Else():
                m.d.comb += [
                    port.r.valid.eq(1),
                    port.r.payload.error.eq(1),
                    port.r.payload.last.eq(left == 0),
                    step.eq(port.r.ready),
                ]
            with m.If(step):
                m.d.sync += left.eq(left - 1)
                with m.If(left == 0):
                    m.d.comb += compared.ready.eq(1)
                    m.d.sync += [refusing.eq(0), acknowledge.eq(asked.write)]
        with m.If(acknowledge):
            m.d.comb += [port.ack.valid.eq(1), port.ack.payload.error.eq(1)]
            with m.If(port.ack.ready):
                m.d.sync += acknowledge.eq(0)
        return m
