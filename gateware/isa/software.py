# SPDX-License-Identifier: BSD-2-Clause
"""The program side of an instruction set: what assembler, disassembler and jobs do beyond the
table. Pure Python.

A room's ``software.py`` binds these hooks to its table, so that the table itself depends on nothing
but encoding.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .table import Isa

__all__ = ["Directive", "FileForm", "Software"]


@dataclass(frozen=True)
class Directive:
    """A directive of the ISA's own: ``handle(assembler, cursor)`` is called with the cursor behind
    its name."""

    name: str
    handle: Callable
    doc: str = ""


@dataclass(frozen=True)
class FileForm:
    """A form of program file. ``kind`` ``"assembly"`` and ``"binary"`` (the bytes as they lie in
    memory) are built in.

    Any other brings ``read(software, path, params)`` if it can be read, which gives a program or a
    :class:`~.program_file.ProgramFile` and may raise :class:`~.program_file.FormError`, and if it
    can be written
    ``write(software, program, path)``. The suffix ``"/"`` stands for a folder.
    """

    kind: str
    read: Callable | None = None
    write: Callable | None = None
    doc: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Software:
    """The programs of one instruction set. Without hooks a program is its words, one after another.

    Parameters
    ----------
    isa : Isa
    forms : suffix of a program file -> :class:`FileForm`.
    directives : tuple of :class:`Directive`.
    bulk : callable giving an object that reads long runs of plain lines at once:
        ``read(lines, begin)`` gives ``(value, lines)``, a value of ``None`` where the next
        ``lines`` lines are to be read one by one; ``emit(assembler, value, place)`` appends it to
        the current section.
    lint : ``(items, params)`` -> pairs (index or ``None``, message):
        warnings about a whole program; triples with a third element ``"error"`` refuse it.
    link : ``(assembler) -> bytes``: makes the image of what was assembled,
        if that is more than its words (docs/how/assembler.md).
    statement_reader : class called with the assembler,
        for an ISA whose statements are more than operands by the table: its ``statement(name,
        cursor, place)`` gets every statement but the directives that all share, ``name`` with its
        dot where it is a directive; ``finish()`` emits the words, and gives a dict for
        ``Program.extra`` (docs/how/assembler.md).
    listing : ``(software, data, params, text) -> str``:
        the disassembly of such an image; ``text(word, stored, storage)`` gives the line of a word
        that lies there as the bytes ``stored`` (``storage``: by default the usual one). Raises
        :class:`~.instruction.TableError` for what is no image.
    passes : name -> ``(software, program, params) -> Program``:
        what ``quintet asm --pass NAME`` may do to a program; what it has to say stands in the
        program's warnings.
    check_job : ``(program, registers, params)``,
        raises ``ValueError`` for a job that this ISA cannot mean (an output area that overlaps the
        program), and may return warnings; ``registers`` holds those the job writes,
        ``program_address``, ``program_length`` and the window's bounds always among them.
    explain : ``(program, at, outcome) -> list of str``:
        sentences on the fault of a run of ``program``, which lay at ``at``: what its place means to
        this ISA.
    """

    isa: Isa
    forms: Mapping = field(
        default_factory=lambda: {
            ".s": FileForm("assembly", doc="assembly"),
            ".bin": FileForm("binary", doc="the words as they lie in memory"),
        }
    )
    directives: tuple = ()
    bulk: Callable | None = None
    lint: Callable | None = None
    link: Callable | None = None
    statement_reader: Callable | None = None
    listing: Callable | None = None
    passes: Mapping = field(default_factory=dict)
    check_job: Callable | None = None
    explain: Callable | None = None

    def __repr__(self):
        return f"<Software {self.isa.name}>"
