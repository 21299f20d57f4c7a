# SPDX-License-Identifier: BSD-2-Clause
"""Radiona ULX3S: ECP5 with 32 MiB of 16-bit SDR SDRAM and an FT231X."""

from .board import SDRAM, Board, Bridge, Flash, SPIPort, UARTLink, USBPort

__all__ = ["BOARDS"]

# The smallest and slowest chip that ULX3S boards were made with; the others work with its numbers
# too.
_SDRAM = SDRAM(part="W9825G6")

# While GPIO0 of the ESP32 is low for some seconds, its firmware takes the board over by JTAG (by
# the board's author, https://github.com/olofk/edalize/issues/58; LiteX holds it high too). The
# other pin is PROGRAMN, which loads the FPGA anew when it is low, and the pads of unused pins pull
# down (doc/constraints/ulx3s_v20.lpf of emard/ulx3s pulls it up). "shutdown" of that file stays
# unused: it is pulled down there.
_HELD_HIGH = (("esp32", 0, "gpio0"), ("program", 0))

#: By size of the FPGA: presets that run networks faster than the default ones.
_NETWORK_PRESETS = {
    "25F": {"opentpu": "25f-8x8-fast"},
    "45F": {"cherry": "45f-fast", "opentpu": "45f-8x8-fast", "opu": "45f-fast"},
    "85F": {"opentpu": "85f-16x16-fast", "opu": "85f-p256-fast"},
}


def _board(size, fpga):
    return Board(
        name=f"ulx3s-{size.lower()}",
        title=f"Radiona ULX3S {size}",
        fpga=fpga,
        part=f"LFE5U-{size}-6BG381C",
        platform=f"quintet.boards.platforms.ulx3s:ULX3S{size}Platform",
        oscillator="clk25",
        oscillator_hz=25_000_000,
        clock_mhz=80,
        memory=_SDRAM,
        link=UARTLink(baud=3_000_000),
        usb=USBPort(),
        # The first pin is one for clocks (PCLK of doc/constraints/ulx3s_v20.lpf of emard/ulx3s).
        spi=SPIPort(connector=("gpio", 0), sck="0+", copi="1+", cipo="2+", cs="3+", ready="4+"),
        # Boards were made with flash memories of several makers, whose four data lines are enabled
        # in different ways. One that is enabled in another way drives no line for the read on four:
        # all are pulled up then, which is no image.
        flash=Flash(size=16 << 20, image_at=4 << 20, quad=True, mixed=True),
        bridges=(Bridge(0x0403, 0x6015, "FT231X"),),
        programmers=("openFPGALoader", "fujprog"),
        busy_led=("led", 0),
        fault_led=("led", 1),
        held_high=_HELD_HIGH,
        notes=(
            "link usb is on the second USB port, US2",
            "link spi is on header J1: GP0 clock, GP1 in, GP2 out, GP3 chip select, GP4 ready",
        ),
        network_presets=_NETWORK_PRESETS.get(size, {}),
    )


#: The 12F is a 25F die: presets of the 25F fit.
BOARDS = (_board("12F", "25f"), _board("25F", "25f"), _board("45F", "45f"), _board("85F", "85f"))
