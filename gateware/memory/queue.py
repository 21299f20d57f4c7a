# SPDX-License-Identifier: BSD-2-Clause
"""Small stream helpers of the memory's parts."""
from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ShiftQueue", "StreamBuffer"]


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
        self._entries = [Signal(shape, name=f"entry_{i}") for i in range(depth)]
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
        spare = Signal.like(self.i.payload)
        held = Signal()
        m.d.comb += self.i.ready.eq(~held)
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += [self.o.valid.eq(self.i.valid | held), held.eq(0)]
            with m.If(held):
                m.d.sync += self.o.payload.eq(spare)
            with m.Else():
                m.d.sync += self.o.payload.eq(self.i.payload)
        with m.Elif(self.i.valid & ~held):
            m.d.sync += [spare.eq(self.i.payload), held.eq(1)]
        return m
