# SPDX-License-Identifier: BSD-2-Clause
"""tinyVision UPduino v3: iCE40 UP5K with SPRAM as main memory, and an FT232H."""

from .board import SPRAM, Board, Bridge, UARTLink

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="upduino",
        title="tinyVision UPduino v3",
        fpga="up5k",
        part="iCE40UP5K-SG48",
        platform="quintet.boards.platforms.upduino:UpduinoV3Platform",
        oscillator="clk12",
        oscillator_hz=12_000_000,
        clock_mhz=24,
        memory=SPRAM(),
        link=UARTLink(baud=3_000_000),
        bridges=(Bridge(0x0403, 0x6014, "FT232H"),),
        programmers=("iceprog", "openFPGALoader"),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
        held_high=(("flash_deselect", 0),),
        notes=(
            "the OSC jumper must be closed: the FPGA's own oscillator is too inexact for a "
            "serial line",
            "after programming, reopen the serial port: the FT232H serves flash memory and "
            "serial line by turns",
        ),
    ),
)
