# SPDX-License-Identifier: BSD-2-Clause
"""Sums of two signed 8 x 8 products, each with one stationary operand: an SB_MAC16 multiplies and
adds."""

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_integer, check_kind
from .rows import row_product

__all__ = ["PairSums"]


class PairSums(wiring.Component):
    """Exact sums ``s[i] = a[2*i]*b[2*i] + a[2*i+1]*b[2*i+1]``, two cycles after ``b``; ``a`` is
    stationary.

    On the iCE40 UltraPlus one DSP makes a pair (kind ``"dsp"``): the upper adder takes the lower
    product back through its port C. The sum has 16 bits there; its 17th follows, since -2**15
    cannot occur: the least sum is -32512.

    Parameters
    ----------
    pairs : int
    kind : ``"dsp"``, or ``"lut"`` for logic
    family : ``"ecp5"`` (logic alone), ``"ice40"`` or ``None``

    Members
    -------
    load : In, ``a`` is kept from the next cycle on; a : In, array of ``signed(8)``
    b : In, array of ``signed(8)``
    s : Out, array of ``signed(17)``, two cycles after ``b``,
        with the ``a`` kept in the cycle of ``b``
    """

    def __init__(self, *, pairs: int, kind: str = "dsp", family: str | None = None) -> None:
        check_integer("Number of pairs", pairs, 1)
        check_kind(kind)
        check_family(family)
        if family == "ecp5" and kind == "dsp":
            raise ValueError(
                "Pairs of products in one DSP need family 'ice40' (or None), not 'ecp5'"
            )
        self.pairs, self.kind, self.family = pairs, kind, family
        super().__init__(
            {
                "load": In(1),
                "a": In(signed(8)).array(2 * pairs),
                "b": In(signed(8)).array(2 * pairs),
                "s": Out(signed(17)).array(pairs),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i in range(self.pairs):
            if self.family == "ice40" and self.kind == "dsp":
                self._mac16(m, i)
                continue
            products = []
            for lane in (2 * i, 2 * i + 1):
                held = Signal(signed(8), name=f"held_{lane}", reset_less=True)
                product = Signal(signed(16), name=f"product_{lane}", reset_less=True)
                with m.If(self.load):
                    m.d.sync += held.eq(self.a[lane])
                m.d.sync += product.eq(
                    held * self.b[lane]
                    if self.family != "ice40"
                    else row_product(m, f"product_{lane}", held, self.b[lane])
                )
                products.append(product)
            # A DSP's register has no reset, nor has the behavioural model's.
            total = Signal(signed(17), name=f"total_{i}", reset_less=self.kind == "dsp")
            m.d.sync += total.eq(products[0] + products[1])
            m.d.comb += self.s[i].eq(total)
        return m

    def _mac16(self, m, i):
        output = Signal(32, name=f"output_{i}")
        low, total = output[:16], output[16:]
        zeros = (
            "BHOLD",
            "CHOLD",
            "DHOLD",
            "IRSTTOP",
            "IRSTBOT",
            "ORSTTOP",
            "ORSTBOT",
            "OLOADTOP",
            "OLOADBOT",
            "ADDSUBTOP",
            "ADDSUBBOT",
            "OHOLDTOP",
            "OHOLDBOT",
            "CI",
            "ACCUMCI",
            "SIGNEXTIN",
        )
        m.submodules[f"dsp_{i}"] = Instance(
            "SB_MAC16",
            p_A_REG=Const(1, 1),
            p_B_REG=Const(0, 1),
            p_C_REG=Const(0, 1),
            p_TOP_8x8_MULT_REG=Const(1, 1),
            p_BOT_8x8_MULT_REG=Const(1, 1),
            p_TOPOUTPUT_SELECT=Const(1, 2),
            p_TOPADDSUB_LOWERINPUT=Const(1, 2),
            p_TOPADDSUB_UPPERINPUT=Const(1, 1),
            p_TOPADDSUB_CARRYSELECT=Const(0, 2),
            p_BOTOUTPUT_SELECT=Const(2, 2),
            p_MODE_8x8=Const(1, 1),
            p_A_SIGNED=Const(1, 1),
            p_B_SIGNED=Const(1, 1),
            i_CLK=ClockSignal(),
            i_CE=Const(1),
            i_AHOLD=~self.load,
            i_A=Cat(self.a[2 * i], self.a[2 * i + 1]),
            i_B=Cat(self.b[2 * i], self.b[2 * i + 1]),
            i_C=low,
            i_D=Const(0, 16),
            o_O=output,
            **{f"i_{pin}": Const(0) for pin in zeros},
        )
        m.d.comb += self.s[i].eq(Cat(total, total[15] & total[8:15].any()).as_signed())
