# SPDX-License-Identifier: BSD-2-Clause
"""Writes a program in one of its ISA's forms, chosen by the suffix of the file's name."""
from pathlib import Path

from .arrays import write_atomically
from .errors import InputError

__all__ = ["check_output", "suffixes", "write_program"]


def suffixes(isa):
    """Suffixes that ``quintet asm -o`` accepts: the binary ones, and those whose form knows how to write itself."""
    return sorted({".bin"} | {suffix for suffix, form in isa.forms.items() if form.kind == "binary" or form.write})


def _suffix(isa, path):
    for suffix in sorted(suffixes(isa), key=len, reverse=True):
        if str(path).lower().endswith(suffix):
            return suffix
    raise InputError(f"-o {path}: {isa.name} has no such form; expected a name ending in {', '.join(suffixes(isa))}")


def check_output(isa, path):
    """Refuse an output name before anything is assembled."""
    _suffix(isa, path)
    form = isa.forms.get(_suffix(isa, path))
    if Path(path).is_dir() and (form is None or form.write is None):
        raise InputError(f"-o {path}: is a directory")


def write_program(isa, program, path):
    """Write ``program`` to ``path`` in the form its suffix stands for."""
    form = isa.forms.get(_suffix(isa, path))
    if form is not None and form.write is not None:
        form.write(isa, program, path)
    else:
        write_atomically({path: bytes(program.data)})
