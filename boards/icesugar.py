# SPDX-License-Identifier: BSD-2-Clause
"""MuseLab iCESugar (iCE40 UP5K) and iCESugar-Pro (ECP5 with 32 MiB of 16-bit SDR SDRAM), both with
an iCELink."""

from .board import SDRAM, SPRAM, Board, Bridge, SPIPort, UARTLink, USBPort

__all__ = ["BOARDS"]

# The iCELink's serial port: a microcontroller, not a bridge of several megabaud.
_LINK = UARTLink(baud=115_200)
_BRIDGES = (Bridge(0x1D50, 0x602B, "iCELink"), Bridge(0x1D50, 0x6130, "iCELink"))

BOARDS = (
    Board(
        name="icesugar",
        title="MuseLab iCESugar",
        fpga="up5k",
        part="iCE40UP5K-SG48",
        platform="amaranth_boards.icesugar:ICESugarPlatform",
        oscillator="clk12",
        oscillator_hz=12_000_000,
        clock_mhz=24,
        clock_pad=True,
        memory=SPRAM(),
        link=_LINK,
        usb=USBPort(),
        spi=SPIPort(connector=("pmod", 1)),
        bridges=_BRIDGES,
        programmers=("icesprog", "iCELink"),
        busy_led=("led_g", 0),
        fault_led=("led_r", 0),
        notes=(
            "link usb is on the second USB port, whose pins are those of PMOD1",
            "link spi is on PMOD2",
        ),
    ),
    Board(
        name="icesugar-pro",
        title="MuseLab iCESugar-Pro",
        fpga="25f",
        part="LFE5U-25F-6BG256C",
        platform="amaranth_boards.icesugar_pro:ICESugarProPlatform",
        oscillator="clk25",
        oscillator_hz=25_000_000,
        clock_mhz=60,
        memory=SDRAM(part="IS42S16160B"),
        link=_LINK,
        bridges=_BRIDGES,
        programmers=("icesprog", "openFPGALoader", "iCELink"),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
    ),
)
