# SPDX-License-Identifier: BSD-2-Clause
"""Roles of a board's pins in the simulation of its netlist, and the netlist's ports that have
them."""

from .netlist import HIGH, LOW, NetlistError, Pad

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


def name_pads(netlist, board, soc):
    """The pads of an SDRAM's lines get the names of a virtual board's registers there, since those
    of I/O cells have names of their own."""
    if soc.backing.kind != "SDRAM":
        return
    for member, name in {**_SDRAM, **_LINES}.items():
        pads = (
            netlist.pads.get(f"{board.memory.resource}_0__{_SDRAM[member]}", ())
            if member != "chip_clock"
            else ()
        )
        netlist.names.update(
            ((f"pads__{name}", index), pad.drives) for index, pad in enumerate(pads)
        )


def led_port(led):
    """The port of a LED, (resource, number) or with the name of a part."""
    resource, number, *part = led
    return "__".join([f"{resource}_{number}", *part])


def connect_pins(simulation, board, soc):
    """Connect all roles that a board has; what it has not stays low.

    Raises
    ------
    NetlistError
        The netlist lacks a port of the board.
    """
    port = board.link
    names = {role: f"{port.resource}_{port.number}__{role}" for role in ("rx", "tx")}
    names |= {
        role: led_port(led)
        for role, led in (("busy", board.busy_led), ("fault", board.fault_led))
        if led is not None
    }
    if soc.backing.kind in ("SDRAM", "SRAM"):
        chip = _SDRAM if soc.backing.kind == "SDRAM" else _SRAM
        names |= {role: f"{board.memory.resource}_0__{pin}" for role, pin in chip.items()}
    for role, name in names.items():
        pads = simulation.netlist.pads.get(name)
        if pads is None and role in _TIED:
            pads = [Pad(drives=_TIED[role])]
        if pads is None or None in pads:
            raise NetlistError(f"the netlist has no pin {name}; is it one for {board.name}?")
        simulation.pads(ROLES.index(role), pads)
