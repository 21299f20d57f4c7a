# SPDX-License-Identifier: BSD-2-Clause
"""Unified buffer and accumulators: one or two banks of block RAM, each with one read and one write
port."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....primitives.bram import BlockRAM

__all__ = ["BankedBuffer"]


class BankedBuffer(wiring.Component):
    """Banked memory: rows in ``banks`` banks, selected by the lowest row bit, with two readers and
    two writers that share the banks' ports.

    Parameters
    ----------
    width, rows, banks : int
    latency : int, cycles from a granted read to its data: 1,
        2 (with the memories' output registers) or 3 (with registers in front of their addresses as
        well)
    minor : bool, there is a second writer
    family : as the primitives'

    Members
    -------
    first_read, second_read : In
        Wants to read ``first_row`` / ``second_row`` in this cycle. The first reader always gets its
        bank.
    second_grant : Out, the second reader's read happens in this cycle (goes with ``second_want``
        only)
    first_data, second_data : Out, ``latency`` cycles after the read
    major_write, major_row, major_data : In, writes always
    minor_write, minor_row, minor_data : In; ``minor_grant`` : Out, this cycle's minor write happens
    sweep : In, write zeros to ``sweep_row`` of all banks (wins over everything)

    There is a register in front of the write port: a row that is written in one cycle may be read
    from the second one after it, and must not be read in the cycle between.
    """

    def __init__(
        self,
        *,
        width: int,
        rows: int,
        banks: int,
        latency: int,
        minor: bool = True,
        family: str | None = None,
    ) -> None:
        self.width, self.rows, self.banks = width, rows, banks
        self.latency, self.minor, self.family = latency, minor, family
        bits = exact_log2(rows)
        super().__init__(
            {
                "first_read": In(1),
                "first_row": In(bits),
                "first_data": Out(width),
                "second_read": In(1),
                "second_row": In(bits),
                "second_grant": Out(1),
                "second_data": Out(width),
                "major_write": In(1),
                "major_row": In(bits),
                "major_data": In(width),
                "minor_write": In(1),
                "minor_row": In(bits),
                "minor_data": In(width),
                "minor_grant": Out(1),
                "sweep": In(1),
                "sweep_row": In(bits - exact_log2(banks)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        split = self.banks == 2
        low = 1 if split else 0

        def is_bank(row, b):
            return (row[0] == b) if split else 1

        same_read = (self.first_row[0] == self.second_row[0]) if split else 1
        same_write = (self.major_row[0] == self.minor_row[0]) if split else 1
        m.d.comb += [
            self.second_grant.eq(self.second_read & ~(self.first_read & same_read)),
            self.minor_grant.eq(self.minor_write & ~(self.major_write & same_write)),
        ]
        outputs = []
        for b in range(self.banks):
            bank = BlockRAM(
                width=self.width,
                depth=self.rows // self.banks,
                latency=min(self.latency, 2),
                family=self.family,
            )
            m.submodules[f"bank_{b}"] = bank
            first = self.first_read & is_bank(self.first_row, b)
            read_row = Mux(first, self.first_row[low:], self.second_row[low:])
            if self.latency == 3:
                address = Signal.like(bank.read_addr, name=f"address_{b}", reset_less=True)
                m.d.sync += address.eq(read_row)
                read_row = address
            m.d.comb += bank.read_addr.eq(read_row)
            outputs.append(bank.read_data)

            major = self.major_write & is_bank(self.major_row, b)
            minor = self.minor_write & is_bank(self.minor_row, b) if self.minor else 0
            enable = Signal(name=f"enable_{b}")
            row = Signal.like(bank.write_addr, name=f"row_{b}", reset_less=True)
            data = Signal(self.width, name=f"data_{b}", reset_less=True)
            m.d.sync += enable.eq(major | minor | self.sweep)
            chosen_row, chosen = self.major_row[low:], self.major_data
            if self.minor:
                chosen_row = Mux(major, chosen_row, self.minor_row[low:])
                chosen = Mux(major, chosen, self.minor_data)
            m.d.sync += [
                row.eq(Mux(self.sweep, self.sweep_row, chosen_row)),
                data.eq(chosen),
            ]
            with m.If(self.sweep):
                m.d.sync += data.eq(0)  # the register's own reset
            m.d.comb += [
                bank.write_en.eq(enable),
                bank.write_addr.eq(row),
                bank.write_data.eq(data),
            ]
        if not split:
            m.d.comb += [self.first_data.eq(outputs[0]), self.second_data.eq(outputs[0])]
            return m
        selects = Cat(self.first_row[0], self.second_row[0])
        for k in range(self.latency):
            later = Signal(2, name=f"select_{k}", reset_less=True)
            m.d.sync += later.eq(selects)
            selects = later
        m.d.comb += [
            self.first_data.eq(Mux(selects[0], outputs[1], outputs[0])),
            self.second_data.eq(Mux(selects[1], outputs[1], outputs[0])),
        ]
        return m
