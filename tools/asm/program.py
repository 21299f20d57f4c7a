# SPDX-License-Identifier: BSD-2-Clause
"""Program files: what an assembler makes, a job names and the loader writes into main memory."""
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from quintet.gateware.cores.program_file import FormError, ProgramFile

from .errors import AsmError, Place

__all__ = ["Program", "SourceLine", "load_program", "read_source", "save_program", "suffix_of"]


class SourceLine(NamedTuple):
    """Where an instruction comes from."""
    file: str
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}"


@dataclass
class Program:
    """A program in its binary form.

    Attributes
    ----------
    data : bytes
        As it lies at ``program_at``, whole.
    warnings : list of AsmWarning
    lines : dict of int to SourceLine
        By byte offset of the instruction in ``data``; empty for what was not assembled from source.
    extra : dict
        Whatever the ISA adds.
    """
    data: bytes
    warnings: list = field(default_factory=list)
    lines: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)

    def line_at(self, offset):
        """The :class:`SourceLine` of the instruction at ``offset``, or ``None``."""
        return self.lines.get(offset)


def suffix_of(isa, path):
    """The longest suffix in ``isa.forms`` that the name of ``path`` ends in; :class:`AsmError` if there is none."""
    if "/" in isa.forms and (str(path).endswith("/") or Path(path).is_dir()):
        return "/"
    name = Path(path).name
    fitting = [suffix for suffix in isa.forms if name.endswith(suffix)]
    if not fitting:
        raise AsmError(f"no program form of {isa.name} has this suffix", file=path, expected=", ".join(isa.forms))
    return max(fitting, key=len)


def _read(path):
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise AsmError(f"cannot be read ({error.strerror or error})", file=path) from None


def read_source(path):
    """The text of a source file; raises :class:`AsmError` if it is not there or no UTF-8."""
    try:
        text = _read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AsmError(f"byte {error.start} is not UTF-8 text", file=path, expected="an assembly source") from None
    return text.replace("\r\n", "\n")


def load_program(isa, path, params=None):
    """Reads a program file of any form that ``isa`` declares, by its suffix.

    Parameters
    ----------
    isa : Isa
    path : str or Path
    params : dict, optional
        Build parameters, for the checks of the assembler.

    Returns
    -------
    Program

    Raises
    ------
    AsmError
        Unknown suffix, unreadable file, a binary that ends inside a word, an error in the source.
    """
    form = isa.forms[suffix_of(isa, path)]
    if form.kind == "assembly":
        from .assembler import assemble
        return assemble(isa, path, params)
    if form.kind == "binary":
        data = _read(path)
        check_size(isa, data, path)
        return Program(data)
    if form.read is None:
        readable = [s for s, f in isa.forms.items() if f.kind in ("assembly", "binary") or f.read is not None]
        raise AsmError("this form is only written", file=path, expected=", ".join(readable))
    return _read_form(form, isa, path, params)


def _read_form(form, isa, path, params):
    """What the ISA's own reader makes of ``path``, its errors and lines named with the file."""
    try:
        made = form.read(isa, path, params)
    except FormError as error:
        place = None if error.line is None else Place(str(path), error.line, error.column)
        raise AsmError(error.message, place=place, expected=error.expected, file=path) from None
    except OSError as error:
        raise AsmError(f"cannot be read ({error.strerror or error})", file=path) from None
    if not isinstance(made, ProgramFile):
        return made
    lines = {offset: SourceLine(str(path), line) for offset, line in made.lines.items()}
    return Program(made.data, lines=lines, extra=made.extra)


def check_size(isa, data, path):
    """Refuses ``data`` that is no whole number of words (where the words' storage alone decides)."""
    storage = isa.storage[0]
    if isa.link is None and len(isa.storage) == 1 and len(data) % storage.size:
        raise AsmError(f"{len(data)} bytes are no whole number of words", file=path,
                       expected=f"a multiple of {storage.size} bytes")


def save_program(isa, program, path):
    """Writes ``program`` in the form that the suffix of ``path`` names, whole or not at all.

    Raises
    ------
    AsmError
        Unknown suffix, a form that is only read, or a file that cannot be written.
    """
    form = isa.forms[suffix_of(isa, path)]
    if form.kind != "binary" and form.write is None:
        writable = [s for s, f in isa.forms.items() if f.kind == "binary" or f.write is not None]
        raise AsmError("this form is only read", file=path, expected=", ".join(writable))
    if form.write is not None:
        try:
            form.write(isa, program, path)
        except OSError as error:
            raise AsmError(f"cannot be written ({error.strerror or error})", file=path) from None
        except ValueError as error:
            raise error if isinstance(error, AsmError) else AsmError(str(error), file=path) from None
        return
    path = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(program.data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise AsmError(f"cannot be written ({error.strerror or error})", file=path) from None
