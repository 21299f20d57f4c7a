# SPDX-License-Identifier: BSD-2-Clause
"""Dot product unit: four products and an addend, rounded once (specification, section 4.1)."""

from amaranth import Cat, Const, Module, Mux, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_integer
from .....parts.delays import Stages
from .....parts.leading import leading_zeros
from .....primitives.dsp import MultiplierArray
from ...tables import FRAC
from .rounding import SUM, WINDOW, packed, rounds_up

__all__ = ["ABSENT", "DotUnit", "LATENCIES"]

#: A pair of operands whose product is absent: -0 times 1, which changes neither a sum nor the sign
#: of a zero.
ABSENT = 0x20000, 0x0FE00

#: Stages whose registers go where fewer are requested, one after the other: first where two stages
#: together are shortest.
_MERGED = (3, 10, 8, 13, 5, 15)
#: Latencies that a unit can have.
LATENCIES = range(16 - len(_MERGED), 17)


class DotUnit(wiring.Component):
    """Dot product unit: ``result`` = a[0]*b[0] + ... + a[3]*b[3] + c, one per cycle.

    Absent products are marked, or :data:`ABSENT`; an absent addend is marked, or -0.

    Parameters
    ----------
    frac : int
        Fraction bits of addend and result: 9 or 17.
    multiplier : ``"dsp"`` or ``"lut"``
    latency : int
        Cycles from operands to result, of :data:`LATENCIES`: fewer stages, longer paths.
    family : as the primitives'

    Members
    -------
    a, b : In, arrays of four elements
    c : In, frac + 9 bits
    absent : In, a bit for each product that is not there; ``no_c`` : In, nor is the addend
    narrow : In, the result is rounded to 9 fraction bits, zeros are appended
    result : Out, frac + 9 bits
    """

    def __init__(
        self,
        *,
        frac: int = FRAC,
        multiplier: str = "dsp",
        latency: int = 16,
        family: str | None = None,
    ) -> None:
        if frac not in (9, 17):
            raise ValueError(f"Fraction bits must be 9 or 17, not {frac!r}")
        check_integer("Latency", latency, LATENCIES.start, LATENCIES.stop - 1, unit="cycles")
        self.frac, self.latency = frac, latency
        self._merged = _MERGED[: 16 - latency]
        self._multipliers = MultiplierArray(
            lanes=4, kind=multiplier, width=16, fabric_register=3 not in self._merged, family=family
        )
        width = frac + 9
        super().__init__(
            {
                "a": In(data.ArrayLayout(18, 4)),
                "b": In(data.ArrayLayout(18, 4)),
                "c": In(width),
                "absent": In(4),
                "no_c": In(1),
                "narrow": In(1),
                "result": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.multipliers = self._multipliers
        stage = Stages(m, self._merged)
        exponents, zeros, signs, special, addend = self._unpack(m, stage)
        products = self._multipliers.p  # stage 3
        top, shifts = self._align(stage, exponents)  # stage 4, 5
        magnitudes = [products[i][:20] for i in range(4)] + [addend]
        shifted = [
            self._shift(stage, magnitude, shift, stage.carry(sign, 1, 6))
            for magnitude, shift, sign in zip(magnitudes, shifts, signs, strict=True)
        ]  # 7
        total = self._sum(stage, shifted, signs)  # stage 10
        self._round(m, stage, total, top, zeros, signs, special)  # stage 16
        return m

    # Stage 1: classes of the terms

    def _unpack(self, m, stage):
        frac = self.frac
        exponents, zeros, signs, infinite, nan = [], [], [], [], []

        def flag(value, name):
            return stage(1, value, 1, name)

        for i in range(4):
            a, b = self.a[i], self.b[i]
            ea, eb = a[9:17], b[9:17]
            off = self.absent[i]
            za, zb, ia, ib = (ea == 0) | off, (eb == 0) | off, ea.all() & ~off, eb.all() & ~off
            m.d.comb += [
                self._multipliers.a[i].eq(Mux(za, 0, Cat(a[:9], 1))),
                self._multipliers.b[i].eq(Mux(zb, 0, Cat(b[:9], 1))),
            ]
            exponents.append(stage(1, Mux(za | zb, 0, ea + eb), 9, f"exponent_{i}"))
            zeros.append(za | zb)
            signs.append((a[17] ^ b[17]) | off)
            # The next stages combine these flags into special results.
            fa, fb = flag(ia, f"a{i}_infinite"), flag(ib, f"b{i}_infinite")
            infinite.append(fa | fb)
            nan.append(
                (fa & flag(a[:9].any(), f"a{i}_fraction"))
                | (fb & flag(b[:9].any(), f"b{i}_fraction"))
                | ((fa | fb) & (flag(za, f"a{i}_zero") | flag(zb, f"b{i}_zero")))
            )
        ec = self.c[frac : frac + 8]
        zc, ic = (ec == 0) | self.no_c, ec.all() & ~self.no_c
        # On the scale of a product's exponent, which is biased twice.
        exponents.append(stage(1, Mux(zc, 0, ec + 127), 9, "exponent_c"))
        zeros.append(zc)
        signs.append(self.c[-1] | self.no_c)
        infinite.append(flag(ic, "c_infinite"))
        nan.append(infinite[-1] & flag(self.c[:frac].any(), "c_fraction"))
        zeros, signs = (
            [flag(v, f"{name}_{i}") for i, v in enumerate(values)]
            for name, values in (("zero", zeros), ("sign", signs))
        )

        def both(values, name):
            return stage(3, stage(2, values, 5, name).any(), 1, f"any_{name}")

        special = {
            "nan": both(Cat(nan), "nan"),
            "plus": both(Cat(i & ~s for i, s in zip(infinite, signs, strict=True)), "plus"),
            "minus": both(Cat(i & s for i, s in zip(infinite, signs, strict=True)), "minus"),
        }
        significand = Mux(zc, 0, Cat(self.c[:frac], 1))
        addend = stage.carry(stage(1, significand << 18 - frac, 20, "addend"), 1, 3)
        zero = {
            "all": stage(2, Cat(zeros).all(), 1, "all_zero"),
            "sign": stage(2, Cat(signs).all(), 1, "all_negative"),
        }
        return exponents, zero, signs, special, addend

    # Stages 2 to 7: terms on one scale

    def _align(self, stage, exponents):
        first = [
            stage(2, Mux(x > y, x, y), 9, f"larger_{i}")
            for i, (x, y) in enumerate(((exponents[0], exponents[1]), (exponents[2], exponents[3])))
        ]
        second = stage(3, Mux(first[0] > first[1], first[0], first[1]), 9, "largest_product")
        last = stage.carry(exponents[4], 1, 3)
        top = stage(4, Mux(second > last, second, last), 9, "largest")
        shifts = []
        for i, exponent in enumerate(exponents):
            apart = top - stage.carry(exponent, 1, 4)
            # Distances of a term that is zero do not matter.
            shifts.append(stage(5, Mux(apart[5:9].any(), 31, apart[:5]), 5, f"shift_{i}"))
        return stage.carry(top, 4, 5), shifts

    def _shift(self, stage, magnitude, shift, sign):
        """Right shift by ``shift`` in the window, and the complement of a negative term; bits
        shifted out set the lowest bit. The LUTs of the last shift have an input left for the sign,
        those in front of an adder would be more."""
        value = stage.carry(Cat(Const(0, 4), magnitude), 3, 5)  # stage 5
        coarse = shift[3:]
        lost = Mux(
            coarse == 1,
            value[:8].any(),
            Mux(coarse == 2, value[:16].any(), (coarse == 3) & value.any()),
        )
        moved = Mux(
            coarse == 0, value, Mux(coarse == 1, value[8:], Mux(coarse == 2, value[16:], 0))
        )
        value, lost, fine = (
            stage(6, moved, WINDOW, "coarse"),
            stage(6, lost, 1, "lost"),
            stage.carry(shift[:3], 5, 6),
        )
        below = (value & ((Const(1, 8) << fine) - 1)[:8]).any()
        moved = value >> fine
        shifted = Cat(moved[0] | below | lost, moved[1:WINDOW])
        return stage(7, shifted ^ sign.replicate(WINDOW), WINDOW, "shifted")

    # Stages 8 to 10: the sum

    def _sum(self, stage, terms, signs):
        """Sum of the terms, the negative ones complemented: each of these adds one more."""
        signs = [stage.carry(s, 1, 7) for s in signs]
        flipped = [Cat(term, sign).as_signed() for term, sign in zip(terms, signs, strict=True)]
        ones = [s + Const(0, 1) for s in signs]
        pair_0 = stage(8, flipped[0] + flipped[1] + ones[0], signed(WINDOW + 2), "pair_0")
        pair_1 = stage(8, flipped[2] + flipped[3] + ones[2], signed(WINDOW + 2), "pair_1")
        last = stage(8, flipped[4] + (ones[1] + ones[3] + ones[4]), signed(WINDOW + 2), "last")
        products = stage(9, pair_0 + pair_1, signed(WINDOW + 3), "products")
        return stage(10, products + stage.carry(last, 8, 9), signed(SUM + 1), "total")

    # Stages 11 to 16: one rounding

    def _round(self, m, stage, total, top, zero, signs, special):
        frac = self.frac
        negative = total[-1]
        magnitude = stage(11, Mux(negative, -total, total)[:SUM], SUM, "magnitude")
        negative = stage(11, negative, 1, "negative")
        lzc = stage(12, leading_zeros(magnitude), 5, "leading")
        empty = stage.carry(stage(12, ~magnitude.any(), 1, "empty"), 12, 14)
        magnitude = stage.carry(magnitude, 11, 12)
        coarse = lzc[3:]
        moved = Mux(
            coarse == 0,
            magnitude,
            Mux(coarse == 1, magnitude << 8, Mux(coarse == 2, magnitude << 16, magnitude << 24)),
        )
        magnitude = stage(13, moved[:SUM], SUM, "normal_coarse")
        normal = stage(14, (magnitude << stage.carry(lzc[:3], 12, 13))[:SUM], SUM, "normal")
        # Biased once: the leading one stands for 2^(top - 254 - 22 + 26 - lzc).
        exponent = stage(
            13, stage.carry(top, 5, 12) - (149 - (SUM - 1)) - lzc, signed(11), "exponent"
        )
        exponent = stage.carry(exponent, 13, 14)

        rounded = stage(
            15, self._rounded(normal, stage.carry(self.narrow, 0, 14)), frac + 1, "rounded"
        )
        carry = rounded[frac]
        plain = stage(15, exponent, signed(11), "plain_exponent")
        further = stage(15, exponent + 1, signed(11), "further_exponent")
        empty = stage.carry(empty, 14, 15)

        chosen = Mux(carry, further, plain)
        over, under = Mux(carry, further > 254, plain > 254), Mux(carry, further < 1, plain < 1)
        nan, plus, minus = (stage.carry(special[k], 3, 15) for k in ("nan", "plus", "minus"))
        nothing = stage.carry(zero["all"], 2, 15)
        sign = Mux(empty, nothing & stage.carry(zero["sign"], 2, 15), stage.carry(negative, 11, 15))
        sign = Mux(plus | minus, minus & ~plus, sign)
        element = packed(
            rounded,
            chosen,
            sign,
            nan=nan,
            plus=plus,
            minus=minus,
            over=over & ~empty,
            under=empty | under,
            frac=frac,
        )
        m.d.comb += self.result.eq(stage(16, element, frac + 9, "packed"))

    def _rounded(self, normal, narrow):
        """Rounded fraction and its carry; the hidden bit is omitted, since a carry into it leaves a
        fraction of 0."""
        frac, kept = self.frac, normal[SUM - 1 - self.frac : SUM - 1]
        if frac == FRAC:
            return kept + rounds_up(normal, frac)
        cut = frac - FRAC
        ones = narrow.replicate(cut)
        # The lower bits are ones where they are to go: a carry from below passes through them, and
        # they are masked behind.
        total = Cat(kept[:cut] | ones, kept[cut:]) + Mux(
            narrow, rounds_up(normal, FRAC), rounds_up(normal, frac)
        )
        return Cat(total[:cut] & ~ones, total[cut : frac + 1])
