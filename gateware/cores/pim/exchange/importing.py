# SPDX-License-Identifier: BSD-2-Clause
"""Importer of published forms into an assembly: ``.import``, ``.groups``, and program files
named directly (section 3.7)."""

from pathlib import Path

from ....isa.asm.assembler import Assembler
from ....isa.asm.errors import Place
from ....isa.asm.program import Program
from ....isa.parameters import Params
from ....isa.software import Directive, Software
from ..asm.drafts import CORES, Block, SourceError, add_group, core_of, draft_of
from ..image.fields import AUTO
from ..storage import STORAGES
from .foreign import companion_beside, read_companion, read_program

__all__ = ["IMPORTS", "read_form", "whole_file"]


def _core(assembler, number, where):
    most = CORES if assembler.params is None else assembler.params["cores"]
    if number >= most:
        raise SourceError(f"{where} has a core {number}, expected 0 to {most - 1}")


def _pair(value):
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(n) is int and 1 <= n <= 1024 for n in value)
    )


def _geometry(assembler, size, path, place):
    if not _pair(size):
        raise SourceError(f"{path}: xbar_size is {str(size)[:40]}, expected rows and columns")
    before = assembler.state.setdefault("arrays", (tuple(size), place))[0]
    if before != tuple(size):
        raise SourceError(
            f"{path} is for arrays of {size[0]} x {size[1]} and the program has {before[0]} x "
            f"{before[1]}"
        )


def _own_settings(assembler, own, path):
    """Settings in quintet's own files that the published forms lack: GMem, and form, wait mode,
    widths and formats of each core."""

    def wrong():
        raise SourceError(f"{path}: config.quintet is damaged")

    if not isinstance(own, dict) or not isinstance(own.get("cores"), list):
        wrong()
    gmem = own.get("gmem", [0, 0])
    if (
        not isinstance(gmem, list)
        or len(gmem) != 2
        or not all(type(n) is int and 0 <= n < 1 << 32 for n in gmem)
    ):
        wrong()
    assembler.state["gmem"] = tuple(gmem)
    legal = {
        "mode": range(3),
        "wait_mode": range(2),
        "ibiw": range(1, 33),
        "obiw": range(1, 33),
        "fi": (*range(32), AUTO),
        "fo": (*range(32), AUTO),
    }
    for number, values in enumerate(own["cores"][:CORES]):
        draft = draft_of(assembler, number)
        if not isinstance(values, dict):
            wrong()
        for key, allowed in legal.items():
            if key in values:
                if type(values[key]) is not int or values[key] not in allowed:
                    wrong()
                setattr(draft, key, values[key])


def add_program(assembler: Assembler, path: str | Path, raw: bool, place: Place) -> None:
    """Appends the programs of a file to the cores of an assembly. Raises :class:`SourceError`."""
    foreign = read_program(path, raw)
    for number in foreign.cores:
        _core(assembler, number, path)
    if "xbar_size" in foreign.config:
        _geometry(assembler, foreign.config["xbar_size"], path, place)
    if "quintet" in foreign.config:
        _own_settings(assembler, foreign.config["quintet"], path)
    current = assembler.section
    for number in sorted(foreign.cores):
        draft = draft_of(assembler, number)
        if number == 0 and None in assembler.sections and 0 not in assembler.sections:
            section = assembler.sections[None]
        else:
            section = assembler.open_section(number, STORAGES[draft.mode])
        section.storage = STORAGES[draft.mode]
        if len(foreign.cores[number]):
            section.items.append(Block(foreign.cores[number], place, raw=raw))
    assembler.section = current
    if "array_group_map" in foreign.config and not raw:
        assembler.state.setdefault("maps", []).append(
            (foreign.config["array_group_map"], path, place)
        )
    for kind, count in foreign.kinds.items():
        assembler.warn(place, f"{path}: {count} times: {kind}")


def add_companion(assembler: Assembler, path: str | Path, place: Place) -> None:
    """Declares the groups of a companion. Raises :class:`SourceError`."""
    for number, groups in read_companion(path).items():
        _core(assembler, number, path)
        for n, group in enumerate(groups):
            if n in draft_of(assembler, number).groups:
                raise SourceError(f"{path}: group {n} of core {number} is already declared")
            group.place = place
            add_group(assembler, number, n, group, place)


def _import(assembler, cursor):
    """Directive ``.import "path"[, raw]``: appends a program in a published form."""
    place = cursor.place
    name = cursor.string('a file name, as in .import "FILE"')
    raw = False
    if cursor.accept(","):
        if cursor.peek_name() != "raw":
            cursor.fail(f"unexpected {cursor.shown()}", expected="raw")
        cursor.advance()
        raw = True
    try:
        add_program(assembler, assembler.folder / name, raw, place)
    except SourceError as error:
        cursor.fail(str(error), place=place)


def _groups(assembler, cursor):
    """Directive ``.groups "file.json[.gz]"``: declares the groups of a companion file."""
    place = cursor.place
    name = cursor.string('a file name, as in .groups "FILE"')
    try:
        add_companion(assembler, assembler.folder / name, place)
    except SourceError as error:
        cursor.fail(str(error), place=place)
    assembler.state["last group"] = core_of(assembler.section), None


#: Directives that bring a published form into an assembly.
IMPORTS = (
    Directive(
        ".groups", _groups, '`"FILE"`: groups of all cores from a companion, `.json` or `.json.gz`'
    ),
    Directive(
        ".import",
        _import,
        '`"PATH"[, raw]`: core programs of a JSON program, a `.pim` file or a folder',
    ),
)


def whole_file(name: str) -> Place:
    """Location in messages that stands for a whole file."""
    from ....isa.asm.errors import Place

    class WholeFile(Place):
        __slots__ = ()

        def __str__(self):
            return self.file

    return WholeFile(name, 1, 1)


def read_form(software: Software, path: str | Path, params: Params | None = None) -> Program:
    """Reads a program file in a published form, with its companion file. Raises ``AsmError``."""
    from ....isa.asm.assembler import Assembler
    from ....isa.asm.errors import AsmError

    assembler, place = Assembler(software, params), whole_file(str(path))
    assembler.last_place = place
    try:
        add_program(assembler, Path(path), False, place)
        companion = companion_beside(path)
        if companion is not None:
            add_companion(assembler, companion, place)
    except SourceError as error:
        raise AsmError(str(error)) from None
    return assembler.finish()
