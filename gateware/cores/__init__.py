# SPDX-License-Identifier: BSD-2-Clause
"""Registry of the cores: every folder here with an ``isa.py``, and every entry point of the
group ``quintet.cores``."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

from ..plugins import plugins
from ..suggestions import suggestion

__all__ = ["Room", "RoomError", "open_room", "room_names"]


class RoomError(LookupError):
    """No core of that name; the message lists those there are."""


class Room:
    """Package of one ISA: its table, software, parameters, golden model and gateware, each imported
    when first used (``core`` alone needs Amaranth).

    Attributes
    ----------
    name : str
    isa : module ``isa`` (``ISA``: encoding, registers, faults, program forms)
    software : module ``software`` (``SOFTWARE``: what assembler,
        disassembler and jobs do beyond the table)
    params : module ``params`` (``SPACE``: parameters and presets)
    model : module ``model`` (``Model``: the golden model)
    core : module ``core`` (``variant``: the engine that a build gets).
        Raises :class:`RoomError` where there is none
    has_core : bool, whether there is gateware: a room may begin with its golden model
    """

    def __init__(self, name: str, package: str) -> None:
        self.name = name
        self.package = package

    def _module(self, part):
        return importlib.import_module(f"{self.package}.{part}")

    isa = cached_property(lambda self: self._module("isa"))
    software = cached_property(lambda self: self._module("software"))
    params = cached_property(lambda self: self._module("params"))
    model = cached_property(lambda self: self._module("model"))

    @cached_property
    def has_core(self) -> bool:
        return importlib.util.find_spec(f"{self.package}.core") is not None

    @cached_property
    def core(self) -> ModuleType:
        if not self.has_core:
            raise RoomError(
                f"{self.name} has no gateware, only a golden model; its programs run on "
                f"model:{self.name}"
            )
        return self._module("core")


@cache
def _packages():
    here = Path(__file__).resolve().parent
    found = {
        path.parent.name: f"{__name__}.{path.parent.name}" for path in sorted(here.glob("*/isa.py"))
    }
    for entry, _ in plugins("quintet.cores", _load):
        found.setdefault(entry.name, entry.value)
    return found


def _load(entry):
    """Imports what every list of cores reads of a plug-in, so that a fault shows here."""
    _ = importlib.import_module(f"{entry.value}.isa").ISA.name
    _ = importlib.import_module(f"{entry.value}.params").SPACE.presets


def room_names() -> list[str]:
    """Names of all cores, in-tree ones first."""
    return list(_packages())


@cache
def open_room(name: str) -> Room:
    """The :class:`Room` of ISA ``name``."""
    if name not in _packages():
        raise RoomError(f"no ISA named {name!r}{suggestion(name, _packages(), 'there are')}")
    return Room(name, _packages()[name])
