# SPDX-License-Identifier: BSD-2-Clause
"""Operand fetch of the vector unit: reads the words of both sources from LMem alternately, and
aligns them."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import LMemRead, address_bits, lmem_word_bytes, vector_layout
from .plan import count_bits, plan_layout

__all__ = ["VectorFetch"]


class VectorFetch(wiring.Component):
    """Operand fetch: reads the sources of the commands in order.

    Where there is one source, it is the second operand.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while not ``reading``; command : In, with it; next_plan : In,
        with it: its plan
    joins : In, with ``start``: steps of the command before, whose plan is the same,
        may still be to be made; of that before it none are
    plan : In, from the next cycle on
    hold : In: begin no other fetch
    reading : Out: something is still to be read
    read : Out(LMemRead)
    step : Out; a, b : Out: the words, elements from bit 0 on; count : Out:
        elements of this step; last : Out: the command's last step
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        word = 8 * lmem_word_bytes(params)
        super().__init__(
            {
                "start": In(1),
                "joins": In(1),
                "command": In(vector_layout(params)),
                "next_plan": In(plan_layout(params)),
                "plan": In(plan_layout(params)),
                "hold": In(1),
                "reading": Out(1),
                "read": Out(LMemRead(params)),
                "step": Out(1),
                "a": Out(word),
                "b": Out(word),
                "count": Out(count_bits(params)),
                "last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, request = self.plan, self.read.request
        first, second = (
            Signal(address_bits(self.params), reset_less=True),
            Signal(address_bits(self.params), reset_less=True),
        )
        reading, of_second = self.reading, Signal()
        left = Signal(11, reset_less=True)
        asked = Signal()

        m.d.comb += [
            request.valid.eq(reading & (plan.two & of_second | ~self.hold)),
            request.payload.eq(Mux(of_second, second, first)),
            asked.eq(request.valid & request.ready),
        ]
        with m.If(asked):
            m.d.sync += of_second.eq(~of_second | ~plan.two)
            with m.If(of_second):
                m.d.sync += [
                    first.eq(first + plan.stride),
                    second.eq(second + plan.stride),
                    left.eq(left - plan.fetched),
                ]
                with m.If(left <= plan.fetched):
                    m.d.sync += reading.eq(0)
        with m.If(self.start):
            m.d.sync += [
                reading.eq(1),
                first.eq(self.command.src1),
                second.eq(Mux(self.next_plan.two, self.command.src2, self.command.src1)),
                of_second.eq(~self.next_plan.two),
                left.eq(self.command.len),
            ]

        # Words that arrive
        kept, have_first = Signal.like(self.a, reset_less=True), Signal()
        arrives = Signal()
        m.d.comb += arrives.eq(self.read.valid & (have_first | ~plan.two))
        with m.If(self.read.valid):
            m.d.sync += have_first.eq(plan.two & ~have_first)
            with m.If(~have_first):
                m.d.sync += kept.eq(self.read.data)

        # Steps; of a command that began meanwhile, the number of its elements waits.
        undone, again = Signal(11, reset_less=True), Signal()
        following, follows, stepping = Signal(11, reset_less=True), Signal(), Signal()
        final = Signal()
        m.d.comb += [
            final.eq(undone <= plan.elements),
            self.last.eq(final),
            self.count.eq(Mux(final, undone, plan.elements)),
            again.eq(self.step & plan.again & ~final),
        ]
        second_half = Signal()
        m.d.sync += [
            self.step.eq(arrives | again & ~second_half),
            second_half.eq(again & ~second_half),
        ]
        with m.If(self.step):
            m.d.sync += undone.eq(undone - plan.elements)
            with m.If(final):
                m.d.sync += [undone.eq(following), stepping.eq(follows), follows.eq(0)]
        with m.If(self.start):
            m.d.sync += stepping.eq(1)
            with m.If(self.joins & stepping & ~(self.step & final)):
                m.d.sync += [following.eq(self.command.len), follows.eq(1)]
            with m.Else():
                m.d.sync += undone.eq(self.command.len)
        size = len(self.a)
        with m.If(arrives):
            m.d.sync += [self.a.eq(kept), self.b.eq(self.read.data)]
        with m.Elif(again):
            for word in (self.a, self.b):
                m.d.sync += word[: size // 2].eq(
                    Mux(plan.ib == 2, word[24 : 24 + size // 2], word[size // 2 :])
                    if size == 64
                    else word[size // 2 :]
                )

        return m
