# SPDX-License-Identifier: BSD-2-Clause
"""Platform of the OrangeCrab r0.2 with a UART on its header, whose build does not call the
bootloader's tools."""

from amaranth.build import Attrs
from amaranth.vendor import LatticeECP5Platform
from amaranth_boards.orangecrab_r0_2 import OrangeCrabR0_2_25FPlatform, OrangeCrabR0_2_85FPlatform
from amaranth_boards.resources import UARTResource

__all__ = ["OrangeCrab25FPlatform", "OrangeCrab85FPlatform"]


class _OrangeCrab:
    # The registry's class runs dfu-suffix in the build; dfu-util loads a bitstream without it.
    command_templates = LatticeECP5Platform.command_templates

    def __init__(self, **arguments):
        super().__init__(**arguments)
        # Pins 0 (in) and 1 (out) of the header, where a Feather has its serial port.
        self.add_resources(
            [UARTResource(0, rx="N17", tx="M18", attrs=Attrs(IO_TYPE="LVCMOS33", PULLMODE="UP"))]
        )


class OrangeCrab25FPlatform(_OrangeCrab, OrangeCrabR0_2_25FPlatform):
    """The platform of amaranth-boards with ``uart``."""


class OrangeCrab85FPlatform(_OrangeCrab, OrangeCrabR0_2_85FPlatform):
    """The platform of amaranth-boards with ``uart``."""
