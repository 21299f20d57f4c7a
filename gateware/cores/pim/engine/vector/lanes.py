# SPDX-License-Identifier: BSD-2-Clause
"""Lanes of the vector unit: unpacking of words to elements, and adders."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import lmem_word_bytes
from ..saturation import pick
from .plan import Result, count_bits, lane_bits, plan_layout

__all__ = ["VectorAdders", "VectorUnpack"]


class VectorUnpack(wiring.Component):
    """Unpacker of the vector unit: elements of two words, sign-extended; latency one cycle.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    plan : In; a_word, b_word, count : In
    scalar : In: instead of elements ``scalar_a``, ``scalar_b`` go to the first lane
    a_k, b_k : Out, of each lane, one cycle later.
        ``b`` is inverted where the adders subtract. Where there is one source, ``a`` is the plan's
        constant. Lanes past ``count`` have an ``a`` of 0 where products are summed. Counts of
        shifts have no sign.
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        word = 8 * lmem_word_bytes(params)
        self.bits = lane_bits(params)
        members = {
            "plan": In(plan_layout(params)),
            "a_word": In(word),
            "b_word": In(word),
            "count": In(count_bits(params)),
            "scalar": In(1),
            "scalar_a": In(32),
            "scalar_b": In(32),
        }
        for lane, bits in enumerate(self.bits):
            members |= {f"a_{lane}": Out(signed(bits)), f"b_{lane}": Out(signed(bits))}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, size = self.plan, lmem_word_bytes(self.params)
        shifts = Signal()
        m.d.comb += shifts.eq(plan.two & ~plan.multiply & ~plan.chosen[Result.ADDERS])
        for lane, bits in enumerate(self.bits):
            values = {}
            for name, word in (("a", self.a_word), ("b", self.b_word)):
                raw = Signal(bits, name=f"{name}_raw_{lane}")
                for byte in range(bits // 8):
                    choices = {
                        byw - 1: word.word_select(lane * byw + byte, 8)
                        for byw in (1, 2, 4)
                        if byte < byw <= self.params["max_biw"] // 8 and (lane + 1) * byw <= size
                    }
                    if lane == 0:
                        choices = {0: word.word_select(byte, 8)}
                    value = (
                        next(iter(choices.values()))
                        if len(choices) == 1
                        else pick(choices, plan.ib)
                    )
                    m.d.comb += raw.word_select(byte, 8).eq(value)
                sign = Signal(name=f"{name}_sign_{lane}")
                m.d.comb += sign.eq(
                    (raw & plan.sign[:bits]).any() & ~(shifts if name == "b" else 0)
                )
                extended = Signal(bits, name=f"{name}_extended_{lane}")
                m.d.comb += extended.eq(Cat(Mux(plan.keep[b], raw[b], sign) for b in range(bits)))
                if name == "b":
                    extended = extended ^ plan.subtract.replicate(bits)
                values[name] = extended
            a, b = (
                Signal(signed(bits), name=f"a_{lane}", reset_less=True),
                Signal(signed(bits), name=f"b_{lane}", reset_less=True),
            )
            chosen = Mux(plan.two, values["a"], plan.constant[:bits])
            if lane:
                chosen = Mux((self.count > lane) | plan.chosen[Result.ADDERS], chosen, 0)
            second = values["b"]
            if lane == 0 and bits == 32:
                chosen, second = (
                    Mux(self.scalar, self.scalar_a, chosen),
                    Mux(self.scalar, self.scalar_b, second),
                )
            m.d.sync += [a.eq(chosen), b.eq(second)]
            m.d.comb += [getattr(self, f"a_{lane}").eq(a), getattr(self, f"b_{lane}").eq(b)]
        return m


class VectorAdders(wiring.Component):
    """Adders of the vector unit: ``a + b``, ``a - b``, maximum, or minimum; combinational.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    plan : In; a_k, b_k : In, as :class:`VectorUnpack` gives them; result_k : Out:
        one bit more than the lane
    """

    def __init__(self, *, params: Params) -> None:
        self.bits = lane_bits(params)
        members = {"plan": In(plan_layout(params))}
        for lane, bits in enumerate(self.bits):
            members |= {
                f"a_{lane}": In(signed(bits)),
                f"b_{lane}": In(signed(bits)),
                f"result_{lane}": Out(signed(bits + 1)),
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        subtract = self.plan.subtract
        for lane, bits in enumerate(self.bits):
            a, b = getattr(self, f"a_{lane}"), getattr(self, f"b_{lane}")
            total = Signal(signed(bits + 1), name=f"total_{lane}")
            other = Signal(signed(bits + 1), name=f"other_{lane}")
            # One carry chain: a + b, or a + ~b + 1, the one as the carry out of a bit below. b is
            # inverted already.
            chain = Signal(bits + 2, name=f"chain_{lane}")
            wide = Signal(signed(bits + 1), name=f"wide_{lane}")
            m.d.comb += [
                other.eq(b),
                wide.eq(a),
                chain.eq(Cat(1, wide) + Cat(subtract, other)),
                total.eq(chain[1:]),
            ]
            less = total[-1]
            chosen = Mux((self.plan.most & less) | (self.plan.least & ~less), ~b, a)
            m.d.comb += getattr(self, f"result_{lane}").eq(Mux(self.plan.extreme, chosen, total))
        return m
