# SPDX-License-Identifier: BSD-2-Clause
"""Bus watchdog: timeout of unanswered Wishbone cycles (docs/how/contracts.md, section 4)."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from .soclib import wishbone

__all__ = ["BusWatchdog"]


class BusWatchdog(wiring.Component):
    """Bus watchdog between a master and the decoder: ends cycles that last too long with ``err``,
    and registers the answers.

    amaranth-soc's decoder never answers an address that nobody has, and a slave may be stuck. The
    register cuts the path from the master's address through decoder and slave back to the master.

    Parameters
    ----------
    limit : int
        Cycles without an answer, a power of two from 16, after which ``err`` comes.
    patience : int
        Cycles that a slave may take by its nature; a limit that is shorter is raised to a power of
        two that is not.

    Members
    -------
    master : In, slave : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8,
        with ``err`` Requests pass in the same cycle, answers are registered: they come a cycle
        later, which cuts the way from address to answer in two. A slave that answers after the end
        of a stuck cycle is not heard.
    """

    def __init__(self, *, limit: int = 2048, patience: int = 1) -> None:
        check_integer("Limit of a bus cycle", limit, 16, power_of_two=True)
        self.limit = max(limit, 1 << (patience - 1).bit_length())
        signature = wishbone.Signature(
            addr_width=30, data_width=32, granularity=8, features={"err"}
        )
        super().__init__({"master": In(signature), "slave": Out(signature)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        master, slave = self.master, self.slave
        count = Signal(range(self.limit))
        active = Signal()  # a cycle that has no answer yet
        answered = Signal()
        m.d.comb += [
            answered.eq(master.ack | master.err),
            active.eq(master.cyc & master.stb & ~answered),
            slave.adr.eq(master.adr),
            slave.dat_w.eq(master.dat_w),
            slave.sel.eq(master.sel),
            slave.we.eq(master.we),
            slave.cyc.eq(master.cyc & ~answered),
            slave.stb.eq(master.stb & ~answered),
        ]
        m.d.sync += [
            master.dat_r.eq(slave.dat_r),
            master.ack.eq(active & slave.ack),
            master.err.eq(active & (slave.err | (count.all() & ~slave.ack))),
            count.eq(count + 1),
        ]
        with m.If(~active | slave.ack | slave.err):
            m.d.sync += count.eq(0)
        return m
