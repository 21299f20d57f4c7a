# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers of the vector unit: products and shifts of 16 bits in each lane, or of 32 bits in all
lanes together, and their sum."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.adders import FunctionAdder
from .....primitives.multipliers import PipelinedMultipliers
from ..matrix.lanes import multiplier_kind
from ..saturation import gathered
from .plan import Result, accumulator_bits, lane_bits, multipliers, operand_bits, plan_layout

__all__ = ["SHORT_SHIFT", "VectorProducts"]

#: A right shift by n of 16 bits is a product with 2**(SHORT_SHIFT - n), which 16 bits with a sign
#: can hold; shifts beyond leave the sign.
SHORT_SHIFT = 14


class VectorProducts(wiring.Component):
    """Multipliers of the vector unit: products of ``a`` and ``b``, or shifts of ``a`` by ``b``
    places.

    A left shift is a product with a power of two, of which the low bits are taken; a right shift
    one of which the high bits are. With 32-bit elements, a product of 32 bits is the sum of four of
    16.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    plan : In
    long : In: these operands are of 32 bits (where ``max_biw`` is 32); scalar : In:
        and it is their product that is requested
    a_k, b_k : In: elements; of the first ``multipliers(params)`` lanes
    table_a, table_b : In, table : In: the first multiplier takes these instead;
        table_product : Out, three cycles later
    short_k : Out, :attr:`SHORT` cycles later: products, or shifts, of 16 bits;
        0 where the plan does not choose these
    total : Out, :attr:`TOTAL` cycles later: the product of 32 bits,
        or the sum of all lanes' products
    shifted : Out, with it: result of a 32-bit shift
    """

    #: Cycles to results of 16 bits, to sums.
    SHORT = PipelinedMultipliers.LATENCY
    TOTAL = SHORT + 2

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        self.number, self.bits = multipliers(params), operand_bits(params)
        lanes = lane_bits(params)
        members = {
            "plan": In(plan_layout(params)),
            "long": In(1),
            "scalar": In(1),
            "table": In(1),
            "table_a": In(signed(12)),
            "table_b": In(signed(12)),
            "table_product": Out(signed(24)),
            "total": Out(signed(accumulator_bits(params))),
            "shifted": Out(signed(32)),
        }
        for lane in range(self.number):
            members |= {
                f"a_{lane}": In(signed(lanes[lane])),
                f"b_{lane}": In(signed(lanes[lane])),
                f"short_{lane}": Out(signed(32)),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, bits, wide = self.plan, self.bits, self.params["max_biw"] == 32
        m.submodules.array = array = PipelinedMultipliers(
            lanes=self.number,
            a_width=bits,
            b_width=bits,
            kind=multiplier_kind(self.params, self.family),
            family=self.family,
        )

        # Operands: lane by lane, or the four pairs of halves of the first lane's.
        long_factors = self._long_factors(m) if wide else ()
        kept = []
        for lane in range(self.number):
            a, b = getattr(self, f"a_{lane}"), getattr(self, f"b_{lane}")
            low = min(16, len(a))
            factor, sign, far = (
                Signal(signed(bits), name=f"factor_{lane}"),
                Signal(name=f"sign_{lane}"),
                Signal(name=f"far_{lane}"),
            )
            power, none = Signal(4, name=f"power_{lane}"), Signal(name=f"none_{lane}")
            beyond = b[5:low].any() if low > 5 else 0
            # SHORT_SHIFT - b, which is ~b - 1 of four bits: a carry chain would cost more.
            down = Signal(4, name=f"down_{lane}")
            m.d.comb += [
                down.eq(Cat(~b[k] ^ b[:k].all() if k else b[0] for k in range(4))),
                sign.eq(a[low - 1]),
                power.eq(Mux(plan.left, b[:4], down)),
                none.eq(plan.left & beyond),
                far.eq(b[4] | ~plan.left & (beyond | b[:4].all())),
            ]
            m.d.comb += factor.eq(
                self._power(
                    m, power, none, plan.multiply, b[:low].as_signed(), 16, f"lane_{lane}"
                ).as_signed()
            )
            left, right = (
                Signal(signed(bits), name=f"left_{lane}"),
                Signal(signed(bits), name=f"right_{lane}"),
            )
            m.d.comb += [left.eq(a[:low].as_signed()), right.eq(factor)]
            if wide:
                with m.If(self.long):
                    m.d.comb += [
                        left.eq(self.a_0[16:].as_signed() if lane in (1, 3) else self.a_0[:16]),
                        right.eq(long_factors[lane // 2]),
                    ]
            if lane == 0:
                with m.If(self.table):
                    m.d.comb += [left.eq(self.table_a), right.eq(self.table_b)]
            m.d.comb += [array.a[lane].eq(left), array.b[lane].eq(right)]
            for k in range(self.SHORT - 1):
                later = Signal(2, name=f"kept_{lane}_{k}", reset_less=True)
                m.d.sync += later.eq(Cat(sign, far))
                sign, far = later
            # Which bits of the product are the result's: as they are, 16 places up, SHORT_SHIFT
            # places down; or the sign is.
            shows = Signal(4, name=f"shows_{lane}", reset_less=True)
            shift, up = ~plan.multiply, plan.left
            m.d.sync += shows.eq(
                Cat(
                    plan.multiply | up & ~far,
                    shift & up & far,
                    shift & ~up & ~far,
                    shift & ~up & far & sign,
                )
                & plan.chosen[Result.SHORT].replicate(4)
            )
            kept.append(shows)
        m.d.comb += self.table_product.eq(array.p[0])

        # Results of 16 bits
        for lane in range(self.number):
            product = Signal(
                signed(max(32 + SHORT_SHIFT, len(array.p[lane]))), name=f"product_{lane}"
            )
            m.d.comb += [
                product.eq(array.p[lane]),
                getattr(self, f"short_{lane}").eq(
                    gathered(
                        (
                            product[:32],
                            Cat(Const(0, 16), product[:16]),
                            product[SHORT_SHIFT : SHORT_SHIFT + 32],
                            Const(-1, 32),
                        ),
                        kept[lane],
                    )
                ),
            ]

        # Sums: two outer products side by side or added, two inner ones added; a cycle later the
        # sum of both.
        p = list(array.p)
        is_long = self.long
        for k in range(self.SHORT + 1):
            later = Signal(name=f"long_{k}")
            m.d.sync += later.eq(is_long)
            is_long, before = later, is_long
        inner = Signal(signed(37), reset_less=True)
        outer, total = (
            Signal(signed(len(self.total)), reset_less=True),
            Signal(signed(len(self.total)), reset_less=True),
        )
        m.d.sync += [
            inner.eq(p[1] + p[2] if self.number == 4 else p[1] if self.number == 2 else 0),
            outer.eq(p[0] + p[3] if self.number == 4 else p[0]),
        ]
        if wide:
            with m.If(before):
                m.d.sync += outer.eq(Cat(p[0][:32], p[3][:32]))
        if wide:
            m.submodules.sum = adder = FunctionAdder(
                width=len(total), function="mux", family=self.family
            )
            m.d.comb += [
                adder.a.eq(outer),
                adder.b.eq(is_long.replicate(len(total))),
                adder.c.eq(inner << 16),
                adder.d.eq(inner),
            ]
            m.d.sync += total.eq(adder.total)
        else:
            m.d.sync += total.eq(outer + inner)
        m.d.comb += self.total.eq(total)
        if wide:
            m.d.comb += self.shifted.eq(Mux(plan.left, total[:32], total[32:]))
        return m

    def _long_factors(self, m):
        """Both halves of the second 32-bit factor: ``b``, or 2**b, or 2**(32 - b); the upper half
        may be 2**16."""
        plan, b = self.plan, self.b_0
        beyond = b[5:].any()
        power, none = Signal(6), Signal()
        multiply = Signal()
        # 2**32 is for no places, 1 for 32 and more.
        m.d.comb += [
            power.eq(Mux(plan.left, b[:5], Mux(beyond, 0, 32 - b[:5]))),
            none.eq(plan.left & beyond),
        ]
        m.d.comb += multiply.eq(plan.multiply | self.scalar)
        # The upper half's powers go to 16: its sign is 0 then.
        factor = self._power(m, power, none, multiply, b.as_signed(), 33, "long")
        return Cat(factor[:16], Const(0, 2)).as_signed(), factor[16:].as_signed()

    @staticmethod
    def _power(m, power, none, multiply, value, bits, name):
        """Multiplexer: ``value`` if ``multiply`` is set, else 2**``power``, or 0 with ``none``;
        ``bits`` bits and a sign."""
        low, high = (
            Signal(4, name=f"{name}_power_low"),
            Signal(-(-bits // 4), name=f"{name}_power_high"),
        )
        m.d.comb += [
            low.eq(Cat(power[:2] == k for k in range(4))),
            high.eq(Cat((power[2:] == k) & ~none for k in range(len(high)))),
        ]
        sign = multiply & value[-1]
        return Cat(
            *(
                Mux(multiply, value[min(k, len(value) - 1)], low[k % 4] & high[k // 4])
                for k in range(bits)
            ),
            sign,
        )
