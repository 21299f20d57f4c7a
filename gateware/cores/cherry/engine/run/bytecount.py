# SPDX-License-Identifier: BSD-2-Clause
"""Byte counters in program order: bytes of transfers that ran early are counted at their turn
(specification, section 7.6)."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ByteCount"]

#: Most bytes reported in a cycle.
_MOST = 128


class ByteCount(wiring.Component):
    """Reorder buffer of byte counts: holds back bytes that were moved early, and counts them at
    their turn.

    Members
    -------
    moved : In, bytes moved in this cycle; more : In, further ones; aside : In,
        they are moved ahead of their turn
    hold : In, level: what was moved ahead is not reported
    drop : In, one cycle: what was moved ahead is forgotten
    count : Out, 8 bits, to report in this cycle
    empty : Out, all is reported
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "moved": In(8),
                "more": In(18),
                "aside": In(1),
                "hold": In(1),
                "drop": In(1),
                "count": Out(8),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total, kept, added, ahead = Signal(32), Signal(32), Signal(19), Signal()
        some, joins = Signal(), Signal()  # something is kept; it is added now
        m.d.comb += [
            self.empty.eq((total == 0) & (added == 0) & ~some),
            self.count.eq(Mux(total >= _MOST, _MOST, total[:7])),
            joins.eq(some & ~self.hold & (ahead | (added == 0))),
        ]
        m.d.sync += [
            added.eq(self.moved + self.more),
            ahead.eq(self.aside),
            total.eq(total + Mux(joins, kept, Mux(ahead, 0, added)) - self.count),
        ]
        with m.If(joins):
            m.d.sync += [kept.eq(0), some.eq(0)]
        with m.If(ahead & (added != 0)):
            m.d.sync += [kept.eq(Mux(joins, 0, kept) + added), some.eq(1)]
        with m.If(self.drop):
            m.d.sync += [kept.eq(0), some.eq(0)]
        return m
