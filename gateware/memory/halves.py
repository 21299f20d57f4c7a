# SPDX-License-Identifier: BSD-2-Clause
"""Memory port of wide beats on one whose beats are half as wide."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .port import MemoryPort

__all__ = ["HalfBeats"]


class HalfBeats(wiring.Component):
    """Every beat is two of the memory's, the lower half first; requests, errors and
    acknowledgements pass as they are.

    No latency: a beat read is offered while its upper half is. Requests are of 128 wide beats at
    most.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a wide beat, even.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    memory : Out(MemoryPort(beat_bytes // 2))
    """

    def __init__(self, *, beat_bytes):
        if beat_bytes % 2:
            raise ValueError(
                f"A beat of two halves must be an even number of bytes, not {beat_bytes!r}"
            )
        self._bits = 4 * beat_bytes
        super().__init__(
            {"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(beat_bytes // 2))}
        )

    def elaborate(self, platform):
        m = Module()
        port, memory, bits = self.port, self.memory, self._bits
        # Bursts answer in order and their beats are whole, so that each stream counts its halves by
        # itself.
        sends_upper, reads_upper = Signal(), Signal()
        lower, lower_error = Signal(bits, reset_less=True), Signal(reset_less=True)
        asked, answer = port.req.payload, memory.r.payload
        m.d.comb += [
            memory.req.valid.eq(port.req.valid),
            port.req.ready.eq(memory.req.ready),
            memory.req.payload.address.eq(asked.address),
            memory.req.payload.write.eq(asked.write),
            memory.req.payload.beats.eq(Cat(Const(1, 1), asked.beats[:7])),
            memory.w.valid.eq(port.w.valid),
            port.w.ready.eq(memory.w.ready & sends_upper),
            memory.w.payload.data.eq(port.w.payload.data.word_select(sends_upper, bits)),
            memory.w.payload.mask.eq(port.w.payload.mask.word_select(sends_upper, bits // 8)),
            port.r.valid.eq(memory.r.valid & reads_upper),
            memory.r.ready.eq(port.r.ready | ~reads_upper),
            port.r.payload.data.eq(Cat(lower, answer.data)),
            port.r.payload.error.eq(answer.error | lower_error),
            port.r.payload.last.eq(answer.last),
            port.ack.valid.eq(memory.ack.valid),
            port.ack.payload.eq(memory.ack.payload),
            memory.ack.ready.eq(port.ack.ready),
        ]
        with m.If(memory.w.valid & memory.w.ready):
            m.d.sync += sends_upper.eq(~sends_upper)
        with m.If(memory.r.valid & memory.r.ready):
            m.d.sync += [
                reads_upper.eq(~reads_upper),
                lower.eq(answer.data),
                lower_error.eq(answer.error),
            ]
        return m
