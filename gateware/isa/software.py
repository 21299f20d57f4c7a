# SPDX-License-Identifier: BSD-2-Clause
"""Software hooks of an ISA: functions of its assembler, disassembler and jobs beyond the
instruction table. Pure Python.

A core package's ``software.py`` binds these hooks to its table, so that the table itself depends on
nothing but encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .outcome import Outcome
from .parameters import Params
from .program_file import ProgramFile
from .table import Isa

if TYPE_CHECKING:
    from .asm.assembler import Assembler, Item
    from .asm.cursor import Cursor
    from .asm.errors import Place
    from .asm.program import Program


__all__ = ["BulkReader", "Directive", "FileForm", "Software", "StatementReader"]


class BulkReader(Protocol):
    """Fast reader of many plain lines at once, for programs of many words."""

    def read(self, lines: list[str], begin: int) -> tuple[Any, int]:
        """Reads the lines from ``begin`` on: ``(value, count)``; a ``value`` of ``None`` means that
        the next ``count`` lines must be read one by one."""

    def emit(self, assembler: Assembler, value: Any, place: Place) -> None:
        """Appends ``value`` to the current section."""


class StatementReader(Protocol):
    """Reader of statements, for an ISA whose statements are more than table-driven operands."""

    def statement(self, name: str, cursor: Cursor, place: Place) -> None:
        """Reads one statement; ``name`` includes the dot of a directive."""

    def finish(self) -> dict[str, Any]:
        """Emits the words; returns the contents of ``Program.extra``."""


@dataclass(frozen=True)
class Directive:
    """A directive of one ISA: ``handle(assembler, cursor)`` is called with the cursor after its
    name."""

    name: str
    handle: Callable[[Assembler, Cursor], None]
    doc: str = ""


@dataclass(frozen=True)
class FileForm:
    """A program file format. ``kind`` ``"assembly"`` and ``"binary"`` (bytes as in memory) are
    built in.

    Any other brings ``read(software, path, params)`` if it can be read, which gives a program or a
    :class:`~.program_file.ProgramFile` and may raise :class:`~.program_file.FormError`, and if it
    can be written
    ``write(software, program, path)``. The suffix ``"/"`` stands for a folder.
    """

    kind: str
    read: Callable[[Software, str | Path, Params | None], Program | ProgramFile] | None = None
    write: Callable[[Software, Program, str | Path], object] | None = None
    doc: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Software:
    """Software support of an ISA: program files and assembler hooks. Without hooks, a program is
    its words in order.

    Parameters
    ----------
    isa : Isa
    forms : suffix of a program file -> :class:`FileForm`.
    directives : tuple of :class:`Directive`.
    bulk : callable giving a :class:`BulkReader`.
    lint : ``(items, params)`` -> pairs (index or ``None``, message):
        warnings about a whole program; triples with a third element ``"error"`` refuse it.
    link : ``(assembler) -> bytes``: makes the image of what was assembled,
        if that is more than its words (docs/how/assembler.md).
    statement_reader : class called with the assembler,
        for an ISA whose statements are more than operands by the table: a
        :class:`StatementReader`, which gets every statement but the directives that all share
        (docs/how/assembler.md).
    listing : ``(software, data, params, text) -> str``:
        the disassembly of such an image; ``text(word, stored, storage)`` gives the line of a word
        that lies there as the bytes ``stored`` (``storage``: by default the usual one). Raises
        :class:`~.instruction.TableError` if the data are no image.
    passes : name -> ``(software, program, params) -> Program``:
        the passes of ``quintet asm --pass NAME``; its messages are among the program's warnings.
    check_job : ``(program, registers, params)``,
        raises ``ValueError`` for a job that this ISA cannot mean (an output area that overlaps the
        program), and may return warnings; ``registers`` holds those the job writes,
        ``program_address``, ``program_length`` and the window's bounds always among them.
    explain : ``(program, at, outcome) -> list of str``:
        sentences on the fault of a run of ``program``, which lay at ``at``: the meaning of its
        place to this ISA.
    """

    isa: Isa
    forms: Mapping[str, FileForm] = field(
        default_factory=lambda: {
            ".s": FileForm("assembly", doc="assembly"),
            ".bin": FileForm("binary", doc="the words as they lie in memory"),
        }
    )
    directives: tuple[Directive, ...] = ()
    bulk: Callable[[], BulkReader] | None = None
    lint: Callable[[list[Item], Params | None], Iterable[tuple[Any, ...]]] | None = None
    link: Callable[[Assembler], bytes] | None = None
    statement_reader: Callable[[Assembler], StatementReader] | None = None
    listing: Callable[..., str] | None = None
    passes: Mapping[str, Callable[[Software, Program, Params], Program]] = field(
        default_factory=dict
    )
    check_job: Callable[[Program, dict[str, int], Params], Iterable[str] | None] | None = None
    explain: Callable[[Program, int, Outcome], list[str]] | None = None

    def __repr__(self) -> str:
        return f"<Software {self.isa.name}>"
