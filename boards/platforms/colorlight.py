# SPDX-License-Identifier: BSD-2-Clause
"""Platforms of the Colorlight i5 (V7.0) and i9 (V7.2) on their extension board: LED-wall receiver
cards with an ECP5 and 32-bit SDRAM.

Chip select of the SDRAM is tied low, its clock enable high, and its byte masks low, on the card.
"""

from amaranth.build import Attrs, Clock, Connector, Pins, PinsN, Resource
from amaranth.vendor import LatticeECP5Platform
from amaranth_boards.resources import SDRAMResource, UARTResource

__all__ = ["ColorlightI5Platform", "ColorlightI9Platform"]

_LVCMOS = Attrs(IO_TYPE="LVCMOS33")


def _resources(led):
    return [
        Resource("clk25", 0, Pins("P3", dir="i"), Clock(25e6), _LVCMOS),
        Resource("led", 0, PinsN(led, dir="o"), _LVCMOS),
        # The DAPLink of the extension board.
        UARTResource(0, rx="H18", tx="J17", attrs=Attrs(IO_TYPE="LVCMOS33", PULLMODE="UP")),
        SDRAMResource(
            0,
            clk="B9",
            we_n="A10",
            ras_n="B10",
            cas_n="A9",
            ba="B11 C8",
            a="B13 C14 A16 A17 B16 B15 A14 A13 A12 A11 B12",
            dq=(
                "B6 A5 A6 A7 C7 B8 B5 A8 D8 D7 E8 D6 C6 D5 E7 C5 C10 D9 E11 D11 C11 D12 E9 C12 "
                "E14 C15 E13 D15 E12 B17 D14 D13"
            ),
            attrs=Attrs(IO_TYPE="LVCMOS33", SLEWRATE="FAST"),
        ),
    ]


class _ColorlightPlatform(LatticeECP5Platform):
    package = "BG381"
    speed = "6"
    default_clk = "clk25"
    connectors = [
        Connector("pmod", 0, "C17 B18 B20 F20 - - A18 A19 B19 D20 - -"),  # E on the extension board
        Connector("pmod", 1, "D1 C1 C2 E3 - - E2 D2 B1 A3 - -"),  # F
    ]


class ColorlightI5Platform(_ColorlightPlatform):
    device = "LFE5U-25F"
    resources = _resources("U16")


class ColorlightI9Platform(_ColorlightPlatform):
    device = "LFE5U-45F"
    resources = _resources("L2")
