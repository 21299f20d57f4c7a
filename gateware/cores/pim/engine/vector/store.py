# SPDX-License-Identifier: BSD-2-Clause
"""Result store of the vector unit: saturates results, packs them into bytes and writes them."""

from amaranth import Cat, Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import TAG_BITS, LMemWrite, address_bits, lmem_word_bytes, progress_layout
from ..saturation import byte_sources, choose_bytes, pick, saturate
from .plan import accumulator_bits, count_bits, lane_bits, multipliers, plan_layout

__all__ = ["VectorStore", "result_bits"]


def result_bits(params: Params) -> list[int]:
    """Width of a result before saturation, in each lane."""
    bits = [lane + 1 for lane in lane_bits(params)]
    for lane in range(multipliers(params)):
        bits[lane] = max(bits[lane], 32)
    bits[0] = max(bits[0], accumulator_bits(params))
    return bits


class VectorStore(wiring.Component):
    """Result store in two stages: saturation with packing, and write. It cannot stall: the producer
    knows that LMem accepts results, or sends one at a time.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In; dst, tag : In, with it: where the first result goes, and whose it is. joins :
        In, with it: results of the command before, whose plan is the same, are still to come; this
        may be said while not ``waiting``
    waiting : Out: results of two commands are to come
    plan : In
    valid, count, last : In; result_k : In: of all lanes
    write : Out(LMemWrite); progress : Out; ends : Out: the same a cycle earlier:
        the last result is written now
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self.results = result_bits(params)
        super().__init__(
            {
                "start": In(1),
                "dst": In(address_bits(params)),
                "tag": In(TAG_BITS),
                "joins": In(1),
                "waiting": Out(1),
                "plan": In(plan_layout(params)),
                "valid": In(1),
                "count": In(count_bits(params)),
                "last": In(1),
                **{f"result_{lane}": In(signed(bits)) for lane, bits in enumerate(self.results)},
                "write": Out(LMemWrite(params)),
                "progress": Out(progress_layout()),
                "ends": Out(progress_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, word = self.plan, lmem_word_bytes(self.params)
        values = []
        for lane, (bits, wide) in enumerate(zip(lane_bits(self.params), self.results, strict=True)):
            mask = Cat(plan.upper, Const(-1, 64))[:wide]
            value = Signal(bits, name=f"value_{lane}")
            wraps = (
                {"wrap": plan.left, "top": plan.top[:bits]}
                if lane < multipliers(self.params)
                else {}
            )
            m.d.comb += value.eq(
                saturate(m, getattr(self, f"result_{lane}"), mask, bits, f"lane_{lane}", **wraps)
            )
            values.append(value)
        count, places, masks = self.count, {}, {}
        for byw in range(1, self.params["max_biw"] // 8 + 1):
            sources = byte_sources(word, word // byw if byw != 3 else 1, byw)
            places[byw - 1] = sources
            masks[byw - 1] = Cat(Const(0, 1) if s is None else count > s[0] for s in sources)

        request = self.write.request
        valid, last, accepted = Signal(), Signal(reset_less=True), Signal()
        packed, mask = Signal(8 * word, reset_less=True), Signal(word, reset_less=True)
        dst, tag = (
            Signal(address_bits(self.params), reset_less=True),
            Signal(TAG_BITS, reset_less=True),
        )
        next_dst, next_tag = Signal.like(dst), Signal.like(tag)
        m.d.sync += valid.eq(self.valid | valid & ~accepted)
        with m.If(self.valid):
            m.d.sync += [
                last.eq(self.last),
                packed.eq(choose_bytes(places, values, plan.ob)),
                mask.eq(pick(masks, plan.ob)),
            ]
        m.d.comb += [
            accepted.eq(request.valid & request.ready),
            request.valid.eq(valid),
            request.payload.address.eq(dst),
            request.payload.data.eq(packed),
            request.payload.mask.eq(mask),
            self.ends.done.eq(accepted & last),
            self.ends.tag.eq(tag),
        ]
        with m.If(accepted):
            m.d.sync += dst.eq(dst + plan.advance)
            with m.If(last & self.waiting):
                m.d.sync += [dst.eq(next_dst), tag.eq(next_tag), self.waiting.eq(0)]
        with m.If(self.start & self.joins):
            m.d.sync += [next_dst.eq(self.dst), next_tag.eq(self.tag), self.waiting.eq(1)]
        with m.Elif(self.start):
            m.d.sync += [dst.eq(self.dst), tag.eq(self.tag)]
        m.d.sync += self.progress.eq(self.ends)
        return m
