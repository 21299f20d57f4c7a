# SPDX-License-Identifier: BSD-2-Clause
"""myStorm BlackIce II (asynchronous SRAM) and BlackIce Mx (SDR SDRAM): iCE40HX4K, the die of an
HX8K, behind an STM32."""

from .board import SDRAM, SRAM, Board, Bridge, SPIPort, UARTLink

__all__ = ["BOARDS"]

# The serial port of the STM32.
_LINK = UARTLink(baud=115_200)
_BRIDGES = (Bridge(0x0483, 0x5740, "STM32"),)

BOARDS = (
    Board(
        name="blackice-ii",
        title="myStorm BlackIce II",
        fpga="hx8k",
        part="iCE40HX4K-TQ144",
        platform="quintet.boards.platforms.blackice_ii:BlackIceIIPlatform",
        oscillator="clk100",
        oscillator_hz=100_000_000,
        clock_mhz=32,
        memory=SRAM(part="IS61WV25616"),
        link=_LINK,
        spi=SPIPort(connector=("pmod", 4)),
        bridges=_BRIDGES,
        programmers=("STM32",),
        busy_led=("led", 0),
        fault_led=("led", 3),
        notes=("link spi is on PMOD9/10",),
    ),
    Board(
        name="blackice-mx",
        title="myStorm BlackIce Mx",
        fpga="hx8k",
        part="iCE40HX4K-TQ144",
        platform="quintet.boards.platforms.blackice_mx:BlackIceMXPlatform",
        oscillator="clk25",
        oscillator_hz=25_000_000,
        clock_mhz=32,
        memory=SDRAM(part="W9816G6"),
        link=_LINK,
        spi=SPIPort(connector=("pmod", 0)),
        bridges=_BRIDGES,
        programmers=("STM32",),
        busy_led=("led", 0),
        fault_led=("led", 1),
        notes=("link spi is on the Pmod of pins 34, 33, 29 and 28",),
        too_large={
            ("opentpu", "hx8k-4x4"): "8,139 of 7,680 logic cells",
            ("imagine", "hx8k"): "7,818 of 7,680 logic cells",
        },
    ),
)
