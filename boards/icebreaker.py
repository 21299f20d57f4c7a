# SPDX-License-Identifier: BSD-2-Clause
"""1BitSquared iCEBreaker: iCE40 UP5K, whose SPRAM is main memory, and an FT2232H."""

from .board import SPRAM, Board, Bridge, Flash, SPIPort, UARTLink

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="icebreaker",
        title="1BitSquared iCEBreaker",
        fpga="up5k",
        part="iCE40UP5K-SG48",
        platform="amaranth_boards.icebreaker:ICEBreakerPlatform",
        oscillator="clk12",
        oscillator_hz=12_000_000,
        clock_mhz=24,
        clock_pad=True,
        memory=SPRAM(),
        link=UARTLink(baud=3_000_000),
        spi=SPIPort(connector=("pmod", 0)),
        bridges=(Bridge(0x0403, 0x6010, "FT2232H", interface=1),),
        programmers=("iceprog", "openFPGALoader"),
        flash=Flash(size=16 << 20, image_at=1 << 20, quad=True),
        busy_led=("led_g", 0),
        fault_led=("led_r", 0),
        notes=("link spi is on PMOD1A",),
    ),
)
