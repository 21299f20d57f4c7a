# SPDX-License-Identifier: BSD-2-Clause
"""Arbiter of two Wishbone masters."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .soclib import wishbone

__all__ = ["BusShare"]


class BusShare(wiring.Component):
    """Round-robin arbiter: two masters share one bus.

    A master keeps the bus until its ``cyc`` falls, which both must let happen between two words.
    In that cycle the bus goes to the other one, if it asks. So neither waits for more than one word
    of the other, and ``cyc`` of the bus is low for a cycle between two words.

    Members
    -------
    first, second : In, bus : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8,
        with ``err``. After a reset the bus is that of ``first``; a change takes a cycle.
    """

    def __init__(self) -> None:
        signature = wishbone.Signature(
            addr_width=30, data_width=32, granularity=8, features={"err"}
        )
        super().__init__({"first": In(signature), "second": In(signature), "bus": Out(signature)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, second, bus = self.first, self.second, self.bus
        turn = Signal()  # of the second master
        with m.If(turn):
            with m.If(~second.cyc & first.cyc):
                m.d.sync += turn.eq(0)
        with m.Elif(~first.cyc & second.cyc):
            m.d.sync += turn.eq(1)
        for name in ("adr", "dat_w", "sel", "we", "cyc", "stb"):
            m.d.comb += getattr(bus, name).eq(
                Mux(turn, getattr(second, name), getattr(first, name))
            )
        for master, mine in ((first, ~turn), (second, turn)):
            m.d.comb += [
                master.dat_r.eq(bus.dat_r),
                master.ack.eq(bus.ack & mine),
                master.err.eq(bus.err & mine),
            ]
        return m
