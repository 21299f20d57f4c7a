# SPDX-License-Identifier: BSD-2-Clause
"""USB bus reset detector: both lines low for longer than the end of any packet (USB 2.0, section
7.1.7.5)."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["BusReset"]

#: Cycles of 12 MHz: 2.6 us.
CYCLES = 31


class BusReset(wiring.Component):
    """USB bus reset detector. ``d_p``, ``d_n``: In, the wires; ``reset``: Out, high from 2.6 us
    after both became low until one rises. In the domain ``usb``."""

    def __init__(self) -> None:
        super().__init__(
            {
                "d_p": In(1),
                "d_n": In(1),
                "reset": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines = Signal(2)
        count = Signal(range(CYCLES + 1))
        m.submodules.lines = FFSynchronizer(Cat(self.d_p, self.d_n), lines, o_domain="usb")
        m.d.comb += self.reset.eq(count == CYCLES)
        with m.If(lines != 0):
            m.d.usb += count.eq(0)
        with m.Elif(~self.reset):
            m.d.usb += count.eq(count + 1)
        return m
