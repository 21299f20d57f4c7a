# SPDX-License-Identifier: BSD-2-Clause
"""OrangeCrab r0.2: ECP5 of the fastest speed grade. Its DDR3 is not used: main memory is block
RAM."""

from .board import DDR3, BlockRAM, Board, SPIPort, UARTLink, USBPort

__all__ = ["BOARDS", "CHIP"]

#: The board's DDR3, for a build that uses it; not the main memory of a board here, since no SoC
#: with a core has been placed and routed with it. The smallest chip that the board is sold with: of
#: a larger one the first 128 MiB. Crossed masks, no termination and the delay as in LiteX's
#: description of the board.
CHIP = DDR3(
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


def _board(size, fpga, memory, too_large):
    return Board(
        name=f"orangecrab-{size.lower()}",
        title=f"OrangeCrab r0.2 {size}",
        fpga=fpga,
        too_large=too_large,
        part=f"LFE5U-{size}-8MG285C",
        platform=f"quintet.boards.platforms.orangecrab:OrangeCrab{size}Platform",
        oscillator="clk",
        oscillator_hz=48_000_000,
        clock_mhz=72,
        memory=BlockRAM(size=memory, beat_bytes=4),
        link=UARTLink(baud=3_000_000),
        usb=USBPort(),
        # Where a Feather has its SPI port, as a host; and two pins beside it.
        spi=SPIPort(connector=("io", 0), cs="5", copi="copi", cipo="cipo", sck="sck", ready="6"),
        programmers=("dfu-util", "openFPGALoader"),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
        held_high=_HELD_HIGH,
        notes=(
            "main memory is block RAM: the DDR3 is not used",
            "the serial line is on pins 0 (in) and 1 (out) of the header, 3.3 V",
            "link usb is on the board's own USB port",
            "link spi is on the header: SCK, MOSI (in), MISO (out), 5 (chip select), 6 (ready)",
        ),
    )


BOARDS = (
    _board(
        "25F",
        "25f",
        1 << 15,
        {("imagine", "25f"): "70 of 56 block RAMs", ("opu", "25f"): "70 of 56 block RAMs"},
    ),
    # Of 85f-tall the array and main memory alone; of PIM's what it takes beside SDRAM, and main
    # memory.
    _board(
        "85F",
        "85f",
        1 << 16,
        {
            ("imagine", "85f"): "230 of 208 block RAMs",
            ("imagine", "85f-tall"): "224 of 208 block RAMs",
            ("pim", "85f"): "221 of 208 block RAMs",
        },
    ),
)
