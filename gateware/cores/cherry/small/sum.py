# SPDX-License-Identifier: BSD-2-Clause
"""Serial dot product: one multiplier, term by term, rounded once (specification, section 4.1)."""

from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....primitives.dsp import MultiplierArray
from ..engine.units.rounding import SUM, WINDOW, packed, rounds_up
from ..tables import FRAC

__all__ = ["SerialSum"]

_TERMS = 5


class SerialSum(wiring.Component):
    """Serial accumulator of at most four products and one addend.

    Terms come one a cycle at most, between ``start`` and ``finish``; the result follows 14 to 26
    cycles after ``finish``: terms are aligned and added one a cycle, and the sum is shifted left by
    one or eight bits a cycle.

    Parameters
    ----------
    multiplier : ``"dsp"`` or ``"lut"``
    family : as the primitives'

    Members
    -------
    start : In, forgets all terms and any result under way
    put : In, another term: ``a`` * ``b`` (18 bits each), or, with ``addend``, ``c`` (18 bits)
    finish : In, no term after this cycle
    done : Out, pulse; ``result`` : Out, 18 bits, in that cycle
    """

    def __init__(self, *, multiplier: str = "dsp", family: str | None = None) -> None:
        self._multiplier = MultiplierArray(lanes=1, kind=multiplier, width=16, family=family)
        super().__init__(
            {
                "start": In(1),
                "put": In(1),
                "a": In(18),
                "b": In(18),
                "addend": In(1),
                "c": In(18),
                "finish": In(1),
                "done": Out(1),
                "result": Out(18),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.multiplier = self._multiplier
        self._collect(m)
        total, added = self._add(m)
        self._round(m, total, added)
        return ResetInserter(self.start)(m)

    # Terms as they come

    def _collect(self, m):
        a, b, c = self.a, self.b, self.c
        ea, eb, ec = a[9:17], b[9:17], c[9:17]
        zeros = Mux(self.addend, ec == 0, (ea == 0) | (eb == 0))
        infinite = Mux(self.addend, ec.all(), ea.all() | eb.all())
        nan = Mux(
            self.addend,
            ec.all() & c[:9].any(),
            (ea.all() & a[:9].any())
            | (eb.all() & b[:9].any())
            | (infinite & ((ea == 0) | (eb == 0))),
        )
        sign = Mux(self.addend, c[-1], a[17] ^ b[17])
        m.d.comb += [
            self._multiplier.a[0].eq(Mux(ea == 0, 0, Cat(a[:9], 1))),
            self._multiplier.b[0].eq(Mux(eb == 0, 0, Cat(b[:9], 1))),
        ]

        # A product needs two cycles; so do the rest of its term, and an addend.
        term = data.StructLayout({"magnitude": 20, "exponent": 9, "sign": 1})
        held = [
            Signal(
                data.StructLayout(
                    {"valid": 1, "addend": 1, "exponent": 9, "sign": 1, "addend_magnitude": 20}
                ),
                name=f"held_{k}",
                reset_less=True,
            )
            for k in range(2)
        ]
        m.d.sync += [
            held[0].valid.eq(self.put),
            held[0].addend.eq(self.addend),
            held[0].sign.eq(sign),
            held[1].eq(held[0]),
            held[0].exponent.eq(Mux(zeros, 0, Mux(self.addend, ec + 127, ea + eb))),
            held[0].addend_magnitude.eq(Mux(zeros, 0, Cat(c[:9], 1) << 9)),
        ]
        self._terms = terms = [
            Signal(term, name=f"term_{k}", reset_less=True) for k in range(_TERMS)
        ]
        self._top, self._rotate = Signal(9, reset_less=True), Signal()
        self._plus, self._minus, self._nan = (
            Signal(reset_less=True),
            Signal(reset_less=True),
            Signal(reset_less=True),
        )
        self._nothing, self._negative = Signal(reset_less=True), Signal(reset_less=True)
        with m.If(held[1].valid | self._rotate):
            m.d.sync += [
                later.eq(earlier) for earlier, later in zip(terms[:-1], terms[1:], strict=True)
            ]
            m.d.sync += terms[0].magnitude.eq(0)
        with m.If(held[1].valid):
            m.d.sync += [
                terms[0].magnitude.eq(
                    Mux(held[1].addend, held[1].addend_magnitude, self._multiplier.p[0][:20])
                ),
                terms[0].exponent.eq(held[1].exponent),
                terms[0].sign.eq(held[1].sign),
            ]
            with m.If(held[1].exponent > self._top):
                m.d.sync += self._top.eq(held[1].exponent)
        with m.If(self.put):
            m.d.sync += [
                self._plus.eq(self._plus | (infinite & ~sign)),
                self._minus.eq(self._minus | (infinite & sign)),
                self._nan.eq(self._nan | nan),
                self._nothing.eq(self._nothing & zeros),
                self._negative.eq(self._negative & sign),
            ]
        with m.If(self.start):
            m.d.sync += [
                held[0].valid.eq(0),
                held[1].valid.eq(0),
                self._top.eq(0),
                self._plus.eq(0),
                self._minus.eq(0),
                self._nan.eq(0),
                self._nothing.eq(1),
                self._negative.eq(1),
            ]
            m.d.sync += [t.magnitude.eq(0) for t in terms]

    # Alignment and sum

    def _add(self, m):
        """Returns the sum, and whether it is complete in the next cycle."""
        step, busy = Signal(4), Signal()
        with m.If(busy):
            m.d.sync += step.eq(step + 1)
        with m.If(self.finish):
            m.d.sync += [busy.eq(1), step.eq(0)]
        complete = Signal()
        # Steps 0, 1: the last term's product; 2 to 6: distances; 3 to 7: shifts; 4 to 8: sum.
        m.d.comb += [complete.eq(busy & (step == 8)), self._rotate.eq(busy & (step >= 2))]
        with m.If(self.start | complete):
            m.d.sync += busy.eq(0)
        term = self._terms[-1]
        apart = (self._top - term.exponent)[:9]
        shift, value, sign = (
            Signal(5, reset_less=True),
            Signal(WINDOW, reset_less=True),
            Signal(2, reset_less=True),
        )
        shifted = Signal(WINDOW, reset_less=True)
        m.d.sync += [
            shift.eq(Mux(apart[5:].any(), 31, apart[:5])),
            value.eq(Cat(Const(0, 4), term.magnitude)),
            sign.eq(Cat(term.sign, sign)),
        ]
        lost, moved = Const(0, 1), value
        for bit in range(5):
            width = min(1 << bit, WINDOW)
            lost = lost | (shift[bit] & moved[:width].any())
            moved = Mux(shift[bit], moved[width:], moved)
        m.d.sync += shifted.eq(Cat(moved[0] | lost, moved[1:WINDOW]))
        total = Signal(signed(SUM + 1), reset_less=True)
        m.d.sync += total.eq(
            Mux(
                step == 3,
                0,
                total + (Cat(shifted ^ sign[1].replicate(WINDOW), sign[1]).as_signed() + sign[1]),
            )
        )
        return total, complete

    # One rounding

    def _round(self, m, total, added):
        value, exponent, negative = (
            Signal(SUM, reset_less=True),
            Signal(signed(11), reset_less=True),
            Signal(reset_less=True),
        )
        rounded, sign = Signal(FRAC + 1, reset_less=True), Signal(reset_less=True)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(added):
                    m.next = "SIGN"
            with m.State("SIGN"):
                # The leading one stands for 2^(top - 254 - 22 + 26), biased once.
                m.d.sync += [
                    negative.eq(total[-1]),
                    value.eq(Mux(total[-1], -total, total)[:SUM]),
                    exponent.eq(self._top - (149 - (SUM - 1))),
                ]
                m.next = "NORMAL"
            with m.State("NORMAL"):
                with m.If(value[-1] | (value == 0)):
                    m.next = "ROUND"
                with m.Elif(~value[-8:].any()):
                    m.d.sync += [value.eq(value << 8), exponent.eq(exponent - 8)]
                with m.Else():
                    m.d.sync += [value.eq(value << 1), exponent.eq(exponent - 1)]
            with m.State("ROUND"):
                # The leading one is left out: a carry into it leaves a fraction of 0.
                m.d.sync += [
                    rounded.eq(value[SUM - 1 - FRAC : SUM - 1] + rounds_up(value, FRAC)),
                    sign.eq(Mux(value[-1], negative, self._nothing & self._negative)),
                ]
                m.next = "CARRY"
            with m.State("CARRY"):
                m.d.sync += exponent.eq(exponent + rounded[FRAC])
                m.next = "PACK"
            with m.State("PACK"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        empty = ~value[-1]
        sign = Mux(self._plus | self._minus, self._minus, sign)
        m.d.comb += self.result.eq(
            packed(
                rounded,
                exponent,
                sign,
                nan=self._nan,
                plus=self._plus,
                minus=self._minus,
                over=(exponent > 254) & ~empty,
                under=empty | (exponent < 1),
                frac=FRAC,
            )
        )
