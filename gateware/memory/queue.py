# SPDX-License-Identifier: BSD-2-Clause
"""Small stream helpers of the memory's parts."""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .port import MemoryPort

__all__ = ["PortBuffer", "ShiftQueue", "StreamBuffer"]


class ShiftQueue(wiring.Component):
    """A queue of a few entries in flip-flops: entries shift towards the head.

    Costs about one logic cell a bit, where an addressed queue of that depth costs three. Latency: one cycle; one entry
    a cycle. ``i.ready`` does not depend on ``o.ready``: a full queue takes nothing in the cycle it gives.

    Parameters
    ----------
    shape : ShapeLike
        Shape of an entry.
    depth : int
        Number of entries, at least 1.

    Members
    -------
    i : In(stream), o : Out(stream)

    Attributes
    ----------
    contents : list of (Signal, Signal)
        Of every place, head first: whether it holds an entry, and the entry.
    """
    def __init__(self, *, shape, depth):
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
            raise ValueError(f"Depth must be a positive integer, not {depth!r}")
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        # Without reset, as in a StreamBuffer.
        self._entries = [Signal(shape, name=f"entry_{i}", reset_less=True) for i in range(depth)]
        self._full = Signal(depth)  # thermometer: bit i is set when entry i holds something
        self.contents = list(zip(self._full, self._entries, strict=True))

    def elaborate(self, platform):
        m = Module()
        entries, full = self._entries, self._full
        push, pop = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full[-1]), self.o.valid.eq(full[0]), self.o.payload.eq(entries[0]),
            push.eq(self.i.valid & self.i.ready), pop.eq(self.o.valid & self.o.ready),
        ]
        with m.If(pop & ~push):
            m.d.sync += full.eq(full >> 1)
        with m.Elif(push & ~pop):
            m.d.sync += full.eq(Cat(1, full))
        for i, entry in enumerate(entries):
            # The newest entry's place, after this cycle's shift, takes what comes in.
            newest = full[i] if i == self.depth - 1 else full[i] & ~full[i + 1]
            after = entries[i + 1] if i + 1 < self.depth else self.i.payload
            with m.If(pop):
                m.d.sync += entry.eq(after)
                with m.If(newest):
                    m.d.sync += entry.eq(self.i.payload)
            with m.Elif(~full[i]):
                m.d.sync += entry.eq(self.i.payload)
        return m


class StreamBuffer(wiring.Component):
    """Two entries that cut every combinational path between ``i`` and ``o``, both ways. Latency: one cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.

    Members
    -------
    i : In(stream), o : Out(stream)
    """
    def __init__(self, *, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        # Payloads without reset: what nobody looks at need not be 0, and a reset's wires are long.
        spare, payload = Signal.like(self.i.payload, reset_less=True), Signal.like(self.o.payload, reset_less=True)
        held = Signal()
        m.d.comb += [self.i.ready.eq(~held), self.o.payload.eq(payload)]
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [self.o.valid.eq(self.i.valid | held), held.eq(0)]
            with m.If(held):
                m.d.sync += payload.eq(spare)
            with m.Else():
                m.d.sync += payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~held):
            m.d.sync += [spare.eq(self.i.payload), held.eq(1)]
        return m


class PortBuffer(wiring.Component):
    """Registers in both directions of a memory port: no combinational path passes. Latency: a cycle each way; one request and
    one beat a cycle.

    Read data and acknowledgements share a buffer, so that they stay in order even if one of them waits.

    Parameters
    ----------
    beat_bytes : int

    Members
    -------
    port : In(MemoryPort)
    memory : Out(MemoryPort); of what answers it is asked that it offers one answer at a time, as an arbiter does
    """
    def __init__(self, *, beat_bytes):
        super().__init__({"port": In(MemoryPort(beat_bytes)), "memory": Out(MemoryPort(beat_bytes))})

    def elaborate(self, platform):
        m = Module()
        port, memory = self.port, self.memory
        for name in ("req", "w"):
            source, sink = getattr(port, name), getattr(memory, name)
            buffer = m.submodules[name] = StreamBuffer(shape=source.payload.shape())
            connect(m, flipped(source), buffer.i)
            connect(m, buffer.o, flipped(sink))
        answers = m.submodules.answers = StreamBuffer(shape=data.StructLayout({"r": port.r.payload.shape(), "ack": 1}))
        put, got = answers.i.payload, answers.o.payload
        m.d.comb += [
            put.r.eq(memory.r.payload), put.ack.eq(~memory.r.valid), answers.i.valid.eq(memory.r.valid | memory.ack.valid),
            memory.r.ready.eq(answers.i.ready), memory.ack.ready.eq(answers.i.ready & ~memory.r.valid),
            port.r.valid.eq(answers.o.valid & ~got.ack), port.r.payload.eq(got.r),
            port.ack.valid.eq(answers.o.valid & got.ack), port.ack.payload.error.eq(got.r.error),
            answers.o.ready.eq(Mux(got.ack, port.ack.ready, port.r.ready)),
        ]
        with m.If(put.ack):
            m.d.comb += put.r.error.eq(memory.ack.payload.error)
        return m
