# SPDX-License-Identifier: BSD-2-Clause
"""Lattice iCE40-HX8K breakout board: block RAM as its only memory, and an FT2232H."""

from .board import BlockRAM, Board, Bridge, UARTLink

__all__ = ["BOARDS"]

BOARDS = (
    Board(
        name="hx8k-breakout",
        title="Lattice iCE40-HX8K-B-EVN",
        fpga="hx8k",
        part="iCE40HX8K-CT256",
        platform="amaranth_boards.ice40_hx8k_b_evn:ICE40HX8KBEVNPlatform",
        oscillator="clk12",
        oscillator_hz=12_000_000,
        clock_mhz=36,
        memory=BlockRAM(
            size=4096, beat_bytes=4, beside={"cherry": 2048, "imagine": 2048, "opu": 1024}
        ),
        link=UARTLink(baud=3_000_000),
        bridges=(Bridge(0x0403, 0x6010, "FT2232H", interface=1),),
        programmers=("iceprog", "openFPGALoader"),
        busy_led=("led", 0),
        fault_led=("led", 1),
        too_large={
            ("cherry", "hx8k"): "34 of 32 block RAMs",
            ("imagine", "hx8k"): "36 of 32 block RAMs",
            ("opentpu", "hx8k-4x4"): "37 of 32 block RAMs",
            ("opentpu", "hx8k-4x4-rows"): "37 of 32 block RAMs",
            ("opu", "hx8k"): "34 of 32 block RAMs",
            ("pim", "hx8k"): "40 of 32 block RAMs",
        },
    ),
)
