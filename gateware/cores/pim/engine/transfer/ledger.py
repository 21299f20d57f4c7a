# SPDX-License-Identifier: BSD-2-Clause
"""Transfer ledger: completion data of transfers in flight, and the MAC counts of instructions."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family
from .....primitives.adders import FunctionAdder

__all__ = ["Ledger", "MacCount", "entry_layout"]


def entry_layout(index_bits: int) -> data.StructLayout:
    """Layout of an entry: ``pc``: index of the instruction; ``place``: index of its first 32-bit
    word in the code."""
    return data.StructLayout({"pc": index_bits, "place": index_bits})


class Ledger(wiring.Component):
    """Transfer ledger: maps slots of transfers in flight to their program positions, for fault
    reports.

    Parameters
    ----------
    depth : int, a power of two; index_bits : int

    Members
    -------
    push : In, one cycle, with its ``slot``; entry : In(:func:`entry_layout`)
    look : In, slot; found : Out, the entry's contents, in the same cycle
    """

    def __init__(self, *, depth: int, index_bits: int) -> None:
        self.depth, self.index_bits = depth, index_bits
        layout = entry_layout(index_bits)
        super().__init__(
            {
                "push": In(1),
                "slot": In(range(depth)),
                "entry": In(layout),
                "look": In(range(depth)),
                "found": Out(layout),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = entry_layout(self.index_bits)
        m.submodules.entries = entries = memory.Memory(shape=layout, depth=self.depth, init=[])
        writer, reader = entries.write_port(), entries.read_port(domain="comb")
        m.d.comb += [
            writer.en.eq(self.push),
            writer.addr.eq(self.slot),
            writer.data.eq(self.entry),
            reader.addr.eq(self.look),
            self.found.eq(reader.data),
        ]
        return m


class MacCount(wiring.Component):
    """MAC count of each instruction: rows times columns, multiplied bit-serially, or a vector's
    length.

    Parameters
    ----------
    family : as the primitives'

    Members
    -------
    matrix : In, one cycle, while not ``busy``: rows, cols : In(10), less one
    vector : In, one cycle: length : In(11)
    busy : Out; macs : Out(21), of this cycle
    """

    def __init__(self, *, family: str | None = None) -> None:
        check_family(family)
        self.family = family
        super().__init__(
            {
                "matrix": In(1),
                "rows": In(10),
                "cols": In(10),
                "vector": In(1),
                "length": In(11),
                "busy": Out(1),
                "macs": Out(21),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left, factor, total = Signal(11), Signal(21, reset_less=True), Signal(21, reset_less=True)
        report = Signal()
        m.submodules.adder = adder = FunctionAdder(width=21, function="and", family=self.family)
        m.d.comb += [
            adder.a.eq(total),
            adder.b.eq(factor),
            adder.c.eq(left[0].replicate(21)),
            self.busy.eq(left.any() | report),
            self.macs.eq(Mux(self.vector, self.length, Mux(report, total, 0))),
        ]
        with m.If(left.any()):
            m.d.sync += [
                left.eq(left >> 1),
                factor.eq(factor << 1),
                total.eq(adder.total),
                report.eq(left == 1),
            ]
        with m.Elif(~self.vector):
            m.d.sync += report.eq(0)
        with m.If(self.matrix):
            m.d.sync += [left.eq(self.cols + 1), factor.eq(self.rows + 1), total.eq(0)]
        return m
