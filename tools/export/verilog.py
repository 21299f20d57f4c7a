# SPDX-License-Identifier: BSD-2-Clause
"""Verilog of a SoC or of a core alone (``quintet verilog``)."""

import textwrap
from collections.abc import Mapping
from typing import Any

from ...gateware.isa.parameters import elaborating
from ..build.logs import BuildError
from ..build.toolchain import find_tool
from .verilog_ports import port_comment

__all__ = ["verilog", "verilog_core"]


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
    beat_bytes: int = 4,
    memory_size: int = 1 << 25,
) -> str:
    """Verilog of a core alone: Wishbone register block, memory port, interrupt
    (docs/how/contracts.md, sections 2 and 3).

    Parameters
    ----------
    isa, preset, params
        As of :func:`~quintet.tools.build.bitstream.build`; without ``preset`` the ISA's default
        one.
    family : "ecp5", "ice40" or None
        ``None``: portable, without any vendor's cells.
    beat_bytes, memory_size : int
        Of the memory that the core will see.

    Raises
    ------
    ParameterError
        No such preset or size, or the core cannot have these sizes with that memory and those
        cells.
    BuildError
        yosys failed.
    """
    from ...gateware.cores import open_core
    from ...gateware.isa.parameters import ParameterError
    from ...gateware.shell.core import CoreShell

    package = open_core(isa)
    values = package.params.SPACE.resolve(preset, params)
    preset = preset or package.params.SPACE.default_preset
    try:
        core = CoreShell(
            package=package,
            params=values,
            beat_bytes=beat_bytes,
            memory_size=memory_size,
            family=family,
        )
    except ValueError as error:
        # Sizes that the core has, and not with this memory or these cells.
        raise ParameterError(
            f"{isa} {preset} cannot be built with beats of {beat_bytes} bytes, {memory_size:,} "
            f"bytes of memory and "
            f"{family or 'portable'} cells: {error}"
        ) from None
    return _convert(
        core,
        f"quintet_{isa}",
        [
            f"{package.isa.ISA.title} core, preset {preset}, beats of "
            f"{beat_bytes} bytes, {memory_size:,} bytes of memory",
            *_settings(values),
        ],
        core.domain,
    )


def _settings(params):
    """Parameters as lines of a comment."""
    words = [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in params.items()
    ]
    return textwrap.wrap(" ".join(words), 110)
