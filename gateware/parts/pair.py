# SPDX-License-Identifier: BSD-2-Clause
"""A queue of two whose readiness is a flip-flop of its own."""
from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PairQueue"]


class PairQueue(wiring.Component):
    """Two entries, one a cycle, latency one cycle. ``i.ready`` comes from a flip-flop that nothing inside reads, without a gate
    behind it: it may drive as much as it likes and the queue's own loop stays short. ``o.payload`` is 0 while there is nothing.

    Parameters
    ----------
    shape : ShapeLike

    Members
    -------
    i : In(stream), o : Out(stream); ``o.ready`` only while ``o.valid``
    """
    def __init__(self, *, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        #: What stands behind the head, if anything does: for proofs.
        self.second = Signal(len(Value.cast(self.i.payload)), reset_less=True)
        #: ``i.ready`` of the next cycle: for copies of it.
        self.room_next = Signal()

    def elaborate(self, platform):
        m = Module()
        bits = len(Value.cast(self.i.payload))
        head, second, new = Signal(bits), self.second, Signal(bits)
        held, full, room = Signal(), Signal(), Signal(init=1)
        pop, push, full_next = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(room), self.o.valid.eq(held), Value.cast(self.o.payload).eq(head),
            new.eq(Value.cast(self.i.payload) & self.i.valid.replicate(bits)), pop.eq(self.o.ready),
            push.eq(self.i.valid & ~full), full_next.eq(~pop & (full | (push & held))), self.room_next.eq(~full_next)]
        m.d.sync += [full.eq(full_next), room.eq(self.room_next), held.eq((held & ~pop) | full | push)]
        with m.If(pop | ~held):
            m.d.sync += head.eq(Mux(full, second, new))
        with m.If(~full):
            m.d.sync += second.eq(self.i.payload)
        return m
