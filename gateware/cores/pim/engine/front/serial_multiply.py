# SPDX-License-Identifier: BSD-2-Clause
"""Serial multiplier of 32 bits, for cores whose vector unit does not multiply that width."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..commands import multiply_layout

__all__ = ["SerialMultiply"]


class SerialMultiply(wiring.Component):
    """Serial shift-and-add multiplier: delivers the low 32 bits, 33 cycles after the operands were
    accepted.

    Members
    -------
    multiply : In(stream of :func:`~..commands.multiply_layout`)
    product_valid : Out, one cycle; product : Out, with it
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "multiply": In(stream.Signature(multiply_layout())),
                "product_valid": Out(1),
                "product": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b, left = Signal(32, reset_less=True), Signal(32, reset_less=True), Signal(6)
        m.d.comb += self.multiply.ready.eq(left == 0)
        m.d.sync += self.product_valid.eq(left == 1)
        with m.If(left != 0):
            m.d.sync += [
                left.eq(left - 1),
                a.eq(a << 1),
                b.eq(b >> 1),
                self.product.eq(self.product + Mux(b[0], a, 0)),
            ]
        with m.Elif(self.multiply.valid):
            m.d.sync += [
                left.eq(32),
                a.eq(self.multiply.payload.a),
                b.eq(self.multiply.payload.b),
                self.product.eq(0),
            ]
        return m
