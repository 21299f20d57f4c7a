# SPDX-License-Identifier: BSD-2-Clause
"""Roles of a board's pins in the simulation of its netlist, and the netlist's ports that fill
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...boards.board import SDRAM, SRAM, UARTLink
from .netlist import FLASH_CLOCK, HIGH, LOW, Netlist, NetlistError, Pad

if TYPE_CHECKING:
    from ...boards.board import Board
    from ...gateware.soc import SoC
    from .simulation import NetlistSimulation

__all__ = ["ROLES", "connect_pins", "dark_levels", "led_port", "name_pads"]

#: In the order of ``simulator.cpp``.
ROLES = (
    "rx",
    "tx",
    "busy",
    "fault",
    "chip_clock",
    "cke",
    "cs",
    "ras",
    "cas",
    "we",
    "bank",
    "address",
    "mask",
    "data",
    "oe",
    "flash_cs",
    "flash_clock",
    "flash_data",
)
_SDRAM = {
    "chip_clock": "clk",
    "cke": "clk_en",
    "cs": "cs",
    "ras": "ras",
    "cas": "cas",
    "we": "we",
    "bank": "ba",
    "address": "a",
    "mask": "dqm",
    "data": "dq",
}
#: Of these, the registers of a virtual board's top that are named otherwise than the pins.
_LINES = {"cke": "cke", "cs": "cs_n", "ras": "ras_n", "cas": "cas_n", "we": "we_n", "data": "dq__o"}
#: Lines of a chip that some boards tie to a level.
_TIED = {"mask": LOW, "cke": HIGH, "cs": LOW}
#: Lines of flash memory that has no resource of four.
_FLASH_LINES = ("copi", "cipo", "wp", "hold")
_SRAM = {"cs": "cs", "we": "we", "address": "a", "mask": "dm", "data": "d", "oe": "oe"}


def name_pads(netlist: Netlist, board: Board, soc: SoC) -> None:
    """Names the pads of an SDRAM's lines after the virtual board's registers, since those of I/O
    cells have other names. Registers of two words have the second one behind the first."""
    memory = board.memory
    if soc.backing.kind != "SDRAM" or not isinstance(memory, SDRAM):
        return
    for member, name in {**_SDRAM, **_LINES}.items():
        pads = (
            netlist.pads.get(f"{memory.resource}_0__{_SDRAM[member]}", ())
            if member != "chip_clock"
            else ()
        )
        for index, pad in enumerate(pads):
            if pad is None:
                continue
            netlist.names[f"pads__{name}", index] = pad.drives
            if pad.drives in netlist.second_halves:
                second = netlist.second_halves[pad.drives]
                netlist.names[f"pads__{name}", len(pads) + index] = second


def led_port(led: tuple[str | int, ...]) -> str:
    """Port name of a LED given as (resource, number) and, optionally, the name of a subsignal."""
    resource, number, *part = led
    return "__".join([f"{resource}_{number}", *map(str, part)])


def dark_levels(board: Board) -> tuple[bool, bool]:
    """Pin levels at which the two LEDs (busy, fault) are off, by the board's registry; ``False``
    where it names none."""
    platform = board.platform_class()()
    levels = []
    for led in (board.busy_led, board.fault_led):
        if led is None:
            levels.append(False)
            continue
        resource, number, *part = led
        pins = platform.lookup(resource, number).ios
        if part:
            (subsignal,) = (signal for signal in pins if signal.name == part[0])
            pins = subsignal.ios
        levels.append(bool(pins[0].invert))
    return levels[0], levels[1]


def connect_pins(simulation: NetlistSimulation, board: Board, soc: SoC) -> None:
    """Connects all pin roles that a board has; others stay low.

    Raises
    ------
    NetlistError
        The netlist lacks a port of the board.
    """
    port = board.port_of("uart")
    assert isinstance(port, UARTLink)
    names = {role: f"{port.resource}_{port.number}__{role}" for role in ("rx", "tx")}
    names |= {
        role: led_port(led)
        for role, led in (("busy", board.busy_led), ("fault", board.fault_led))
        if led is not None
    }
    memory = board.memory
    if soc.backing.kind in ("SDRAM", "SRAM") and isinstance(memory, SDRAM | SRAM):
        chip = _SDRAM if soc.backing.kind == "SDRAM" else _SRAM
        names |= {role: f"{memory.resource}_0__{pin}" for role, pin in chip.items()}
    pads_of = dict(simulation.netlist.pads)
    if soc.boot is not None and board.flash is not None:
        flash = f"{board.flash.resource}_{board.flash.number}"
        if f"{flash}__dq" not in pads_of:
            lines = [pads_of.get(f"{flash}__{line}") or [None] for line in _FLASH_LINES]
            pads_of[f"{flash}__dq"] = [pad for line in lines for pad in line]
        clock = FLASH_CLOCK if board.family == "ecp5" else f"{flash}__clk"
        names |= {"flash_cs": f"{flash}__cs", "flash_clock": clock, "flash_data": f"{flash}__dq"}
    for role, name in names.items():
        pads = pads_of.get(name)
        if pads is None and role in _TIED:
            pads = [Pad(drives=_TIED[role])]
        there = [pad for pad in pads or () if pad is not None]
        if pads is None or len(there) < len(pads):
            raise NetlistError(f"the netlist has no pin {name}; is it one for {board.name}?")
        simulation.pads(ROLES.index(role), there)
