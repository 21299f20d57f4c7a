# SPDX-License-Identifier: BSD-2-Clause
"""Platform of the myStorm BlackIce Mx: an IceCore module (iCE40HX4K, 2 MiB of 16-bit SDRAM) with an
STM32 that configures it."""

from amaranth.build import Attrs, Clock, Connector, Pins, Resource
from amaranth.vendor import LatticeICE40Platform
from amaranth_boards.resources import LEDResources, SDRAMResource, UARTResource

__all__ = ["BlackIceMXPlatform"]

_LVCMOS = Attrs(IO_STANDARD="SB_LVCMOS")


class BlackIceMXPlatform(LatticeICE40Platform):
    device = "iCE40HX4K"
    package = "TQ144"
    default_clk = "clk25"
    resources = [
        Resource("clk25", 0, Pins("60", dir="i"), Clock(25e6), _LVCMOS),
        # 49 and 52 (blue, green) are the buttons too.
        *LEDResources(pins="55 56", attrs=_LVCMOS),
        # To the STM32, which is a serial port of its USB.
        UARTResource(0, rx="61", tx="62", attrs=Attrs(IO_STANDARD="SB_LVCMOS", PULLUP=1)),
        SDRAMResource(
            0,
            clk="129",
            cke="128",
            cs_n="113",
            we_n="107",
            ras_n="112",
            cas_n="110",
            dqm="93 94",
            ba="114",
            a="117 119 121 124 130 125 122 120 118 116 115",
            # Pulled up: released until the first clock, the command lines must be high.
            dq="78 79 80 81 82 83 84 85 87 88 90 91 95 96 97 98",
            attrs=Attrs(IO_STANDARD="SB_LVCMOS", PULLUP=1),
        ),
    ]
    connectors = [
        Connector("pmod", 0, "34 33 29 28 - - 38 37 32 31 - -"),
        Connector("pmod", 1, "16 15 10 9 - - 18 17 12 11 - -"),
    ]
