# SPDX-License-Identifier: BSD-2-Clause
"""OrangeCrab r0.2: ECP5 of the fastest speed grade with 16-bit DDR3."""

from .board import DDR3, Board, SPIPort, UARTLink, USBPort

__all__ = ["BOARDS"]

# The smallest chip that the board is sold with: of a larger one the first 128 MiB. Crossed masks,
# no termination and the delay as in LiteX's description of the board. It has this delay up to 64
# MHz, so the main clock is not faster by default.
_CHIP = DDR3(
    "MT41K64M16",
    resource="ddr3_chip",
    swapped_masks=True,
    termination=False,
    command_delay=100,
    power="ddr3_pseudo_power",
)

# PROGRAMN: r0.2 has no resistor at it, and some boards load their bitstream again and again, since
# the pads of unused pins pull down (by the board's author,
# https://github.com/orangecrab-fpga/orangecrab-hardware/issues/32).
_HELD_HIGH = (("program", 0),)


def _board(size, fpga, too_large):
    return Board(
        name=f"orangecrab-{size.lower()}",
        title=f"OrangeCrab r0.2 {size}",
        fpga=fpga,
        too_large=too_large,
        part=f"LFE5U-{size}-8MG285C",
        platform=f"quintet.boards.platforms.orangecrab:OrangeCrab{size}Platform",
        oscillator="clk",
        oscillator_hz=48_000_000,
        clock_mhz=64,
        memory=_CHIP,
        link=UARTLink(baud=3_000_000),
        usb=USBPort(),
        # Where a Feather has its SPI port, as a host; and two pins beside it.
        spi=SPIPort(connector=("io", 0), cs="5", copi="copi", cipo="cipo", sck="sck", ready="6"),
        programmers=("dfu-util", "openFPGALoader"),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
        held_high=_HELD_HIGH,
        notes=(
            "a build needs the extra litex, which generates the controller of its DDR3",
            "the serial line is on pins 0 (in) and 1 (out) of the header, 3.3 V",
            "link usb is on the board's own USB port",
            "link spi is on the header: SCK, MOSI (in), MISO (out), 5 (chip select), 6 (ready)",
        ),
    )


BOARDS = (
    _board(
        "25F",
        "25f",
        {
            ("cherry", "25f"): "27,220 of 24,288 logic cells",
            ("pim", "25f"): "25,534 of 24,288 logic cells",
        },
    ),
    _board("85F", "85f", {}),
)
