# SPDX-License-Identifier: BSD-2-Clause
"""Address generator of pooling windows, with loops over rows, columns, groups of channels, and rows
and columns of the window."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .....parts.datapath import Countdown

__all__ = ["WindowLoop", "WindowWalker", "loop_layout"]

#: The moves from one place to the next, outermost first.
_MOVES = ("row", "column", "group", "line")


def loop_layout() -> data.StructLayout:
    """Layout of the five loop bounds: counts less one, and whether they are zero."""
    widths = {"rows": 7, "columns": 7, "groups": 6, "lines": 4, "places": 4}
    return data.StructLayout(
        {name: width for name, width in widths.items()} | {f"one_{name}": 1 for name in widths}
    )


class WindowLoop(wiring.Component):
    """Loop nest of five counters, which advances one position per ``step``.

    Members
    -------
    load : In; counts : In, see :func:`loop_layout`
    step : In
    row, column, group, line : Out: this step is followed by the next row of windows,
        next window, next group of channels, next line of the window; else by the next place of the
        line
    first, last : Out: first and last place of a window
    end : Out: the last place of all
    index : Out: number of the group
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "load": In(1),
                "counts": In(loop_layout()),
                "step": In(1),
                **{name: Out(1) for name in _MOVES},
                "first": Out(1),
                "last": Out(1),
                "end": Out(1),
                "index": Out(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        names = ("rows", "columns", "groups", "lines", "places")
        loops = {name: Countdown(m, len(self.counts[name]), name) for name in names}
        # Counts stay for the run: the caller holds them.
        begin = {name: (self.counts[name], self.counts[f"one_{name}"]) for name in names}
        ended = 1
        first = Signal(reset_less=True)
        with m.If(self.step):
            m.d.sync += first.eq(self.last)
        for name in reversed(names):
            with m.If(self.step & ended):
                with m.If(loops[name].last):
                    loops[name].load(*begin[name])
                with m.Else():
                    loops[name].step()
            ended = ended & loops[name].last
        window = loops["places"].last & loops["lines"].last
        m.d.comb += [
            self.last.eq(window),
            self.first.eq(first),
            self.end.eq(ended),
            self.line.eq(loops["places"].last & ~loops["lines"].last),
            self.group.eq(window & ~loops["groups"].last),
            self.column.eq(window & loops["groups"].last & ~loops["columns"].last),
            self.row.eq(window & loops["groups"].last & loops["columns"].last),
        ]
        with m.If(self.step & window):
            m.d.sync += self.index.eq(Mux(loops["groups"].last, 0, self.index + 1))
        with m.If(self.load):
            m.d.sync += [first.eq(1), self.index.eq(0)]
            for name in names:
                loops[name].load(*begin[name])
        return m


class WindowWalker(wiring.Component):
    """Address generator driven by a :class:`WindowLoop`; the group's share of the address is
    excluded.

    Parameters
    ----------
    bits : int

    Members
    -------
    load : In: begin at 0
    step, row, column, group, line : In, from the loop
    by_row, by_column, by_line, by_place : In: what each move adds, to the corner it starts from
    address : Out
    """

    def __init__(self, *, bits: int) -> None:
        self.bits = bits
        super().__init__(
            {
                "load": In(1),
                "step": In(1),
                **{name: In(1) for name in _MOVES},
                **{f"by_{name}": In(bits) for name in ("row", "column", "line", "place")},
                "address": Out(bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row, window, line = (
            Signal(self.bits, name=name, reset_less=True)
            for name in ("row_corner", "corner", "line_start")
        )
        address = Signal(self.bits, reset_less=True)
        m.d.comb += self.address.eq(address)
        with m.If(self.step):
            m.d.sync += address.eq(address + self.by_place)
            with m.If(self.line):
                m.d.sync += [line.eq(line + self.by_line), address.eq(line + self.by_line)]
            with m.If(self.group):
                m.d.sync += [line.eq(window), address.eq(window)]
            with m.If(self.column):
                m.d.sync += [
                    signal.eq(window + self.by_column) for signal in (window, line, address)
                ]
            with m.If(self.row):
                m.d.sync += [
                    signal.eq(row + self.by_row) for signal in (row, window, line, address)
                ]
        with m.If(self.load):
            m.d.sync += [signal.eq(0) for signal in (row, window, line, address)]
        return m
