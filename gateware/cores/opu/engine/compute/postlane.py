# SPDX-License-Identifier: BSD-2-Clause
"""Post-processing lane of ``store``: requantisation (kappa), then activation, residual and maximum
in the selected order (section 4.5)."""

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .....parts.delays import delay
from ...types import TypeSet

__all__ = ["PostLane"]

#: Values of ``act``.
RELU, LEAKY = 1, 2


def saturating_sum(a: Value, b: Value) -> Value:
    """Saturating adder: ``a + b`` clamped to the width of ``a``; both are signed and equally
    wide."""
    width = len(a)
    total = a + b
    over = total[width] ^ total[width - 1]
    return Mux(
        over, Cat((~total[width]).replicate(width - 1), total[width]), total[:width]
    ).as_signed()


class PostLane(wiring.Component):
    """Post-processing lane with seven stages, one value per cycle. The residual is added before the
    activation (order 1), after it (0) or after the maximum (2); the two unused adders add 0.

    Parameters
    ----------
    types : TypeSet

    Members
    -------
    total : In, a value of ``ofm``; residual : In, with it
    add : In(3), for orders 0, 1, 2: add the residual there; relu, leaky : In;
        all constant while values are under way
    enter : In, a cycle before the maximum is updated; first : In, with it: begin a new window
    result : Out, :attr:`LATENCY` cycles after the last value of a window
    """

    LATENCY = 7
    #: Cycles from ``total`` to ``enter`` and ``first``.
    MAXIMUM = 5

    def __init__(self, *, types: TypeSet) -> None:
        self.types = types
        value = signed(types.ifm)
        super().__init__(
            {
                "total": In(signed(types.ofm)),
                "residual": In(value),
                "add": In(3),
                "relu": In(1),
                "leaky": In(1),
                "enter": In(1),
                "first": In(1),
                "result": Out(value),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width, places = self.types.ifm, self.types.store_shift
        total, residual = (
            Signal.like(self.total, reset_less=True),
            delay(m, self.residual, 2, "residual"),
        )
        m.d.sync += total.eq(self.total)

        def register(value, name):
            held = Signal(signed(width), name=name, reset_less=True)
            m.d.sync += held.eq(value)
            return held

        # Round half up; only the top can overflow.
        up = total[places:].as_signed() + total[places - 1]
        value = register(Mux(~up[width] & up[width - 1], (1 << width - 1) - 1, up), "rounded")
        value = register(
            saturating_sum(value, Mux(self.add[1], residual, 0).as_signed()), "added_early"
        )
        residual = delay(m, residual, 2, "residual_late")
        negative = value[-1]
        small = (value + 4) >> 3
        value = register(
            Mux(negative & self.relu, 0, Mux(negative & self.leaky, small, value)), "activated"
        )
        value = register(saturating_sum(value, Mux(self.add[0], residual, 0).as_signed()), "added")
        residual = delay(m, residual, 2, "residual_last")
        most = Signal(signed(width), reset_less=True)
        with m.If(self.enter & (self.first | (value > most))):
            m.d.sync += most.eq(value)
        m.d.comb += self.result.eq(
            register(saturating_sum(most, Mux(self.add[2], residual, 0).as_signed()), "added_last")
        )
        return m
