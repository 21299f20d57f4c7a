# SPDX-License-Identifier: BSD-2-Clause
"""ULX3S with its flash memory."""

from amaranth.build import Attrs, Pins, PinsN, Resource, Subsignal
from amaranth_boards.ulx3s import (
    ULX3S_12F_Platform,
    ULX3S_25F_Platform,
    ULX3S_45F_Platform,
    ULX3S_85F_Platform,
)

__all__ = ["ULX3S12FPlatform", "ULX3S25FPlatform", "ULX3S45FPlatform", "ULX3S85FPlatform"]


class _ULX3S:
    def __init__(self, **arguments):
        super().__init__(**arguments)
        # doc/constraints/ulx3s_v20.lpf of emard/ulx3s, and the registry's own spi_flash. The clock
        # is the FPGA's own pin, behind its USRMCLK. Data in, out, write protection, hold.
        self.add_resources(
            [
                Resource(
                    "spi_flash_4x",
                    0,
                    Subsignal("cs", PinsN("R2", dir="o")),
                    Subsignal("dq", Pins("W2 V2 Y2 W1", dir="io")),
                    Attrs(IO_TYPE="LVCMOS33", PULLMODE="UP"),
                )
            ]
        )


class ULX3S12FPlatform(_ULX3S, ULX3S_12F_Platform):
    """The registry's, with ``spi_flash_4x``."""


class ULX3S25FPlatform(_ULX3S, ULX3S_25F_Platform):
    """The registry's, with ``spi_flash_4x``."""


class ULX3S45FPlatform(_ULX3S, ULX3S_45F_Platform):
    """The registry's, with ``spi_flash_4x``."""


class ULX3S85FPlatform(_ULX3S, ULX3S_85F_Platform):
    """The registry's, with ``spi_flash_4x``."""
