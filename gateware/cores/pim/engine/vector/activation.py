# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined ``vtanh`` and ``vsigm``: a table, a multiplier that interpolates between its entries,
and rounding (section 4.3)."""

from amaranth import Array, Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_family, check_integer
from .....primitives.adders import FunctionAdder
from .....primitives.multipliers import PipelinedMultipliers
from ...tables import STEPS, TANH
from ..saturation import thermometer

__all__ = ["Activation"]


class Activation(wiring.Component):
    """Activation function pipeline: one element per cycle; the configuration must be stable while
    elements are in flight.

    Parameters
    ----------
    bits : int
        Of an input element.
    family : as the primitives'

    Members
    -------
    fi, fo : In, fraction bits; sigmoid : In
    x : In(signed)
    slope, fraction : Out, to a multiplier, :attr:`MULTIPLY` cycles after ``x``; product :
        In, three cycles after them
    y : Out(signed(34)), :attr:`LATENCY` cycles after ``x``, of one cycle's logic:
        to be registered; not saturated yet
    """

    MULTIPLY = 3
    LATENCY = MULTIPLY + PipelinedMultipliers.LATENCY + 2

    def __init__(self, *, bits: int, family: str | None = None) -> None:
        check_integer("Bits of an input element", bits, 1, 32)
        check_family(family)
        self.bits, self.family = bits, family
        super().__init__(
            {
                "fi": In(5),
                "fo": In(5),
                "sigmoid": In(1),
                "x": In(signed(bits)),
                "slope": Out(11),
                "fraction": Out(10),
                "product": In(signed(24)),
                "y": Out(signed(34)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # u = (|x| << 16) >> places; it is past the table's end from 2**19 on.
        places, past = Signal(6, reset_less=True), Signal(self.bits + 1, reset_less=True)
        m.d.sync += [
            places.eq(self.fi + self.sigmoid),
            past.eq(Cat(Const(0, 3), ~thermometer(m, places, max(1, self.bits - 2), "places"))),
        ]
        negative, size = self.x[-1], Signal(self.bits + 1)
        m.submodules.absolute = absolute = FunctionAdder(
            width=self.bits + 1, function="xor", family=self.family
        )
        m.d.comb += [
            absolute.b.eq(self.x),
            absolute.c.eq(negative.replicate(self.bits + 1)),
            absolute.carry.eq(negative),
            size.eq(absolute.total),
        ]
        shifted = Cat(Const(0, 16), size, Const(0, 64))
        coarse, big = Signal(26, reset_less=True), Signal(reset_less=True)
        m.d.sync += [
            coarse.eq(Array(shifted[8 * k : 8 * k + 26] for k in range(5))[places[3:]]),
            big.eq((size & past).any()),
        ]
        u = Signal(19)
        m.d.comb += u.eq(coarse >> places[:3])

        entry = data.StructLayout({"value": 17, "slope": 11})
        m.submodules.table = rom = memory.Memory(
            shape=entry,
            depth=STEPS,
            init=[{"value": TANH[i], "slope": TANH[i + 1] - TANH[i]} for i in range(STEPS)],
        )
        read = rom.read_port()
        fraction, value = Signal(10, reset_less=True), Signal(17, reset_less=True)
        m.d.comb += read.addr.eq(u[10:])
        m.d.sync += [
            fraction.eq(u[:10]),
            self.fraction.eq(fraction),
            self.slope.eq(read.data.slope),
            value.eq(read.data.value),
        ]

        def later(signal, cycles, name):
            for k in range(cycles):
                held = Signal.like(signal, name=f"{name}_{k}", reset_less=True)
                m.d.sync += held.eq(signal)
                signal = held
            return signal

        wait = PipelinedMultipliers.LATENCY
        value, big = later(value, wait, "value"), later(big, wait + 2, "big")
        t = Signal(17, reset_less=True)
        m.d.sync += t.eq(Mux(big, 65536, value + ((self.product[:21] + 512) >> 10)))

        # v * 2**fo / 2**17, rounded; v is twice the value for tanh.
        minus = later(negative, self.MULTIPLY + wait + 1, "minus")
        v, fine = Signal(18), Signal(25, reset_less=True)
        m.d.comb += v.eq(Mux(self.sigmoid, Mux(minus, 65536 - t, 65536 + t), t << 1))
        m.d.sync += fine.eq(v << self.fo[:3])
        product = Signal(49)
        m.d.comb += product.eq(Array(fine << 8 * k for k in range(4))[self.fo[3:]])
        invert = later(minus & ~self.sigmoid, 1, "invert")
        # -(high + half) is ~high + 1 - half: one carry chain for either sign.
        m.submodules.rounded = rounded = FunctionAdder(
            width=len(self.y), function="xor", family=self.family
        )
        m.d.comb += [
            rounded.b.eq(product[17:]),
            rounded.c.eq(invert.replicate(len(self.y))),
            rounded.carry.eq(product[16] ^ invert),
            self.y.eq(rounded.total),
        ]
        return m
