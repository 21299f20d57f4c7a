# SPDX-License-Identifier: BSD-2-Clause
"""Bytes as the meaning counts them: what is done ahead of its turn counts when its turn has come (specification, section 7.6)."""
from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ByteCount"]

#: Most bytes reported in a cycle.
_MOST = 128


class ByteCount(wiring.Component):
    """A reservoir between what moves bytes and a counter.

    Members
    -------
    moved : In, bytes moved in this cycle; more : In, further ones
    hold : In, level: nothing is reported
    drop : In, one cycle: what is not reported is forgotten
    count : Out, 8 bits, to report in this cycle
    empty : Out, all is reported
    """
    def __init__(self):
        super().__init__({"moved": In(8), "more": In(18), "hold": In(1), "drop": In(1), "count": Out(8), "empty": Out(1)})

    def elaborate(self, platform):
        m = Module()
        total, added = Signal(32), Signal(19)
        m.d.comb += [self.empty.eq((total == 0) & (added == 0)), self.count.eq(Mux(self.hold, 0, Mux(total >= _MOST, _MOST, total[:7])))]
        m.d.sync += [added.eq(self.moved + self.more), total.eq(total + added - self.count)]
        with m.If(self.drop):
            m.d.sync += [added.eq(0), total.eq(0)]
        return m
