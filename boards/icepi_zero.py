# SPDX-License-Identifier: BSD-2-Clause
"""Icepi Zero v1.3: ECP5 with 32 MiB of 16-bit SDR SDRAM on a Raspberry Pi Zero's outline, and an
FT231X."""

from .board import SDRAM, Board, Bridge, UARTLink, USBPort

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="icepi-zero",
        title="Icepi Zero v1.3",
        fpga="25f",
        part="LFE5U-25F-6BG256C",
        platform="amaranth_boards.icepi_zero:IcepiZero1_3Platform",
        oscillator="clk50",
        oscillator_hz=50_000_000,
        clock_mhz=60,
        memory=SDRAM(part="W9825G6"),
        link=UARTLink(baud=3_000_000),
        usb=USBPort(),
        bridges=(Bridge(0x0403, 0x6015, "FT231X"),),
        programmers=("openFPGALoader",),
        busy_led=("led", 0),
        fault_led=("led", 1),
        notes=("link usb is on the first of the USB ports of the FPGA",),
    ),
)
