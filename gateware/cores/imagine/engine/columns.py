# SPDX-License-Identifier: BSD-2-Clause
"""Column shift registers: one register per block row (specification, sections 2 and 4)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....primitives.kept import KeptRegister

__all__ = ["ColumnRegisters"]

#: Rows that share a register of the control.
_GROUP = 8


class ColumnRegisters(wiring.Component):
    """Column shift registers: R registers of N bits. They have no reset; R upward shifts clear
    them.

    Parameters
    ----------
    rows, width : int
    family : ``"ecp5"``, ``"ice40"`` or ``None``
    direct : bool
        Few rows: nothing comes a cycle later.

    Members
    -------
    shift : In(1), take the taps, lowest bit first; out : In(1), move up by a row,
        0 from below. Never both; one cycle later
    tap : In(rows), looked at one cycle after ``shift``
    word : Out(width), row 0: one cycle after ``out`` what moves out
    """

    def __init__(
        self, *, rows: int, width: int, family: str | None = None, direct: bool = False
    ) -> None:
        self.rows, self.width, self.family, self._direct = rows, width, family, direct
        super().__init__({"shift": In(1), "out": In(1), "tap": In(rows), "word": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = [Signal(self.width, name=f"row_{r}", reset_less=True) for r in range(self.rows)]
        for low in range(0, self.rows, _GROUP):
            move, up = self.shift | self.out, self.out
            if not self._direct:
                leaf = m.submodules[f"leaf_{low}"] = KeptRegister(width=2, family=self.family)
                m.d.comb += leaf.d.eq(Cat(move, up))
                move, up = leaf.q
            for r in range(low, min(low + _GROUP, self.rows)):
                below = registers[r + 1] if r + 1 < self.rows else Const(0, self.width)
                with m.If(move):
                    m.d.sync += registers[r].eq(Mux(up, below, Cat(registers[r][1:], self.tap[r])))
        m.d.comb += self.word.eq(registers[0])
        return m
