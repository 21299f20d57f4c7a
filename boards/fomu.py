# SPDX-License-Identifier: BSD-2-Clause
"""Fomu PVT: iCE40 UP5K with SPRAM as main memory, inside a USB port."""

from .board import SPRAM, Board, USBPort

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="fomu",
        title="Fomu PVT",
        fpga="up5k",
        part="iCE40UP5K-UWG30",
        platform="amaranth_boards.fomu_pvt:FomuPVTPlatform",
        oscillator="clk48",
        oscillator_hz=48_000_000,
        clock_mhz=20,
        memory=SPRAM(),
        link=USBPort(),
        usb=USBPort(),
        programmers=("dfu-util",),
        busy_led=("rgb_led", 0, "g"),
        fault_led=("rgb_led", 0, "r"),
        too_large={
            ("cherry", "up5k"): "5,764 of 5,280 logic cells, 31 of 30 block RAMs",
            ("imagine", "up5k"): "5,770 of 5,280 logic cells",
        },
        notes=(
            "USB is its only link, so the link's device and the core share the UP5K "
            "(docs/how/usb.md)",
        ),
    ),
)
