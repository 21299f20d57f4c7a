# SPDX-License-Identifier: BSD-2-Clause
"""Roles of a board's pins in the simulation of its netlist, and the netlist's ports that fill
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...boards.board import SDRAM, SRAM
from .netlist import HIGH, LOW, Netlist, NetlistError, Pad

if TYPE_CHECKING:
    from ...boards.board import Board
    from ...gateware.soc import SoC
    from .simulation import NetlistSimulation

__all__ = ["ROLES", "connect_pins", "led_port", "name_pads"]

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
_SRAM = {"cs": "cs", "we": "we", "address": "a", "mask": "dm", "data": "d", "oe": "oe"}


def name_pads(netlist: Netlist, board: Board, soc: SoC) -> None:
    """Names the pads of an SDRAM's lines after the virtual board's registers, since those of I/O
    cells have other names."""
    memory = board.memory
    if soc.backing.kind != "SDRAM" or not isinstance(memory, SDRAM):
        return
    for member, name in {**_SDRAM, **_LINES}.items():
        pads = (
            netlist.pads.get(f"{memory.resource}_0__{_SDRAM[member]}", ())
            if member != "chip_clock"
            else ()
        )
        netlist.names.update(
            ((f"pads__{name}", index), pad.drives)
            for index, pad in enumerate(pads)
            if pad is not None
        )


def led_port(led: tuple[str | int, ...]) -> str:
    """Port name of a LED given as (resource, number) and, optionally, the name of a subsignal."""
    resource, number, *part = led
    return "__".join([f"{resource}_{number}", *map(str, part)])


def connect_pins(simulation: NetlistSimulation, board: Board, soc: SoC) -> None:
    """Connects all pin roles that a board has; others stay low.

    Raises
    ------
    NetlistError
        The netlist lacks a port of the board.
    """
    port = board.port_of("uart")
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
    for role, name in names.items():
        pads = simulation.netlist.pads.get(name)
        if pads is None and role in _TIED:
            pads = [Pad(drives=_TIED[role])]
        there = [pad for pad in pads or () if pad is not None]
        if pads is None or len(there) < len(pads):
            raise NetlistError(f"the netlist has no pin {name}; is it one for {board.name}?")
        simulation.pads(ROLES.index(role), there)
