# SPDX-License-Identifier: BSD-2-Clause
"""Top levels of the core bench: a core in its shell, or its engine and control block with every
memory port exposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...gateware.bus.soclib import wishbone
from ...gateware.isa.parameters import params_hash
from ...gateware.memory.port import MemoryPort
from ...gateware.shell.control import ControlBlock
from ...gateware.shell.core import CoreShell
from ...gateware.shell.domains import place_engine, requested_domain
from .clocks import SECOND_CLOCK, drive_second

if TYPE_CHECKING:
    from ...gateware.cores import CorePackage

__all__ = ["BareCore", "ShellCore"]

_BUS = {"addr_width": 10, "data_width": 32, "granularity": 8}


class ShellCore(wiring.Component):
    """Top level with a :class:`~quintet.gateware.shell.core.CoreShell`, as in the SoC: one memory
    port."""

    def __init__(
        self,
        *,
        package: CorePackage,
        params: dict[str, Any],
        beat_bytes: int,
        memory_size: int,
        family: str | None = None,
    ) -> None:
        self.core = CoreShell(
            package=package,
            params=params,
            beat_bytes=beat_bytes,
            memory_size=memory_size,
            family=family,
        )
        self.domain = self.core.domain
        super().__init__(
            {
                "bus": In(wishbone.Signature(**_BUS)),
                "memory": Out(MemoryPort(beat_bytes)).array(1),
                "busy": Out(1),
                "interrupt": Out(1),
            }
            | (SECOND_CLOCK if self.domain else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        drive_second(m, self)
        m.submodules.core = core = self.core
        wiring.connect(m, wiring.flipped(self.bus), core.bus)
        wiring.connect(m, core.memory, wiring.flipped(self.memory[0]))
        m.d.comb += [self.busy.eq(core.busy), self.interrupt.eq(core.interrupt)]
        return m


class BareCore(wiring.Component):
    """Engine and control block without guard; every memory port of the engine is exposed.

    The bench itself checks that no request leaves the window. Beats may have any size. While
    ``core_reset`` is high the bench drops outstanding requests on the ports.
    """

    def __init__(
        self,
        *,
        package: CorePackage,
        params: dict[str, Any],
        beat_bytes: int,
        memory_size: int,
        family: str | None = None,
    ) -> None:
        isa = package.isa.ISA
        self.engine = package.core.variant(params, beat_bytes)(
            params=params, beat_bytes=beat_bytes, memory_size=memory_size, family=family
        )
        self.control = ControlBlock(
            ident=isa.tag,
            version=isa.version,
            params_hash=params_hash(params),
            memory_size=memory_size,
            control=self.engine.control.signature,
            program_align=isa.program_align,
            absent=[
                r.name for r in isa.registers if r.only_if is not None and not params[r.only_if]
            ],
            sampled=family != "ice40",
        )
        self.domain = requested_domain(self.engine, params)
        super().__init__(
            {
                "bus": In(wishbone.Signature(**_BUS)),
                "memory": Out(MemoryPort(beat_bytes)).array(len(self.engine.memory)),
                "busy": Out(1),
                "interrupt": Out(1),
                "core_reset": Out(1),
            }
            | (SECOND_CLOCK if self.domain else {})
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.control = control = self.control
        drive_second(m, self)
        place_engine(m, engine=self.engine, control=control, domain=self.domain, guard_idle=1)
        wiring.connect(m, wiring.flipped(self.bus), control.bus)
        for asks, outside in zip(self.engine.memory, self.memory, strict=True):
            wiring.connect(m, asks, wiring.flipped(outside))
        m.d.comb += [
            self.core_reset.eq(control.core_reset),
            self.busy.eq(control.busy),
            self.interrupt.eq(control.interrupt),
        ]
        return m
