# SPDX-License-Identifier: BSD-2-Clause
"""The vector unit's multipliers: products and shifts of 16 bits in each lane, or of 32 bits in all of them together, and their sum."""
from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...primitives.bram import check_family
from ...primitives.multipliers import PipelinedMultipliers
from .matrix_lanes import multiplier_kind
from .vector_plan import accumulator_bits, lane_bits, multipliers, operand_bits, plan_layout

__all__ = ["SHORT_SHIFT", "VectorProducts"]

#: A right shift by n of 16 bits is a product with 2**(SHORT_SHIFT - n); shifts beyond leave the sign.
SHORT_SHIFT = 14


class VectorProducts(wiring.Component):
    """Products of what stands at ``a`` and ``b``, shifts of ``a`` by ``b`` places.

    A left shift is a product with a power of two, of which the low bits are taken; a right shift one of which the high bits are.
    With 32-bit elements, a product of 32 bits is the sum of four of 16.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    plan : In
    long : In: these operands are of 32 bits (where ``max_biw`` is 32); scalar : In: and it is their product that is asked for
    a_k, b_k : In: elements; of the first ``multipliers(params)`` lanes
    table_a, table_b : In, table : In: the first multiplier takes these instead; table_product : Out, three cycles later
    short_k : Out, :attr:`SHORT` cycles later: products, or shifts, of 16 bits
    total : Out, :attr:`TOTAL` cycles later: the product of 32 bits, or the sum of all lanes' products
    shifted : Out, with it: what a shift of 32 bits gives
    """
    #: Cycles to results of 16 bits, to sums.
    SHORT = PipelinedMultipliers.LATENCY
    TOTAL = SHORT + 2

    def __init__(self, *, params, family=None):
        check_family(family)
        self.params, self.family = params, family
        self.number, self.bits = multipliers(params), operand_bits(params)
        lanes = lane_bits(params)
        members = {
            "plan": In(plan_layout(params)), "long": In(1), "scalar": In(1), "table": In(1), "table_a": In(signed(12)), "table_b": In(signed(12)),
            "table_product": Out(signed(24)), "total": Out(signed(accumulator_bits(params))), "shifted": Out(signed(32)),
        }
        for lane in range(self.number):
            members |= {f"a_{lane}": In(signed(lanes[lane])), f"b_{lane}": In(signed(lanes[lane])), f"short_{lane}": Out(signed(32))}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        plan, bits, wide = self.plan, self.bits, self.params["max_biw"] == 32
        m.submodules.array = array = PipelinedMultipliers(
            lanes=self.number, a_width=bits, b_width=bits, kind=multiplier_kind(self.params, self.family), family=self.family)

        # Operands: lane by lane, or the four pairs of halves of the first lane's.
        kept = []
        for lane in range(self.number):
            a, b = getattr(self, f"a_{lane}"), getattr(self, f"b_{lane}")
            low = min(16, len(a))
            factor, sign, far = Signal(signed(bits), name=f"factor_{lane}"), Signal(name=f"sign_{lane}"), Signal(name=f"far_{lane}")
            beyond = b[5:low].any() if low > 5 else 0
            places = b[:4]
            m.d.comb += sign.eq(a[low - 1])
            with m.If(plan.multiply):
                m.d.comb += factor.eq(b[:low].as_signed())
            with m.Elif(plan.left):
                m.d.comb += [factor.eq(Mux(beyond, 0, 1 << places)), far.eq(b[4])]
            with m.Else():
                m.d.comb += [
                    factor.eq(Cat((places == SHORT_SHIFT - k) & ~b[4] for k in range(SHORT_SHIFT + 1))),
                    far.eq(beyond | b[4] | (places > SHORT_SHIFT)),
                ]
            left, right = Signal(signed(bits), name=f"left_{lane}"), Signal(signed(bits), name=f"right_{lane}")
            m.d.comb += [left.eq(a[:low].as_signed()), right.eq(factor)]
            if wide:
                halves = Signal(signed(18), name=f"half_a_{lane}"), Signal(signed(18), name=f"half_b_{lane}")
                high = lane in (1, 3), lane in (2, 3)
                m.d.comb += [
                    halves[0].eq(self.a_0[16:].as_signed() if high[0] else self.a_0[:16]),
                    halves[1].eq(self._long_factor(m, lane, high[1])),
                ]
                with m.If(self.long):
                    m.d.comb += [left.eq(halves[0]), right.eq(halves[1])]
            if lane == 0:
                with m.If(self.table):
                    m.d.comb += [left.eq(self.table_a), right.eq(self.table_b)]
            m.d.comb += [array.a[lane].eq(left), array.b[lane].eq(right)]
            for k in range(self.SHORT):
                later = Signal(2, name=f"kept_{lane}_{k}", reset_less=True)
                m.d.sync += later.eq(Cat(sign, far))
                sign, far = later
            kept.append((sign, far))
        m.d.comb += self.table_product.eq(array.p[0])

        # Results of 16 bits
        keep, top = plan.upper, self.params["max_biw"]
        for lane in range(self.number):
            product, (sign, far) = array.p[lane], kept[lane]
            left = Signal(top, name=f"to_left_{lane}")
            m.d.comb += left.eq(Mux(far, product[:32] << 16, product[:32]))
            result = getattr(self, f"short_{lane}")
            with m.If(plan.multiply):
                m.d.comb += result.eq(product)
            with m.Elif(plan.left):
                m.d.comb += result.eq(self._wrapped(m, left, keep, f"wrapped_{lane}"))
            with m.Else():
                m.d.comb += result.eq(Mux(far, sign.replicate(32).as_signed(), product >> SHORT_SHIFT))

        # Sums: two outer products side by side or added, two inner ones added; a cycle later the sum of both.
        p = list(array.p)
        is_long = self.long
        for k in range(self.SHORT + 1):
            later = Signal(name=f"long_{k}")
            m.d.sync += later.eq(is_long)
            is_long, before = later, is_long
        inner = Signal(signed(37), reset_less=True)
        outer, total = Signal(signed(len(self.total)), reset_less=True), Signal(signed(len(self.total)), reset_less=True)
        m.d.sync += [
            inner.eq(p[1] + p[2] if self.number == 4 else p[1] if self.number == 2 else 0),
            outer.eq(p[0] + p[3] if self.number == 4 else p[0]),
        ]
        if wide:
            with m.If(before):
                m.d.sync += outer.eq(Cat(p[0][:32], p[3][:32]))
        m.d.sync += total.eq(outer + (Mux(is_long, inner << 16, inner) if wide else inner))
        m.d.comb += self.total.eq(total)
        if wide:
            m.d.comb += self.shifted.eq(Mux(plan.left, self._wrapped(m, total[:32], keep, "wrapped"), total[32:].as_signed()))
        return m

    def _long_factor(self, m, lane, high):
        """A half of the second factor of 32 bits: of ``b``, or of 2**b, or of 2**(32 - b); the upper half may be 2**16."""
        plan, b = self.plan, self.b_0
        beyond = b[5:].any()
        half = Signal(signed(18), name=f"long_factor_{lane}")
        first = 16 if high else 0
        with m.If(plan.multiply | self.scalar):
            m.d.comb += half.eq(b[16:].as_signed() if high else b[:16])
        with m.Elif(plan.left):
            m.d.comb += half.eq(Cat((b[:5] == first + k) & ~beyond for k in range(16)))
        with m.Else():
            # 2**(32 - n): bit 32 is for n = 0, bit 0 for n of 32 and more.
            bits = [(b[:5] == 32 - first - k) & ~beyond if first + k else beyond for k in range(17 if high else 16)]
            m.d.comb += half.eq(Cat(bits))
        return half

    @staticmethod
    def _wrapped(m, value, upper, name):
        """``value`` modulo 2**obiw, its sign extended; ``upper`` has the bits from the sign on."""
        size = min(len(value), len(upper))
        sign = Signal(name=f"{name}_sign")          # once, not once a bit
        m.d.comb += sign.eq(Cat(value[b] & upper[b] & (~upper[b - 1] if b else 1) for b in range(size)).any())
        return Cat(Mux(upper[b], sign, value[b]) for b in range(size)).as_signed()
