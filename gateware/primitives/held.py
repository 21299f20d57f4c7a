# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers with one stationary operand: signed 8 x 8, with that operand in the input register of
an SB_MAC16."""

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_kind, is_integer
from .dsp import array_product
from .rows import row_product

__all__ = ["HeldMultipliers"]


class HeldMultipliers(wiring.Component):
    """Products of one common operand with ``lanes`` stationary operands, which are loaded rarely.

    Parameters
    ----------
    lanes : int, even
    registered : bool
        With a register behind the product (latency 1), else without (latency 0).
    kind : ``"dsp"``, ``"lut"`` or ``"rows"``
        SB_MAC16 (two products each), logic, or an iCE40's logic in fewer cells and a longer path
        (:mod:`.rows`); ``"dsp"`` and ``"rows"`` mean ``*`` in families other than ``"ice40"``.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    load : In, ``weight`` is kept from the next cycle on
    weight : In, array of ``signed(8)``
    a : In, ``signed(8)``, common to all lanes
    p : Out, array of ``signed(16)``
    """

    def __init__(
        self, *, lanes: int, registered: bool, kind: str = "dsp", family: str | None = None
    ) -> None:
        if not is_integer(lanes) or lanes < 2 or lanes % 2:
            raise ValueError(f"Number of lanes must be a positive even number, not {lanes!r}")
        check_kind(kind, ("dsp", "lut", "rows"))
        check_family(family)
        self.lanes, self.registered, self.kind, self.family = lanes, bool(registered), kind, family
        super().__init__(
            {
                "load": In(1),
                "weight": In(signed(8)).array(lanes),
                "a": In(signed(8)),
                "p": Out(signed(16)).array(lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family == "ice40" and self.kind == "dsp":
            for lane in range(0, self.lanes, 2):
                self._mac16(m, lane)
            return m
        for lane in range(self.lanes):
            held = Signal(signed(8), name=f"held_{lane}", reset_less=True)
            with m.If(self.load):
                m.d.sync += held.eq(self.weight[lane])
            if self.kind == "lut":
                product = array_product(m, lane, held, self.a)
            elif self.kind == "rows" and self.family == "ice40":
                product = row_product(m, f"product_{lane}", held, self.a)
            else:
                product = held * self.a
            if self.registered:
                # A DSP's register has no reset, nor has the behavioural model's.
                result = Signal(signed(16), name=f"result_{lane}", reset_less=self.kind == "dsp")
                m.d.sync += result.eq(product)
                product = result
            m.d.comb += self.p[lane].eq(product)
        return m

    def _mac16(self, m, lane):
        product = Signal(32, name=f"product_{lane}")
        register = Const(int(self.registered), 1)
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
        m.submodules[f"dsp_{lane}"] = Instance(
            "SB_MAC16",
            p_A_REG=Const(1, 1),
            p_B_REG=Const(0, 1),
            p_TOP_8x8_MULT_REG=register,
            p_BOT_8x8_MULT_REG=register,
            p_TOPOUTPUT_SELECT=Const(2, 2),
            p_BOTOUTPUT_SELECT=Const(2, 2),
            p_MODE_8x8=Const(1, 1),
            p_A_SIGNED=Const(1, 1),
            p_B_SIGNED=Const(1, 1),
            i_CLK=ClockSignal(),
            i_CE=Const(1),
            i_AHOLD=~self.load,
            i_A=Cat(self.weight[lane], self.weight[lane + 1]),
            i_B=Cat(self.a, self.a),
            i_C=Const(0, 16),
            i_D=Const(0, 16),
            o_O=product,
            **{f"i_{pin}": Const(0) for pin in zeros},
        )
        m.d.comb += [
            self.p[lane].eq(product[:16].as_signed()),
            self.p[lane + 1].eq(product[16:].as_signed()),
        ]
