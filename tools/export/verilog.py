# SPDX-License-Identifier: BSD-2-Clause
"""Verilog of a SoC or of a core alone (``quintet verilog``)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...gateware.isa.parameters import elaborating
from ..build.logs import BuildError
from ..build.toolchain import find_tool
from .verilog_ports import port_comment

if TYPE_CHECKING:
    from ...gateware.core import Core
    from ...gateware.cores import CorePackage
    from ...gateware.isa.parameters import Params
    from ...gateware.shell.core import CoreShell
    from ...gateware.shell.domains import DomainRequest

__all__ = ["CoreExport", "core_component", "verilog", "verilog_core"]


def _convert(component, name, about=(), domain=None):
    from amaranth.back.verilog import YosysError

    from ...gateware.verilog import convert

    try:
        with elaborating(name):
            text = convert(component, name=name, yosys=find_tool("yosys"))
    except YosysError as error:
        raise BuildError(
            f"yosys wrote no Verilog: {str(error).strip() or 'it did not say why'}"
        ) from None
    return f"{port_comment(component, name, about, domain)}\n{text}"


def verilog(
    board: str,
    isa: str | None = None,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    freq: float | None = None,
) -> str:
    """Verilog of a board's SoC without pads: byte streams of the link, pins of the memory, state of
    the core.

    Arguments as of :func:`~quintet.tools.build.bitstream.build`. The text is the same for the same
    sources and arguments.
    """
    from ...boards import open_board
    from ...gateware.cores import open_core

    board = open_board(board)
    hz = None if freq is None else round(freq * 1e6)
    soc = board.make_soc(
        package=open_core(isa) if isa else None, preset=preset, params=params, clock_hz=hz
    )
    return _convert(
        soc,
        f"quintet_{board.name}_{isa or 'soc'}".replace("-", "_"),
        [
            f"SoC of {board.title}, {soc.clock_hz / 1e6:g} MHz, {soc.preset or 'no core'}",
            *_settings(soc.params),
        ],
        soc.domain,
    )


def verilog_core(
    isa: str,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    family: str | None = None,
    beat_bytes: int | None = None,
    memory_size: int = 1 << 25,
    bus: str | None = None,
    bus_width: int | None = None,
    registers: str = "wishbone",
    memory_base: int = 0,
) -> str:
    """Verilog of a core alone: register block, memory port or bus master, interrupt.

    Without ``bus`` it is the core's shell, with a Wishbone register block and the memory port
    (docs/how/contracts.md, sections 2 and 3); with it :class:`~quintet.gateware.core.Core`.

    Parameters
    ----------
    isa, preset, params
        As of :func:`~quintet.tools.build.bitstream.build`; without ``preset`` the ISA's default
        one.
    family : "ecp5", "ice40" or None
        ``None``: portable, without any vendor's cells.
    beat_bytes, memory_size : int
        Of the memory that the core will see; without ``beat_bytes`` 4, with a bus the bus's.
    bus, bus_width, registers, memory_base
        As of :class:`~quintet.gateware.core.Core`.

    Raises
    ------
    ParameterError
        No such preset or size, or the core cannot have these sizes with that memory and those
        cells.
    BuildError
        yosys failed.
    """
    core = core_component(
        isa,
        preset,
        params,
        family=family,
        beat_bytes=beat_bytes,
        memory_size=memory_size,
        bus=bus,
        bus_width=bus_width,
        registers=registers,
        memory_base=memory_base,
    )
    return core.verilog()


@dataclass(frozen=True)
class CoreExport:
    """A core to be exported: its component, parameters and bus types.

    Attributes
    ----------
    component : the core itself
    name : of its Verilog module
    package, preset, params : what it is, with every parameter
    bus, bus_bytes : bus of its memory and the bytes of its data; ``None``: a core's shell with its
        memory port
    registers : bus of its registers
    about : lines of the comment at the top
    second_clock : further clock that the design around drives, or ``None``
    """

    component: Any
    name: str
    package: CorePackage
    preset: str
    params: Params
    bus: str | None
    bus_bytes: int
    registers: str
    about: tuple[str, ...]
    second_clock: DomainRequest | None

    def verilog(self) -> str:
        """Generates the Verilog; raises :class:`~quintet.tools.build.logs.BuildError` if yosys
        fails."""
        return _convert(self.component, self.name, self.about, self.second_clock)


def core_component(
    isa: str,
    preset: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    family: str | None = None,
    beat_bytes: int | None = None,
    memory_size: int = 1 << 25,
    bus: str | None = None,
    bus_width: int | None = None,
    registers: str = "wishbone",
    memory_base: int = 0,
) -> CoreExport:
    """Builds the core that :func:`verilog_core` exports, with the same arguments."""
    from ...gateware.core import Core
    from ...gateware.cores import open_core
    from ...gateware.isa.parameters import ParameterError
    from ...gateware.shell.core import CoreShell

    package = open_core(isa)
    values = package.params.SPACE.resolve(preset, params)
    preset = preset or package.params.SPACE.default_preset
    sizes: dict[str, Any] = {"memory_size": memory_size, "family": family}
    component: Core | CoreShell
    try:
        if bus is None:
            component = CoreShell(
                package=package, params=values, beat_bytes=beat_bytes or 4, **sizes
            )
            second_clock = component.domain
        else:
            component = Core(
                isa,
                preset=preset,
                params=params,
                bus=bus,
                bus_width=bus_width,
                registers=registers,
                memory_base=memory_base,
                beat_bytes=beat_bytes,
                **sizes,
            )
            second_clock = component.second_clock
    except ValueError as error:
        # Sizes that the core has, and not with this memory or these cells.
        beats = f"beats of {beat_bytes or 4} bytes" if bus is None or beat_bytes else f"{bus} bus"
        raise ParameterError(
            f"{isa} {preset} cannot be built with {beats}, {memory_size:,} bytes of memory and "
            f"{family or 'portable'} cells: {error}"
        ) from None
    about = [
        f"{package.isa.ISA.title} core, preset {preset}, beats of "
        f"{component.beat_bytes} bytes, {memory_size:,} bytes of memory"
    ]
    if isinstance(component, Core):
        about.append(
            f"memory on {bus} of {8 * component.bus_bytes} bits from {memory_base:#x}, registers "
            f"on {registers}"
        )
    return CoreExport(
        component=component,
        name=f"quintet_{isa}",
        package=package,
        preset=preset,
        params=values,
        bus=bus,
        bus_bytes=component.bus_bytes if isinstance(component, Core) else component.beat_bytes,
        registers=registers,
        about=(*about, *_settings(values)),
        second_clock=second_clock,
    )


def _settings(params):
    """Formats parameters as comment lines."""
    words = [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in params.items()
    ]
    return textwrap.wrap(" ".join(words), 110)
