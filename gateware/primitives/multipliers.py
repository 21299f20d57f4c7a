# SPDX-License-Identifier: BSD-2-Clause
"""Signed multipliers with three registers: MULT18X18D with its input, pipeline and output
registers, SB_MAC16, or logic.

For datapaths that want the highest clock; :mod:`~.dsp` has those of two registers.
"""

from amaranth import ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_family, check_integer, check_kind
from .dsp import MultiplierArray

__all__ = ["PipelinedMultipliers"]


class PipelinedMultipliers(wiring.Component):
    """Products of ``lanes`` pairs of signed operands, each :attr:`LATENCY` cycles after its
    operands.

    Parameters
    ----------
    lanes : int
    a_width, b_width : int
        Bits of the operands: 2 to 18; in DSPs of family ``"ice40"`` and in logic at most 16.
    kind : ``"dsp"`` or ``"lut"``
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    a : In, array of ``signed(a_width)``; b : In, array of ``signed(b_width)``
    p : Out, array of ``signed(a_width + b_width)``
    """

    LATENCY = 3

    def __init__(
        self,
        *,
        lanes: int,
        a_width: int,
        b_width: int,
        kind: str = "dsp",
        family: str | None = None,
    ) -> None:
        check_integer("Number of lanes", lanes, 1)
        check_kind(kind)
        check_family(family)
        most = 16 if kind == "lut" or family == "ice40" else 18
        for name, width in (("a", a_width), ("b", b_width)):
            check_integer(f"Width of operand {name}", width, 2, most)
        self.lanes, self.a_width, self.b_width, self.kind, self.family = (
            lanes,
            a_width,
            b_width,
            kind,
            family,
        )
        super().__init__(
            {
                "a": In(signed(a_width)).array(lanes),
                "b": In(signed(b_width)).array(lanes),
                "p": Out(signed(a_width + b_width)).array(lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family is None:
            for lane in range(self.lanes):
                self._behavioural(m, lane)
        elif self.family == "ecp5" and self.kind == "dsp":
            for lane in range(self.lanes):
                self._mult18(m, lane)
        else:
            # The array has two registers of its own, the third lies behind it.
            width = 8 if max(self.a_width, self.b_width) <= 8 else 16
            m.submodules.array = array = MultiplierArray(
                lanes=self.lanes,
                kind=self.kind,
                width=width,
                fabric_register=True,
                family=self.family,
            )
            for lane in range(self.lanes):
                m.d.comb += [
                    array.a[lane].eq(self.a[lane]),
                    array.b[lane].eq(self.b[lane]),
                    self.p[lane].eq(array.p[lane]),
                ]
        return m

    def _behavioural(self, m, lane):
        a, b = (
            Signal.like(value[lane], name=f"{name}_{lane}", reset_less=True)
            for name, value in (("a", self.a), ("b", self.b))
        )
        product = Signal.like(self.p[lane], name=f"product_{lane}", reset_less=True)
        output = Signal.like(self.p[lane], name=f"output_{lane}", reset_less=True)
        m.d.sync += [a.eq(self.a[lane]), b.eq(self.b[lane]), product.eq(a * b), output.eq(product)]
        m.d.comb += self.p[lane].eq(output)

    def _mult18(self, m, lane):
        def bits(value):
            return [value[min(k, len(value) - 1)] for k in range(18)]  # sign-extended

        product = Signal(36, name=f"product_{lane}")
        pins = {f"i_A{k}": bit for k, bit in enumerate(bits(self.a[lane]))}
        pins |= {f"i_B{k}": bit for k, bit in enumerate(bits(self.b[lane]))}
        pins |= {f"i_C{k}": Const(0) for k in range(18)} | {
            f"o_P{k}": product[k] for k in range(36)
        }
        pins |= {f"i_CE{k}": Const(1) for k in range(4)} | {f"i_RST{k}": Const(0) for k in range(4)}
        pins |= {f"i_CLK{k}": ClockSignal() if k == 0 else Const(0) for k in range(4)}
        m.submodules[f"dsp_{lane}"] = Instance(
            "MULT18X18D",
            p_REG_INPUTA_CLK="CLK0",
            p_REG_INPUTB_CLK="CLK0",
            p_REG_PIPELINE_CLK="CLK0",
            p_REG_OUTPUT_CLK="CLK0",
            p_REG_INPUTC_CLK="NONE",
            p_GSR="DISABLED",
            p_RESETMODE="SYNC",
            i_SIGNEDA=Const(1),
            i_SIGNEDB=Const(1),
            i_SOURCEA=Const(0),
            i_SOURCEB=Const(0),
            **pins,
        )
        m.d.comb += self.p[lane].eq(product)
