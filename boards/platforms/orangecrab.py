# SPDX-License-Identifier: BSD-2-Clause
"""Platform of the OrangeCrab r0.2 with a UART on its header, whose build does not call the
bootloader's tools."""

from amaranth.build import Attrs, DiffPairs, Pins, PinsN, Resource, Subsignal
from amaranth.vendor import LatticeECP5Platform
from amaranth_boards.orangecrab_r0_2 import OrangeCrabR0_2_25FPlatform, OrangeCrabR0_2_85FPlatform
from amaranth_boards.resources import UARTResource

__all__ = ["OrangeCrab25FPlatform", "OrangeCrab85FPlatform"]


# The registry's resource of the chip has bank address, strobes and masks of other pins than the
# board's schematic. Masks and strobes stand in the order of the FPGA's groups of data lines; the
# two masks cross on the way to the chip. Without termination in the FPGA, which heats it.
_CHIP = Resource(
    "ddr3_chip",
    0,
    Subsignal("rst", PinsN("L18", dir="o")),
    Subsignal("clk", DiffPairs("J18", "K18", dir="o"), Attrs(IO_TYPE="SSTL135D_I")),
    Subsignal("clk_en", Pins("D18", dir="o")),
    Subsignal("cs", PinsN("A12", dir="o")),
    Subsignal("we", PinsN("B12", dir="o")),
    Subsignal("ras", PinsN("C12", dir="o")),
    Subsignal("cas", PinsN("D13", dir="o")),
    Subsignal("a", Pins("C4 D2 D3 A3 A4 D4 C3 B2 B1 D1 A7 C2 B6 C1 A2 C7", dir="o")),
    Subsignal("ba", Pins("D6 B7 A6", dir="o")),
    Subsignal(
        "dqs",
        DiffPairs("B15 G18", "A16 H17", dir="io"),
        Attrs(IO_TYPE="SSTL135D_I", TERMINATION="OFF", DIFFRESISTOR="100"),
    ),
    Subsignal(
        "dq",
        Pins("C17 D15 B17 C16 A15 B13 A17 A13 F17 F16 G15 F15 J16 C18 H16 F18", dir="io"),
        Attrs(TERMINATION="OFF"),
    ),
    Subsignal("dm", Pins("D16 G16", dir="o")),
    Subsignal("odt", Pins("C13", dir="o")),
    Attrs(IO_TYPE="SSTL135_I", SLEWRATE="FAST"),
)


class _OrangeCrab:
    # The registry's class runs dfu-suffix in the build; dfu-util loads a bitstream without it.
    command_templates = LatticeECP5Platform.command_templates

    def __init__(self, **arguments):
        super().__init__(**arguments)
        # Pins 0 (in) and 1 (out) of the header, where a Feather has its serial port.
        self.add_resources(
            [
                UARTResource(0, rx="N17", tx="M18", attrs=Attrs(IO_TYPE="LVCMOS33", PULLMODE="UP")),
                _CHIP,
            ]
        )


class OrangeCrab25FPlatform(_OrangeCrab, OrangeCrabR0_2_25FPlatform):
    """The platform of amaranth-boards with ``uart``."""


class OrangeCrab85FPlatform(_OrangeCrab, OrangeCrabR0_2_85FPlatform):
    """The platform of amaranth-boards with ``uart``."""
