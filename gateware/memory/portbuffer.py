# SPDX-License-Identifier: BSD-2-Clause
"""Register stage of a memory port."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..parts.queues import RAMQueue, StreamBuffer
from .port import MemoryPort

__all__ = ["PortBuffer"]

#: Bytes of a beat from which on answers wait in distributed RAM.
_WIDE = 8


class PortBuffer(wiring.Component):
    """Register slice of a memory port in both directions, without combinational paths. Latency: one
    cycle each way; one request and one beat per cycle.

    Read data and acknowledgements share a buffer, so that they stay in order even if one of them
    waits. Of wide beats it is a queue in distributed RAM: whether an answer is taken is known late,
    and would have to reach every bit of two entries.

    Parameters
    ----------
    beat_bytes : int

    Members
    -------
    port : In(MemoryPort)
    memory : Out(MemoryPort); of what answers it is asked that it offers one answer at a time,
        as an arbiter does
    """

    def __init__(self, *, beat_bytes: int) -> None:
        self._beat_bytes = beat_bytes
        super().__init__(
            {"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(beat_bytes))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, memory = self.port, self.memory
        for name in ("req", "w"):
            source, sink = getattr(port, name), getattr(memory, name)
            buffer = m.submodules[name] = StreamBuffer(shape=source.payload.shape())
            connect(m, flipped(source), buffer.i)
            connect(m, buffer.o, flipped(sink))
        shape, ready = data.StructLayout({"r": port.r.payload.shape(), "ack": 1}), Signal()
        comes = Signal()
        if self._beat_bytes >= _WIDE:
            answers = m.submodules.answers = RAMQueue(shape=shape)
            put = answers.entry
            m.d.comb += [ready.eq(answers.space), answers.put.eq(comes & answers.space)]
        else:
            answers = m.submodules.answers = StreamBuffer(shape=shape)
            put = answers.i.payload
            m.d.comb += [ready.eq(answers.i.ready), answers.i.valid.eq(comes)]
        got = answers.o.payload
        m.d.comb += [
            put.r.eq(memory.r.payload),
            put.ack.eq(~memory.r.valid),
            comes.eq(memory.r.valid | memory.ack.valid),
            memory.r.ready.eq(ready),
            memory.ack.ready.eq(ready & ~memory.r.valid),
            port.r.valid.eq(answers.o.valid & ~got.ack),
            port.r.payload.eq(got.r),
            port.ack.valid.eq(answers.o.valid & got.ack),
            port.ack.payload.error.eq(got.r.error),
            answers.o.ready.eq(Mux(got.ack, port.ack.ready, port.r.ready)),
        ]
        with m.If(put.ack):
            m.d.comb += put.r.error.eq(memory.ack.payload.error)
        return m
