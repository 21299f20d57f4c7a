# SPDX-License-Identifier: BSD-2-Clause
"""LiteX module of a core (docs/guides/own-soc.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from litex.gen import ClockSignal, Instance, LiteXModule, ResetSignal
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel

from quintet.gateware.core import Core
from quintet.gateware.verilog import convert

__all__ = ["QuintetCore"]

#: Bytes of the register block.
BLOCK = 4096
#: Largest memory of a core, in bytes.
LARGEST = 1 << 31
#: Wires of a Wishbone master, with their direction at the core.
_MASTER = {
    **dict.fromkeys(("adr", "dat_w", "sel", "cyc", "stb", "we"), "o"),
    **dict.fromkeys(("dat_r", "ack", "err"), "i"),
}


class QuintetCore(LiteXModule):
    """A core in a LiteX SoC: registers on its bus, a bus master for its memory, an interrupt, and
    its Verilog among the sources.

    Software finds the registers at the region `name`, their offsets as constants
    ``NAME_REGISTER_OFFSET``, and the interrupt in the event manager of the module's CSRs.

    Parameters
    ----------
    soc : SoC
        It has its memory already.
    isa, preset, params, family, pipelined
        As of :class:`~quintet.gateware.core.Core`.
    port : LiteDRAMNativePort or None
        Port of LiteDRAM's crossbar, over which the core reaches its memory from address 0; by
        default it is a Wishbone master on the SoC's bus.
    region : str
        Region of the SoC's bus that is the core's memory, if there is no ``port``.
    origin : int or None
        Address of the registers; by default LiteX chooses one. (In a SoC without a CPU it would
        choose that of the CSRs.)
    name : str
        Name of the core in the SoC; the attribute of the SoC has the same.
    second_clock : str or None
        Clock domain of the SoC for a core with a second clock; by default it uses `sys`.
    directory : str
        Folder for the Verilog.

    Raises
    ------
    ValueError
        The SoC has no such region, or the region does not lie at a multiple of its size.
    """

    def __init__(
        self,
        soc: Any,
        isa: str,
        *,
        preset: str | None = None,
        params: Mapping[str, Any] | None = None,
        family: str | None = None,
        pipelined: bool = False,
        port: Any = None,
        region: str = "main_ram",
        origin: int | None = None,
        name: str = "quintet",
        second_clock: str | None = None,
        directory: str = "build",
    ) -> None:
        if port is None:
            memory = soc.bus.regions.get(region)
            if memory is None:
                raise ValueError(
                    f"region = {region!r}: expected one of {', '.join(soc.bus.regions)}"
                )
            bus = {"bus": "wishbone", "bus_width": soc.bus.data_width}
            place = {"memory_size": min(memory.size, LARGEST), "memory_base": memory.origin}
        else:
            bus = {"bus": "native", "bus_width": port.data_width}
            size = port.data_width // 8 << port.address_width
            place = {"memory_size": min(size, LARGEST)}
        #: The core, as an Amaranth component.
        self.core = core = Core(
            isa,
            preset=preset,
            params=params,
            family=family,
            pipelined=pipelined,
            shared_clock=second_clock is None,
            **bus,
            **place,
        )
        self.ev = EventManager()
        self.ev.run = EventSourceLevel(description="A run has ended.")
        self.ev.finalize()
        module = f"{name}_{isa}"
        connections: dict[str, Any] = {
            "i_clk": ClockSignal("sys"),
            "i_rst": ResetSignal("sys"),
            "o_interrupt": self.ev.run.trigger,
        }
        if core.second_clock is not None:
            domain = core.second_clock.name
            connections[f"i_{domain}_clk"] = ClockSignal(second_clock)
            connections[f"i_{domain}_rst"] = ResetSignal(second_clock)
        connections |= dict(self._registers(soc, name, origin))
        connections |= dict(self._memory(soc, name) if port is None else _native(port))
        self.specials += Instance(module, **connections)
        if soc.irq.enabled:
            soc.irq.add(name, use_loc_if_exists=True)
        path = Path(directory) / f"{module}.v"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(convert(core, name=module), encoding="utf-8")
        soc.platform.add_source(os.path.abspath(path))

    def _registers(self, soc: Any, name: str, origin: int | None) -> Iterator[tuple[str, Any]]:
        bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        soc.bus.add_slave(name, bus, SoCRegion(origin=origin, size=BLOCK, cached=False))
        for wire in ("dat_w", "sel", "cyc", "stb", "we"):
            yield f"i_registers__{wire}", getattr(bus, wire)
        yield "i_registers__adr", bus.adr[:10]
        yield "o_registers__dat_r", bus.dat_r
        yield "o_registers__ack", bus.ack
        for resource in self.core.memory_map.all_resources():
            soc.add_constant(f"{name}_{resource.path[0][0]}_offset", resource.start)

    def _memory(self, soc: Any, name: str) -> Iterator[tuple[str, Any]]:
        width = soc.bus.data_width
        master = wishbone.Interface(
            data_width=width, address_width=32, addressing="word", bursting=soc.bus.bursting
        )
        soc.bus.add_master(name, master)
        for wire, direction in _MASTER.items():
            yield f"{direction}_memory__{wire}", getattr(master, wire)
        if soc.bus.bursting:
            yield "o_memory__cti", master.cti
            yield "o_memory__bte", master.bte


def _native(port: Any) -> Iterator[tuple[str, Any]]:
    """Connections to LiteDRAM's native port."""
    for stream, outputs, inputs in (
        ("cmd", ("valid", "last", "we", "addr"), ("ready",)),
        ("wdata", ("valid", "data", "we"), ("ready",)),
        ("rdata", ("ready",), ("valid", "data")),
    ):
        for direction, wires in (("o", outputs), ("i", inputs)):
            for wire in wires:
                yield f"{direction}_memory__{stream}_{wire}", getattr(getattr(port, stream), wire)
