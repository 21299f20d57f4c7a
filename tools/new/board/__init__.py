# SPDX-License-Identifier: BSD-2-Clause
"""Template of a board: an iCE40 UP5K with SPRAM as main memory and the pins of an iCEBreaker, to be
changed into your own."""

from quintet.boards.board import SPRAM, Board, Bridge, UARTLink

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="template",
        title="Template",
        fpga="up5k",
        part="iCE40UP5K-SG48",
        # Pins: a platform of amaranth-boards, or one of your own in this package, as module:Class.
        platform="amaranth_boards.icebreaker:ICEBreakerPlatform",
        # The oscillator by its name in the platform; clock_mhz is what the PLL makes of it,
        # clock_pad whether its pin is the PLL's own.
        oscillator="clk12",
        oscillator_hz=12_000_000,
        clock_mhz=24,
        clock_pad=True,
        memory=SPRAM(),
        # The USB bridge of the serial line, by which `--on auto` finds the board.
        link=UARTLink(baud=3_000_000),
        bridges=(Bridge(0x0403, 0x6010, "FT2232H", interface=1),),
        programmers=("iceprog", "openFPGALoader"),
        busy_led=("led_g", 0),
        fault_led=("led_r", 0),
    ),
)
