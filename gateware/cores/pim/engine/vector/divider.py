# SPDX-License-Identifier: BSD-2-Clause
"""Divider of ``vavg``: divides a sum by its number of elements, rounded to nearest, halves away
from zero (section 4.3)."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family, check_integer
from .....primitives.adders import FunctionAdder

__all__ = ["AverageDivider"]

#: Bits of a short element.
_SHORT = 16


class AverageDivider(wiring.Component):
    """Serial divider: one bit of the quotient per cycle.

    Parameters
    ----------
    bits : int
        Of an element; the sum of ``count`` elements fits ``bits + 11``.
    family : as the primitives'

    Members
    -------
    start : In, one cycle; total : In(signed), count : In, 1..2047: with it; short : In,
        with it: elements have 16 bits at most
    done : Out, one cycle; quotient : Out(signed), with it: ``bits + 2`` cycles after ``start``,
        18 where it is ``short``
    """

    def __init__(self, *, bits: int, family: str | None = None) -> None:
        check_integer("Bits of an element", bits, 1, 64)
        check_family(family)
        self.bits, self.family = bits, family
        super().__init__(
            {
                "start": In(1),
                "total": In(signed(bits + 11)),
                "count": In(11),
                "short": In(1),
                "done": Out(1),
                "quotient": Out(signed(bits + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        negative, running, steps = Signal(reset_less=True), Signal(), Signal(range(self.bits + 1))
        rest, low, divisor = (
            Signal(11, reset_less=True),
            Signal(self.bits, reset_less=True),
            Signal(11, reset_less=True),
        )
        sign = self.total[-1]
        # |total| + count / 2: its upper bits are below count, since the quotient fits its bits.
        dividend = Signal(self.bits + 11)
        m.submodules.absolute = absolute = FunctionAdder(
            width=len(dividend), function="xor", family=self.family
        )
        m.d.comb += [
            absolute.a.eq(self.count >> 1),
            absolute.b.eq(self.total),
            absolute.c.eq(sign.replicate(len(dividend))),
            absolute.carry.eq(sign),
            dividend.eq(absolute.total),
        ]
        # A short quotient is that of the dividend's lower bits: they begin where the last steps
        # take them.
        aligned, steps_now = Signal.like(dividend), Signal.like(steps)
        m.d.comb += [aligned.eq(dividend), steps_now.eq(self.bits)]
        if self.bits > _SHORT:
            with m.If(self.short):
                m.d.comb += [aligned.eq(dividend << self.bits - _SHORT), steps_now.eq(_SHORT)]
        difference = Signal(signed(13))
        m.d.comb += difference.eq(Cat(low[-1], rest) - divisor)
        finish = Signal()
        m.d.sync += finish.eq(running & (steps == 1))
        with m.If(running):
            m.d.sync += [
                steps.eq(steps - 1),
                low.eq(Cat(~difference[-1], low)),
                rest.eq(Mux(difference[-1], Cat(low[-1], rest), difference)),
            ]
            with m.If(steps == 1):
                m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += [
                running.eq(1),
                steps.eq(steps_now),
                negative.eq(sign),
                divisor.eq(self.count),
                Cat(low, rest).eq(aligned),
            ]
        m.submodules.negated = negated = FunctionAdder(
            width=self.bits, function="xor", family=self.family
        )
        m.d.comb += [
            negated.b.eq(low),
            negated.c.eq(negative.replicate(self.bits)),
            negated.carry.eq(negative),
        ]
        m.d.sync += [self.done.eq(finish), self.quotient.eq(negated.total)]
        # -low in one bit more: of the complement's bits the topmost is the sign, which is not there
        # where low is 0.
        m.d.sync += self.quotient[-1].eq(negative & low.any())
        return m
