# SPDX-License-Identifier: BSD-2-Clause
"""Opening of targets by name: ``model``, ``sim:<board>/<isa>``, or a port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from ..errors import TargetError, suggestion
from .base import Target
from .serial_port import open_port, port_options, public_name

if TYPE_CHECKING:
    from .sim import SimTarget

__all__ = ["TargetName", "open_sim_target", "open_target", "parse_target", "public_name"]

#: Words of a virtual board's query that are no build parameters.
SIM_OPTIONS = ("boot", "link", "load", "on_chip", "run_list", "sdram_rate", "trace", "trace_from")


@dataclass(frozen=True)
class TargetName:
    """A parsed target name. ``kind`` is ``"model"``, ``"sim"`` or ``"board"`` (then ``port`` is the
    port's name)."""

    text: str
    kind: str
    isa: str | None = None
    board: str | None = None
    preset: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    port: str | None = None


def parse_target(text: str) -> TargetName:
    """Parses a target's name without opening it.

    Raises
    ------
    TargetError
        An empty name, an unknown board or ISA, a malformed query.
    """
    if not text or text != text.strip():
        raise TargetError(
            f"target {text!r}: expected model, sim:<board>/<isa>, a serial port, "
            f"socket://host:port or auto"
        )
    if text.startswith("sim:"):
        return _parse_sim(text)
    if text == "model" or text.startswith(("model:", "model?")):
        place, query = _split(text)
        isa = place.partition(":")[2] or None
        if place.startswith("model:") and isa is None:
            raise _refused(text, "expected an ISA behind model:, as in model:opentpu")
        preset, params, options = _query(text, query, ("run_list",))
        _check_run_list(text, options)
        return TargetName(
            text,
            "model",
            isa=_known_isa(text, isa),
            preset=preset,
            params=params,
            options=options,
        )
    port_options(text)
    return TargetName(text, "board", port=text)


def _split(text):
    place, mark, query = text.partition("?")
    if mark and not query:
        raise _refused(
            text, "expected preset=name or param=value after the question mark, found nothing"
        )
    return place, query


def _refused(text, reason):
    return TargetError(f"target {public_name(text)}: {reason}")


def _query(text, query, options):
    preset, params, found = None, {}, {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise _refused(
            text, f"{public_name('?' + query)[1:]!r} is no list of name=value joined by &"
        ) from None
    for name, value in pairs:
        if name in params or name in found or (name == "preset" and preset is not None):
            raise _refused(text, f"{name} is given twice")
        if not value:
            raise _refused(text, f"{name} is empty; expected {name}=VALUE")
        if name == "preset":
            preset = value
        elif name in options:
            found[name] = value
        else:
            params[name] = value
    return preset, params, found


def _known_isa(text, isa):
    from ...gateware.cores import core_names

    if isa is not None and isa not in core_names():
        raise _refused(text, f"no ISA named {isa!r}{suggestion(isa, core_names(), 'there are')}")
    return isa


def _check_run_list(text, options):
    if options.get("run_list", "no") not in ("no", "yes"):
        raise _refused(text, f"run_list = {options['run_list']}: expected yes or no")


def _parse_sim(text):
    place, query = _split(text)
    board, slash, isa = place[4:].partition("/")
    if not board or not slash or not isa:
        raise _refused(text, "expected sim:<board>/<isa>, as in sim:ulx3s-85f/opentpu")
    preset, params, options = _query(text, query, SIM_OPTIONS)
    if options.get("link", "pipe") not in ("pipe", "wire", "uartbone", "spi"):
        raise _refused(text, f"link = {options['link']}: expected pipe, wire, uartbone or spi")
    if options.get("load", "link") not in ("link", "direct"):
        raise _refused(text, f"load = {options['load']}: expected link or direct")
    if "on_chip" in options and not options["on_chip"].isdecimal():
        raise _refused(text, f"on_chip = {options['on_chip']}: expected a number of bytes")
    if options.get("sdram_rate", "1") not in ("1", "2"):
        raise _refused(text, f"sdram_rate = {options['sdram_rate']}: expected 1 or 2")
    _check_run_list(text, options)
    if "trace_from" in options and not options["trace_from"].isdigit():
        raise _refused(text, f"trace_from = {options['trace_from']}: expected a number of cycles")
    return TargetName(
        text,
        "sim",
        isa=_known_isa(text, isa),
        board=board,
        preset=preset,
        params=params,
        options=options,
    )


def open_sim_target(name: str, progress: Callable[[str], object] | None = None) -> SimTarget:
    """Opens a virtual board by its target name; errors as for :func:`open_target`."""
    from .sim import open_sim

    return open_sim(parse_target(name), progress)


def open_target(name: str, progress: Callable[[str], object] | None = None) -> Target:
    """Opens the target ``name`` (docs/reference/command-line.md, "Targets").

    Parameters
    ----------
    name : str
        ``model``, ``model:<isa>?preset=..&param=..``,
        ``sim:<board>/<isa>?preset=..&param=..&link=wire``, a serial port (``/dev/ttyUSB0``,
        ``COM3``), ``spi:/dev/spidev0.0``, ``socket://host:port`` or ``auto``
    progress : callable(str), optional; receives what takes long (compiling a virtual board)

    Raises
    ------
    TargetError
        The name is malformed, or names a board, ISA, preset or size that does not exist.
    NoDeviceError
        No such port, or no compiler for a virtual board.
    LinkError
        Something is there, and does not speak the protocol.
    """
    parsed = parse_target(name)
    if parsed.kind == "model":
        from .model import ModelTarget

        return ModelTarget(
            name=name,
            isa=parsed.isa,
            preset=parsed.preset,
            overrides=parsed.params,
            run_list=parsed.options.get("run_list") == "yes",
        )
    if parsed.kind == "sim":
        return open_sim_target(name, progress)
    return open_port(parsed.port or parsed.text)
