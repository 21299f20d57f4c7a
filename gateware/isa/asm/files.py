# SPDX-License-Identifier: BSD-2-Clause
"""Program files in all forms that an ISA declares: read and written by their suffixes."""

import os
from pathlib import Path

from quintet.gateware.isa.files import LARGEST, FileError, write_whole
from quintet.gateware.isa.program_file import FormError, ProgramFile

from ..parameters import Params
from ..software import Software
from .assembler import assemble
from .errors import AsmError, Place
from .program import Program, SourceLine, read_program

__all__ = ["load_program", "save_program", "suffix_of"]


def suffix_of(software: Software, path: Path | str) -> str:
    """The longest suffix in ``software.forms`` that the name of ``path`` ends in; :class:`AsmError`
    if there is none."""
    if "/" in software.forms and (str(path).endswith("/") or os.path.isdir(path)):
        return "/"
    name = Path(path).name
    fitting = [suffix for suffix in software.forms if name.endswith(suffix)]
    if not fitting:
        raise AsmError(
            f"no program form of {software.isa.name} has this suffix",
            file=path,
            expected=", ".join(software.forms),
        )
    return max(fitting, key=len)


def load_program(
    software: Software,
    path: Path | str,
    params: Params | None = None,
    *,
    most: int = LARGEST,
    exports: bool = False,
) -> Program:
    """Reads a program file of any form that ``software`` declares, by its suffix.

    Parameters
    ----------
    software : Software
    path : str or Path
    params : dict, optional
        Build parameters, for the checks of the assembler.
    most : int
        Bytes that a program in its binary form may have.
    exports : bool
        Whether directives that write files do so.

    Returns
    -------
    Program

    Raises
    ------
    AsmError
        Unknown suffix, unreadable file, a binary that ends inside a word, an error in the source.
    """
    form = software.forms[suffix_of(software, path)]
    if form.kind == "assembly":
        return assemble(software, path, params, exports=exports)
    if form.kind == "binary":
        data = read_program(path, most)
        if not data:
            raise AsmError("the program is empty", file=path, expected="at least one instruction")
        check_size(software, data, path)
        return Program(data)
    if form.read is None:
        readable = [
            s
            for s, f in software.forms.items()
            if f.kind in ("assembly", "binary") or f.read is not None
        ]
        raise AsmError("this form is only written", file=path, expected=", ".join(readable))
    return _read_form(form, software, path, params)


def _read_form(form, software, path, params):
    """Reads the program file ``path`` by the ISA's own reader; its errors and source lines name the
    file."""
    try:
        made = form.read(software, path, params)
    except FormError as error:
        place = None if error.line is None else Place(str(path), error.line, error.column)
        raise AsmError(error.message, place=place, expected=error.expected, file=path) from None
    except FileError as error:
        raise AsmError(error.trouble, file=error.path) from None
    except OSError as error:
        raise AsmError(f"cannot be read ({error.strerror or error})", file=path) from None
    if not isinstance(made, ProgramFile):
        return made
    lines = {offset: SourceLine(str(path), line) for offset, line in made.lines.items()}
    return Program(made.data, lines=lines, extra=made.extra)


def check_size(software: Software, data: bytes, path: str | Path) -> None:
    """Raises an error if ``data`` is not a whole number of words (for ISAs whose program is just
    its words)."""
    storage = software.isa.storage[0]
    if software.link is None and len(software.isa.storage) == 1 and len(data) % storage.size:
        raise AsmError(
            f"{len(data)} bytes are no whole number of words",
            file=path,
            expected=f"a multiple of {storage.size} bytes",
        )


def save_program(software: Software, program: Program, path: str | Path) -> None:
    """Writes ``program`` in the form that the suffix of ``path`` names, completely or not at all.

    Raises
    ------
    AsmError
        Unknown suffix, a form that is only read, or a file that cannot be written.
    """
    form = software.forms[suffix_of(software, path)]
    if form.kind != "binary" and form.write is None:
        writable = [
            s for s, f in software.forms.items() if f.kind == "binary" or f.write is not None
        ]
        raise AsmError("this form is only read", file=path, expected=", ".join(writable))
    if form.write is not None:
        try:
            form.write(software, program, path)
        except OSError as error:
            raise AsmError(f"cannot be written ({error.strerror or error})", file=path) from None
        except ValueError as error:
            raise (
                error if isinstance(error, AsmError) else AsmError(str(error), file=path)
            ) from None
        return
    try:
        write_whole(path, program.data)
    except OSError as error:
        raise AsmError(f"cannot be written ({error.strerror or error})", file=path) from None
