# SPDX-License-Identifier: BSD-2-Clause
"""Registers that synthesis must not merge or remove."""

from amaranth import ClockSignal, Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_integer

__all__ = ["KeptRegister"]


class KeptRegister(wiring.Component):
    """A register of ``width`` bits that is not merged with others of the same input, for example a
    leaf of a fan-out tree.

    Synthesis merges flip-flops of equal inputs, whatever they were meant to relieve; flip-flops by
    instance stay. There is no reset.

    Parameters
    ----------
    width : int
        At least 1.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    d : In(``width``); q : Out(``width``), ``d`` of the last cycle
    """

    def __init__(self, *, width: int, family: str | None = None) -> None:
        check_integer("Width", width, 1)
        check_family(family)
        self.width, self.family = width, family
        super().__init__({"d": In(width), "q": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family is None:
            held = Signal(self.width, reset_less=True)
            m.d.sync += held.eq(self.d)
            m.d.comb += self.q.eq(held)
            return m
        for bit in range(self.width):
            if self.family == "ecp5":
                cell = Instance(
                    "TRELLIS_FF",
                    p_GSR="DISABLED",
                    p_CEMUX="1",
                    p_CLKMUX="CLK",
                    p_LSRMUX="LSR",
                    p_REGSET="RESET",
                    i_CLK=ClockSignal(),
                    i_CE=Const(1),
                    i_LSR=Const(0),
                    i_DI=self.d[bit],
                    o_Q=self.q[bit],
                )
            else:
                cell = Instance("SB_DFF", i_C=ClockSignal(), i_D=self.d[bit], o_Q=self.q[bit])
            m.submodules[f"bit_{bit}"] = cell
        return m
