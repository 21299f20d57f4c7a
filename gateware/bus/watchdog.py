# SPDX-License-Identifier: BSD-2-Clause
"""Ends a bus cycle that no one answers (docs/contracts.md, section 4)."""
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .soclib import wishbone

__all__ = ["BusWatchdog"]


class BusWatchdog(wiring.Component):
    """Stands between a master and the decoder; ends every cycle with ``err`` that lasts too long.

    amaranth-soc's decoder never answers an address that nobody has, and a slave may be stuck.

    Parameters
    ----------
    limit : int
        Cycles without an answer, a power of two from 16: ``err`` comes within twice as many.

    Members
    -------
    master : In, slave : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8, with ``err``
        Requests pass in the same cycle, answers are registered: they come a cycle later, which cuts the way from address to
        answer in two. A slave that answers after the end of a stuck cycle is not heard.
    """
    def __init__(self, *, limit=2048):
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 16 or limit & (limit - 1):
            raise ValueError(f"Limit of a bus cycle must be a power of two of at least 16, not {limit!r}")
        self.limit = limit
        signature = wishbone.Signature(addr_width=30, data_width=32, granularity=8, features={"err"})
        super().__init__({"master": In(signature), "slave": Out(signature)})

    def elaborate(self, platform):
        m = Module()
        master, slave = self.master, self.slave
        count = Signal(range(self.limit))
        expired = Signal()
        failed = Signal()
        over = Signal()                     # the master is told how its cycle ended
        active = Signal()
        m.d.comb += [
            active.eq(master.cyc & master.stb),
            slave.adr.eq(master.adr), slave.dat_w.eq(master.dat_w), slave.sel.eq(master.sel), slave.we.eq(master.we),
            over.eq(expired | master.ack | failed), master.err.eq(expired | failed),
            slave.cyc.eq(master.cyc & ~over), slave.stb.eq(master.stb & ~over),
        ]
        m.d.sync += [
            master.dat_r.eq(slave.dat_r), master.ack.eq(active & ~over & slave.ack), failed.eq(active & ~over & slave.err),
            count.eq(count + 1), expired.eq(active & count.all() & ~over & ~slave.ack & ~slave.err),
        ]
        with m.If(~active | over):
            m.d.sync += count.eq(0)
        return m
