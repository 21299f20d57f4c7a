# SPDX-License-Identifier: BSD-2-Clause
"""Colorlight i5 and i9: ECP5 cards with 8 MiB of 32-bit SDR SDRAM whose byte masks are tied low."""

from .board import SDRAM, Board, Bridge, SPIPort, UARTLink

__all__ = ["BOARDS"]


def _board(name, title, size, fpga, sdram):
    return Board(
        name=name,
        title=title,
        fpga=fpga,
        part=f"LFE5U-{size}-6BG381C",
        platform=f"quintet.boards.platforms.colorlight:Colorlight{name[-2:].upper()}Platform",
        oscillator="clk25",
        oscillator_hz=25_000_000,
        clock_mhz=60,
        memory=SDRAM(part=sdram),
        link=UARTLink(baud=1_000_000),
        spi=SPIPort(connector=("pmod", 0)),
        bridges=(Bridge(0x0D28, 0x0204, "DAPLink"),),
        programmers=("ecpdap", "openFPGALoader"),
        busy_led=("led", 0),
        fault_led=None,
        notes=(
            "on the extension board, whose DAPLink is programmer and serial port",
            "link spi is on Pmod E of the extension board",
            "the SDRAM's byte masks are tied low: partial writes are read, modified and "
            "written back",
        ),
    )


BOARDS = (
    _board("colorlight-i5", "Colorlight i5 V7.0", "25F", "25f", "EM638325"),
    _board("colorlight-i9", "Colorlight i9 V7.2", "45F", "45f", "M12L64322A"),
)
