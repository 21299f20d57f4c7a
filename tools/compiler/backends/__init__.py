# SPDX-License-Identifier: BSD-2-Clause
"""Back ends of the compiler, one per instruction set."""

from importlib import import_module
from pkgutil import iter_modules

from .base import Backend

__all__ = ["Backend", "backend_class", "backend_names"]


def backend_names() -> list[str]:
    """Instruction sets that networks can be compiled for: the packages of this folder."""
    return sorted(module.name for module in iter_modules(__path__) if module.ispkg)


def backend_class(isa: str) -> type[Backend]:
    """The :class:`Backend` class of an instruction set, ``BACKEND`` of its package."""
    return import_module(f"{__name__}.{isa}").BACKEND
