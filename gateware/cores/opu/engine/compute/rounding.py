# SPDX-License-Identifier: BSD-2-Clause
"""Exact rounding of a convolution's sums with one shifter per lane (specification, section 4.4).

All three kinds of ``conv`` have the result

    clamp_O(clamp_T(floor((S + base) * 2**f)) + addend)

where S is the dot product, f the shift (clipped), T a type of wO + 2 bits, and ``base`` and
``addend`` are the same for all positions: since S is an integer, floor((S + z) / 2**k) = floor((S +
floor(z)) / 2**k). So the accumulator starts at ``base`` instead of 0, and neither a second shifter
nor an adder for the rounding is needed.

=====================  =======================================  ===========================
kind                   base                                     addend
=====================  =======================================  ===========================
conv, f >= 0           0                                        0
conv, f = -k           2**(k-1)                                 0
conv.acc               as conv                                  the old ``ofm``
conv.bias              floor((bias * 2**b + 1/2) / 2**f), what  what is below 2**f, clamped
                       is below 2**f left over (f > 0)
=====================  =======================================  ===========================

``bias_terms`` says it on Python integers; :class:`~.biasterms.BiasTerms` computes it, one lane a
cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ...types import type_set

__all__ = ["Rounder", "RoundingBits", "bias_terms", "plain_base", "rounded"]


@dataclass(frozen=True)
class RoundingBits:
    """Widths of the rounder for a type set.

    Attributes
    ----------
    bias, ofm, term : widths of BTYPE, OTYPE and of the clamped term
    left : left shift at which a term that is not 0 reaches the ends of the clamped term,
        and any sum saturates
    right : right shift above which only the sign of S can matter, and that only beside a bias
    base : bits to which the shifted bias is clamped; the accumulator has one more
    """

    bias: int
    ofm: int
    term: int
    left: int
    right: int

    @classmethod
    def of(cls, params: Params) -> RoundingBits:
        """Widths of the rounder for build parameters."""
        types = type_set(params)
        return cls(
            bias=types.bias,
            ofm=types.ofm,
            term=types.term_bits,
            left=types.term_bits - 1,
            right=max(types.dot_log2, types.bias) + 2,
        )

    @property
    def base(self) -> int:
        """Width of the rounder's base."""
        return self.ofm + 1 + self.right

    @property
    def accumulator(self) -> int:
        """Width of the sum S + base."""
        return self.base + 1

    @property
    def shift(self) -> int:
        """Width of :attr:`Rounder.shift`."""
        return (self.left + self.right).bit_length()


def _saturated(value, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))


def bias_terms(bits: RoundingBits, f: int, b: int, bias: int) -> tuple[int, int]:
    """Reference of the bias terms: ``(base, addend)`` of ``conv.bias`` on Python integers, step by
    step as in the gateware.

    The right shift comes first and splits the bias into an upper part, rounded or floored, and what
    is below it.
    """

    def below(places, flip):
        part = (bias & ((1 << places) - 1)) ^ (flip << places >> 1)
        return part - (part >> places - 1 << places) if places else 0

    if f >= 0:
        if b < 0:  # the rounded bias has 16 bits and is added at the end
            return 0, ((bias << 1 >> min(-b, bits.bias + 1)) + 1) >> 1
        if b < f:
            places = min(f - b, bits.bias + 1)
            return ((bias << 1 >> places) + 1) >> 1, _saturated(
                below(places, 0) << min(b, bits.ofm), bits.ofm
            )
        return _saturated(bias << min(b - f, bits.base), bits.base), 0
    k = min(-f, bits.right)
    if -f <= bits.right or b >= 0:
        places = b + k
        half = 1 << k - 1
        if places < 0:
            return (bias >> min(-places, bits.bias + 1)) + half, 0
        return _saturated(bias << min(places, bits.base), bits.base) + half, 0
    # S is far below the bias' last place: it decides ties. The distance to the tie stays exact
    # where S may reach it.
    places = min(-b, bits.bias + 1)
    distance = _saturated(below(places, 1) << min(-f - places, k), k)
    return ((bias >> places) + 1 << k) + distance, 0


def plain_base(bits: RoundingBits, f: int) -> int:
    """Reference of ``base`` for ``conv`` and ``conv.acc``."""
    return 1 << min(-f, bits.right) - 1 if f < 0 else 0


def rounded(bits: RoundingBits, total: int, f: int, addend: int) -> int:
    """Reference of the rounded result for ``total`` = S + base, on Python integers."""
    f = max(-bits.right, min(bits.left, f))
    term = total << f if f >= 0 else total >> -f
    return _saturated(_saturated(term, bits.term) + addend, bits.ofm)


class Rounder(wiring.Component):
    """Rounder of one lane: shifter, clamps and adder in five stages; one result per cycle.

    Parameters
    ----------
    bits : RoundingBits

    Members
    -------
    total : In(signed), S + base
    coarse : In, upper bits of the shift, with ``total``; ``excess`` : In,
        a bit for each of ``total`` that leaves the term, with it
    middle, fine : In(2), one and two cycles later: bits 3:2 and 1:0 of the shift
    addend : In(signed), three cycles after ``total``
    result : Out(signed), :attr:`LATENCY` cycles after ``total``

    The shift is ``bits.left - f``, a right shift of ``total * 2**bits.left``.
    """

    LATENCY = 5
    #: Cycles from ``total`` to ``addend``.
    ADDEND = 3

    def __init__(self, *, bits: RoundingBits) -> None:
        self.bits = bits
        super().__init__(
            {
                "total": In(signed(bits.accumulator)),
                "coarse": In(bits.shift - 4),
                "excess": In(bits.accumulator),
                "middle": In(2),
                "fine": In(2),
                "addend": In(signed(bits.ofm)),
                "result": Out(signed(bits.ofm)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.bits
        term, ofm = bits.term, bits.ofm

        # Three levels of at most four ways; only what may end up in the term is carried on.
        whole = Cat(Const(0, bits.left), self.total).as_signed()
        first = Signal(term + 15, reset_less=True)
        second = Signal(term + 3, reset_less=True)
        third = Signal(term, reset_less=True)
        m.d.sync += [
            first.eq(whole >> Cat(Const(0, 4), self.coarse)),
            second.eq(first >> Cat(Const(0, 2), self.middle)),
            third.eq(second >> self.fine),
        ]

        # Too large: a bit above the term that differs from the sign.
        sign = self.total[-1]
        lost = (self.total ^ sign.replicate(bits.accumulator)) & self.excess
        parts = Signal(-(-bits.accumulator // 8), reset_less=True)
        m.d.sync += parts.eq(Cat(lost[k : k + 8].any() for k in range(0, bits.accumulator, 8)))
        over, over_late = Signal(reset_less=True), Signal(reset_less=True)
        signs = [sign]
        for k in range(3):
            later = Signal(name=f"sign_{k + 1}", reset_less=True)
            m.d.sync += later.eq(signs[-1])
            signs.append(later)
        m.d.sync += [over.eq(parts.any()), over_late.eq(over)]
        edge = Cat((~signs[3]).replicate(term - 1), signs[3])
        total = Signal(signed(term + 1), reset_less=True)
        m.d.sync += total.eq(Mux(over_late, edge, third).as_signed() + self.addend)

        above = total[ofm - 1 : -1] ^ total[-1].replicate(len(total) - ofm)
        m.d.sync += self.result.eq(
            Mux(above.any(), Cat((~total[-1]).replicate(ofm - 1), total[-1]), total[:ofm])
        )
        return m
