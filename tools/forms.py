# SPDX-License-Identifier: BSD-2-Clause
"""Writes a program in one of its ISA's forms, chosen by the suffix of the file's name."""
from pathlib import Path

from .arrays import write_atomically
from .errors import InputError

__all__ = ["check_output", "suffixes", "write_program"]


def suffixes(isa):
    """Suffixes that ``quintet asm -o`` accepts: every binary form, and what the ISA's ``writers`` add."""
    return sorted({".bin"} | {s for s, form in isa.forms.items() if form == "binary"}
                  | set(getattr(isa, "writers", None) or {}))


def _suffix(isa, path):
    name = str(path)
    for suffix in sorted(suffixes(isa), key=len, reverse=True):
        if name.lower().endswith(suffix):
            return suffix
    raise InputError(f"-o {path}: {isa.name} has no such form; expected a name ending in {', '.join(suffixes(isa))}")


def check_output(isa, path):
    """Refuse an output name before anything is assembled."""
    _suffix(isa, path)
    if Path(path).is_dir() and not str(path).endswith("/"):
        raise InputError(f"-o {path}: is a directory")


def write_program(isa, program, path):
    """Write ``program`` to ``path``. ``isa.writers`` (suffix -> callable(program, path) -> dict of path -> bytes) may add
    forms that are not the binary itself."""
    writer = (getattr(isa, "writers", None) or {}).get(_suffix(isa, path))
    write_atomically(writer(program, path) if writer else {path: program.data})
