# SPDX-License-Identifier: BSD-2-Clause
"""Unified buffer and accumulators: one or two banks of block RAM, each with one read and one write
port."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....primitives.bram import BlockRAM, best_shape
from ....primitives.kept import KeptRegister

__all__ = ["BankedBuffer"]

#: Parts of a bank that have address registers of their own, if the buffer is local.
_PARTS = 4


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
    local : bool, for a crowded FPGA: each of four parts of a bank has address registers of its own,
        since one wire to all blocks of a bank would cross the whole FPGA
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
        local: bool = False,
        family: str | None = None,
    ) -> None:
        self._local = local
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
            parts = self._bank(m, b)
            first = self.first_read & is_bank(self.first_row, b)
            read_row = Mux(first, self.first_row[low:], self.second_row[low:])
            for name, bank in parts.items():
                address = (
                    self._held(m, read_row, f"address_{name}") if self.latency == 3 else read_row
                )
                m.d.comb += bank.read_addr.eq(address)
            outputs.append(Cat(bank.read_data for bank in parts.values()))

            major = self.major_write & is_bank(self.major_row, b)
            minor = self.minor_write & is_bank(self.minor_row, b) if self.minor else 0
            enable = Signal(name=f"enable_{b}")
            data = Signal(self.width, name=f"data_{b}", reset_less=True)
            m.d.sync += enable.eq(major | minor | self.sweep)
            chosen_row, chosen = self.major_row[low:], self.major_data
            if self.minor:
                chosen_row = Mux(major, chosen_row, self.minor_row[low:])
                chosen = Mux(major, chosen, self.minor_data)
            chosen_row = Mux(self.sweep, self.sweep_row, chosen_row)
            rows = [self._held(m, chosen_row, f"row_{name}") for name in parts]
            m.d.sync += data.eq(chosen)
            with m.If(self.sweep):
                m.d.sync += data.eq(0)  # the register's own reset
            begin = 0
            for bank, row in zip(parts.values(), rows, strict=True):
                m.d.comb += [
                    bank.write_en.eq(enable),
                    bank.write_addr.eq(row),
                    bank.write_data.eq(data[begin : begin + bank.width]),
                ]
                begin += bank.width
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

    def _bank(self, m, b):
        """Block RAMs of a bank, the lowest bits first, by the end of their names."""
        depth = self.rows // self.banks
        width = self.width
        if self._local:
            # Whole blocks in each part.
            _, bits = best_shape("ecp5", self.width, depth)
            width = bits * -(-self.width // (bits * _PARTS))
        parts = {}
        for begin in range(0, self.width, width):
            name = f"{b}_{begin // width}" if self._local else f"{b}"
            parts[name] = m.submodules[f"bank_{name}"] = BlockRAM(
                width=min(width, self.width - begin),
                depth=depth,
                latency=min(self.latency, 2),
                family=self.family,
            )
        return parts

    def _held(self, m, row, name):
        """Register of a part's address."""
        if not self._local:
            held = Signal(len(row), name=name, reset_less=True)
            m.d.sync += held.eq(row)
            return held
        # By instance: synthesis would make one of all parts' registers.
        register = m.submodules[name] = KeptRegister(width=len(row), family=self.family)
        m.d.comb += register.d.eq(row)
        return register.q
