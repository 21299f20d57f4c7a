# SPDX-License-Identifier: BSD-2-Clause
"""LambdaConcept ECPIX-5 R02 and R03: ECP5-5G of the fastest speed grade with 512 MiB of 16-bit
DDR3."""

from .board import DDR3, Board, Bridge, UARTLink

__all__ = ["BOARDS"]

# Neither reset nor chip select of the chip comes to the FPGA. No delay of the command lines, and a
# clock of 75 MHz, as in LiteX's description of the board.
_CHIP = DDR3("MT41K256M16")


def _board(size, fpga):
    return Board(
        name=f"ecpix5-{size.lower()}",
        title=f"LambdaConcept ECPIX-5 {size}",
        fpga=fpga,
        part=f"LFE5UM5G-{size}-8BG554",
        platform=f"amaranth_boards.ecpix5:ECPIX5{size[:2]}Platform",
        oscillator="clk100",
        oscillator_hz=100_000_000,
        clock_mhz=75,
        memory=_CHIP,
        link=UARTLink(baud=3_000_000),
        bridges=(Bridge(0x0403, 0x6010, "FT2232H", interface=1),),
        programmers=("openFPGALoader",),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
        notes=("a build needs the extra litex, which generates the controller of its DDR3",),
    )


BOARDS = (_board("45F", "45f"), _board("85F", "85f"))
