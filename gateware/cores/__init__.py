# SPDX-License-Identifier: BSD-2-Clause
"""Registry of the cores: every folder here with an ``isa.py``, and every entry point of the
group ``quintet.cores``."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

from ..plugins import fault_text, plugins
from ..suggestions import suggestion

__all__ = ["CorePackage", "CoreError", "open_core", "core_names"]


class CoreError(LookupError):
    """No core of that name, a core without gateware, or a plug-in that cannot be imported; the
    message says which cores there are, or where the plug-in is at fault."""


class CorePackage:
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
        Raises :class:`CoreError` where there is none
    has_core : bool, whether there is gateware: a core may begin with its golden model
    """

    def __init__(self, name: str, import_name: str) -> None:
        self.name = name
        self.import_name = import_name

    def _module(self, part):
        try:
            return importlib.import_module(f"{self.import_name}.{part}")
        # As for a plug-in that is skipped: any exception is possible. One of ours is a fault.
        except (Exception, SystemExit) as error:
            if self.import_name.startswith(f"{__name__}."):
                raise
            raise CoreError(
                f"core plug-in {self.name} cannot be used: {fault_text(error)}"
            ) from error

    isa = cached_property(lambda self: self._module("isa"))
    software = cached_property(lambda self: self._module("software"))
    params = cached_property(lambda self: self._module("params"))
    model = cached_property(lambda self: self._module("model"))

    @cached_property
    def has_core(self) -> bool:
        """Whether the package has gateware, not only a golden model."""
        return importlib.util.find_spec(f"{self.import_name}.core") is not None

    @cached_property
    def core(self) -> ModuleType:
        """Module with the gateware's ``variant``; raises :class:`CoreError` without gateware."""
        if not self.has_core:
            raise CoreError(
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
    """Imports the modules of a plug-in that every list of cores reads, so that its errors
    show here."""
    _ = importlib.import_module(f"{entry.value}.isa").ISA.name
    _ = importlib.import_module(f"{entry.value}.params").SPACE.presets


def core_names() -> list[str]:
    """Names of all cores, in-tree ones first."""
    return list(_packages())


@cache
def open_core(name: str) -> CorePackage:
    """The :class:`CorePackage` of ISA ``name``."""
    if name not in _packages():
        raise CoreError(f"no ISA named {name!r}{suggestion(name, _packages(), 'there are')}")
    return CorePackage(name, _packages()[name])
