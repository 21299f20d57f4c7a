# SPDX-License-Identifier: BSD-2-Clause
"""Signed multipliers of 8 or 16 bits with registers: MULT18X18D, SB_MAC16 (one product, or two of 8
bits), or logic.

Inference never uses the registers inside a DSP block, nor the dual mode of SB_MAC16; hence
instances. All kinds of one
:class:`MultiplierArray` have the same latency. :mod:`~.packed` makes two products in one
MULT18X18D.
"""

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal, Value, signed
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_choice, check_family, check_integer, check_kind, is_integer

__all__ = ["MultiplierArray", "array_product", "check_limit", "mult18"]


def check_limit(dsp_limit: int | None) -> None:
    """Raises ``ValueError`` unless ``dsp_limit`` is ``None`` or a number of DSPs.

    Raises
    ------
    ValueError
    """
    if dsp_limit is not None and (not is_integer(dsp_limit) or dsp_limit < 0):
        raise ValueError(f"Limit of DSPs must be None or a non-negative integer, not {dsp_limit!r}")


class MultiplierArray(wiring.Component):
    """Array of ``lanes`` signed multipliers, one product per lane and cycle.

    Parameters
    ----------
    lanes : int
    kind : ``"dsp"`` or ``"lut"``
    dsp_limit : int or None
        Most DSPs to be used; the lanes beyond it are built of logic.
    fabric_register : bool
        One more register behind the product, for the way from the DSP column to the adders.
    width : int
        Bits of an operand: 8 or 16.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    a, b : In, arrays of ``signed(width)``
    p : Out, array of ``signed(2 * width)``, :attr:`latency` cycles after its operands
    """

    def __init__(
        self,
        *,
        lanes: int,
        kind: str = "dsp",
        dsp_limit: int | None = None,
        fabric_register: bool = False,
        width: int = 8,
        family: str | None = None,
    ) -> None:
        check_integer("Number of lanes", lanes, 1)
        check_kind(kind)
        check_limit(dsp_limit)
        check_family(family)
        check_choice("Width of operands", width, (8, 16))
        self.lanes, self.kind, self.family, self.fabric_register = (
            lanes,
            kind,
            family,
            fabric_register,
        )
        self.width = width
        self.latency = 2 + int(fabric_register)
        per_dsp = 2 if kind == "dsp" and family == "ice40" and width == 8 else 1
        dsps = 0 if kind == "lut" else -(-lanes // per_dsp)
        self.dsps = dsps if dsp_limit is None else min(dsps, dsp_limit)
        self._per_dsp = per_dsp
        super().__init__(
            {
                "a": In(signed(width)).array(lanes),
                "b": In(signed(width)).array(lanes),
                "p": Out(signed(2 * width)).array(lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        in_dsp = min(self.lanes, self.dsps * self._per_dsp)
        if self.family is None:
            in_dsp = 0  # the behavioural model is the multiplier of logic
        elif self.family == "ecp5":
            for lane in range(in_dsp):
                product = Signal(36, name=f"product_{lane}")
                mult18(m, f"dsp_{lane}", self.a[lane], self.b[lane], product)
                self._finish(m, lane, product[: 2 * self.width].as_signed())
        elif self.width == 16:
            for lane in range(in_dsp):
                self._mac16_wide(m, lane)
        else:
            for lane in range(0, in_dsp, 2):
                self._mac16(m, lane)
        for lane in range(in_dsp, self.lanes):
            self._logic(m, lane)
        return m

    def _finish(self, m, lane, product):
        """Drives ``p``, after the optional register."""
        if self.fabric_register:
            held = Signal(signed(2 * self.width), reset_less=True, name=f"held_{lane}")
            m.d.sync += held.eq(product)
            product = held
        m.d.comb += self.p[lane].eq(product)

    def _logic(self, m, lane):
        a = Signal(signed(self.width), reset_less=True, name=f"a_{lane}")
        b = Signal(signed(self.width), reset_less=True, name=f"b_{lane}")
        product = Signal(signed(2 * self.width), reset_less=True, name=f"logic_{lane}")
        m.d.sync += [a.eq(self.a[lane]), b.eq(self.b[lane])]
        if self.family is None:
            m.d.sync += product.eq(a * b)
        else:
            m.d.sync += product.eq(array_product(m, lane, a, b))
        self._finish(m, lane, product)

    def _mac16(self, m, lane):
        """Lanes ``lane`` and ``lane + 1`` from one SB_MAC16 in dual 8 x 8 mode with its
        registers."""
        both = lane + 1 < self.lanes
        a = Cat(self.a[lane], self.a[lane + 1] if both else Const(0, 8))
        b = Cat(self.b[lane], self.b[lane + 1] if both else Const(0, 8))
        product = self._sb_mac16(
            m,
            lane,
            a,
            b,
            2,
            p_TOP_8x8_MULT_REG=Const(1, 1),
            p_BOT_8x8_MULT_REG=Const(1, 1),
            p_MODE_8x8=Const(1, 1),
        )
        self._finish(m, lane, product[:16].as_signed())
        if both:
            self._finish(m, lane + 1, product[16:].as_signed())

    def _mac16_wide(self, m, lane):
        """One 16 x 16 product from one SB_MAC16, with operands and product registered."""
        product = self._sb_mac16(
            m,
            lane,
            self.a[lane],
            self.b[lane],
            3,
            p_PIPELINE_16x16_MULT_REG2=Const(1, 1),
            p_MODE_8x8=Const(0, 1),
        )
        self._finish(m, lane, product.as_signed())

    def _sb_mac16(self, m, lane, a, b, output, **parameters):
        product = Signal(32, name=f"product_{lane}")
        zeros = (
            "AHOLD",
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
            p_B_REG=Const(1, 1),
            p_TOPOUTPUT_SELECT=Const(output, 2),
            p_BOTOUTPUT_SELECT=Const(output, 2),
            p_A_SIGNED=Const(1, 1),
            p_B_SIGNED=Const(1, 1),
            i_CLK=ClockSignal(),
            i_CE=Const(1),
            i_A=a,
            i_B=b,
            i_C=Const(0, 16),
            i_D=Const(0, 16),
            o_O=product,
            **parameters,
            **{f"i_{pin}": Const(0) for pin in zeros},
        )
        return product


def mult18(m: Module, name: str, a: ValueLike, b: ValueLike, product: Value) -> None:
    """One MULT18X18D with input and output registers; operands are sign-extended to 18 bits."""

    def bits(value):
        return [value[min(k, len(value) - 1)] for k in range(18)]

    pins = {f"i_A{k}": bit for k, bit in enumerate(bits(a))} | {
        f"i_B{k}": bit for k, bit in enumerate(bits(b))
    }
    pins |= {f"i_C{k}": Const(0) for k in range(18)} | {f"o_P{k}": product[k] for k in range(36)}
    pins |= {f"i_CE{k}": Const(1) for k in range(4)} | {f"i_RST{k}": Const(0) for k in range(4)}
    pins |= {f"i_CLK{k}": ClockSignal() if k == 0 else Const(0) for k in range(4)}
    m.submodules[name] = Instance(
        "MULT18X18D",
        p_REG_INPUTA_CLK="CLK0",
        p_REG_INPUTB_CLK="CLK0",
        p_REG_OUTPUT_CLK="CLK0",
        p_REG_PIPELINE_CLK="NONE",
        p_REG_INPUTC_CLK="NONE",
        p_GSR="DISABLED",
        p_RESETMODE="SYNC",
        i_SIGNEDA=Const(1),
        i_SIGNEDB=Const(1),
        i_SOURCEA=Const(0),
        i_SOURCEB=Const(0),
        **pins,
    )


def array_product(m: Module, lane: int | str, a: Value, b: Value) -> Value:
    """Product a * b (signed, equally wide) as a balanced tree of partial products, which no tool
    infers as a DSP.

    The Baugh-Wooley form: partial products of the sign bits are inverted, a constant corrects them.
    """
    width = len(a)
    rows = []
    for k in range(width):
        bits = [
            (a[j] & b[k]) ^ Const(int((j == width - 1) != (k == width - 1)), 1)
            for j in range(width)
        ]
        row = Signal(2 * width, name=f"row_{lane}_{k}")
        m.d.comb += row.eq(Cat(bits) << k)
        rows.append(row)
    while len(rows) > 1:
        rows = [(rows[k] + rows[k + 1])[: 2 * width] for k in range(0, len(rows), 2)]
    return (rows[0] + Const((1 << width) + (1 << 2 * width - 1), 2 * width))[
        : 2 * width
    ].as_signed()
