# SPDX-License-Identifier: BSD-2-Clause
"""Platform of the UPduino v3 with the serial port of its FT232H.

The FT232H sits on the lines of the SPI flash: as a serial port it sends on the flash's clock and
hears its data output, so the flash must stay deselected
(https://github.com/grahamedgecombe/icicle/issues/12: pin 16 always high).
"""

from amaranth.build import Attrs, Pins, Resource
from amaranth_boards.resources import UARTResource
from amaranth_boards.upduino_v3 import UpduinoV3Platform as _UpduinoV3Platform

__all__ = ["UpduinoV3Platform"]


class UpduinoV3Platform(_UpduinoV3Platform):
    """The platform of amaranth-boards with ``uart``, ``flash_deselect``, and the oscillator of the
    OSC jumper as clock."""

    default_clk = "clk12"

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.add_resources(
            [
                UARTResource(0, rx="15", tx="14", attrs=Attrs(IO_STANDARD="SB_LVCMOS", PULLUP=1)),
                Resource("flash_deselect", 0, Pins("16", dir="o"), Attrs(IO_STANDARD="SB_LVCMOS")),
            ]
        )
