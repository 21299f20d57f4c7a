# SPDX-License-Identifier: BSD-2-Clause
"""A queue of two whose readiness is a flip-flop of its own."""
from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PairQueue"]


class PairQueue(wiring.Component):
    """Two entries, one a cycle, latency one cycle. ``i.ready`` comes from a flip-flop that nothing inside reads, without a gate
    behind it: it may drive as much as it likes and the queue's own loop stays short.

    Parameters
    ----------
    shape : ShapeLike

    Members
    -------
    i : In(stream), o : Out(stream)
    """
    def __init__(self, *, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        head, second = Signal.like(self.o.payload, reset_less=True), Signal.like(self.o.payload, reset_less=True)
        held, full, room = Signal(), Signal(), Signal(init=1)
        pop, push, full_next = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(room), self.o.valid.eq(held), self.o.payload.eq(head), pop.eq(held & self.o.ready),
            push.eq(self.i.valid & ~full), full_next.eq(~pop & (full | (push & held)))]
        m.d.sync += [full.eq(full_next), room.eq(~full_next), held.eq((held & ~pop) | full | push)]
        with m.If(pop | ~held):
            m.d.sync += head.eq(Mux(full, second, self.i.payload))
        with m.If(~full):
            m.d.sync += second.eq(self.i.payload)
        return m
