# SPDX-License-Identifier: BSD-2-Clause
"""Table-driven assembler: translates statements to instruction words."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from quintet.gateware.isa.instruction import Macro, built, number_text

from ..instruction import Instruction
from ..parameters import Params
from ..software import Software
from ..table import Storage
from .cursor import Cursor
from .errors import AsmError, AsmWarning, Place
from .operand_text import read_operands
from .program import Program, SourceLine
from .source import Source

if TYPE_CHECKING:
    from .lexer import Statement


__all__ = ["Assembler", "Item", "Section", "assemble", "assemble_text"]


@dataclass
class Item:
    """One assembled word; ``instruction`` is ``None`` and ``values`` is empty for a raw word that
    is not a legal instruction. ``place`` is ``None`` in a disassembly."""

    instruction: Instruction | None
    values: dict[str, Any]
    word: int
    place: Place | None
    raw: bool = False


@dataclass
class Section:
    """Section of a program: contiguous words in one storage format. ``items`` are of type
    :class:`Item`, or of an ISA's own type that its ``link`` reads; ``state`` belongs to the ISA."""

    name: Hashable | None
    storage: Storage
    items: list[Any] = field(default_factory=list)
    state: dict[Any, Any] = field(default_factory=dict)


class Assembler(Source):
    """One assembly run; passed to an ISA's directives, macros and ``link``.

    Attributes
    ----------
    software : Software
    isa : Isa
    params : dict or None
    symbols : dict of str to int
    sections : dict of name to Section
        In order of first mention; ``section`` is the current one.
    state : dict
        The ISA's own.
    warnings : list of AsmWarning
    lines : dict of int to SourceLine
        Filled by :meth:`lay_out`.
    exports : bool
        Whether directives that write files do so.
    unchecked : bool
        Whether errors about the program as a whole are warnings (``.unchecked``).
    """

    def __init__(
        self, software: Software, params: Params | None = None, *, exports: bool = False
    ) -> None:
        super().__init__(software.isa.syntax, software.bulk)
        self.exports = exports
        self.software = software
        self.isa = software.isa
        self.params = params
        self.sections: dict[Hashable | None, Section] = {}
        self.state: dict[Any, Any] = {}
        self.unchecked = False
        self.warnings: list[AsmWarning] = []
        self.lines: dict[int, SourceLine] = {}
        self._directives = {d.name: d for d in software.directives}
        self.section = self.open_section(None)
        self.statement_reader = (
            software.statement_reader(self) if software.statement_reader is not None else None
        )

    # For directives, macros and link

    def open_section(self, name: Hashable | None, storage: Storage | None = None) -> Section:
        """Makes the section ``name`` current; creates it if needed."""
        if name not in self.sections:
            self.sections[name] = Section(name, storage or self.isa.storage[0])
        self.section = self.sections[name]
        return self.section

    def warn(self, place: Place, message: str) -> None:
        """Records a warning; the same text is reported once per source line."""
        if not any(w.place[:2] == place[:2] and w.message == message for w in self.warnings[-64:]):
            self.warnings.append(AsmWarning(place, message))

    def fail(self, place: Place, message: str, expected: str = "") -> NoReturn:
        """Raises an assembly error at a source location."""
        raise AsmError(message, place=place, expected=expected)

    def emit(self, mnemonic: str, values: dict[str, int], place: Place) -> None:
        """Appends an instruction given by its values, with the checks of a written one."""
        entries = self.isa.mnemonics[self.isa.fold(mnemonic)]
        entry = next(e for e in entries if set(values) <= set(e.by_name))
        self._emit(entry, dict(values), {}, place)

    def emit_word(self, word: int, place: Place) -> None:
        """Appends a raw word, legal or not."""
        try:
            stored = self.section.storage.raw(word)
        except ValueError as error:
            raise AsmError(str(error), place=place) from None
        loaded = self.section.storage.load(stored)
        assert loaded is not None, "a stored word is whole"
        decoded = self.isa.decode(loaded[0], self.params)
        instruction, values = (
            (decoded.instruction, decoded.values) if decoded.fault is None else (None, {})
        )
        self.section.items.append(Item(instruction, values, word, place, raw=True))

    def lay_out(self, section: Section, base: int = 0) -> bytes:
        """Encodes ``section`` for offset ``base`` of the image, and records its source lines."""
        pieces, storage = [], section.storage
        for item in section.items:
            try:
                piece = storage.raw(item.word) if item.raw else storage.store(item.word)
            except ValueError as error:
                raise AsmError(str(error), place=item.place) from None
            pieces.append(piece)
            if item.place is not None:
                self.lines[base] = SourceLine(item.place.file, item.place.line)
            base += len(piece)
        return b"".join(pieces)

    # Statements

    def execute(self, statement: Statement) -> None:
        """Assembles one statement: a directive, an instruction or a macro."""
        cursor = Cursor(statement, self.symbols, assembler=self)
        first = statement.tokens[0]
        if first.kind == "bulk":
            assert self.bulk is not None, "only a bulk reader makes such tokens"
            self.bulk().emit(self, first.value, Place(statement.file, first.line, first.column))
            return
        if first.kind == "name" and first.text.startswith("."):
            if not self.common_directive(first.text, cursor):
                if self.statement_reader is not None:
                    self._front(first, cursor)
                else:
                    self._directive(first.text, cursor)
            return
        if self.statement_reader is not None:
            self._front(first, cursor)
            return
        name = first.text
        cursor.index = 1
        if (
            first.kind == "sign"
            and len(statement.tokens) > 1
            and statement.tokens[1].column == first.end
        ):
            name += statement.tokens[1].text
            cursor.index = 2
        self._instruction(name, cursor, Place(statement.file, first.line, first.column))

    def _front(self, first, cursor):
        cursor.index = 1
        self.statement_reader.statement(
            first.text, cursor, Place(cursor.statement.file, first.line, first.column)
        )

    def _directive(self, name, cursor):
        if name == ".word":
            cursor.index = 1
            place = cursor.place
            if cursor.at_end:
                cursor.fail("the word is missing", expected=".word EXPRESSION")
            word = cursor.expression()
            cursor.expect_end()
            self.emit_word(word, place)
        elif name == ".unchecked":
            cursor.index = 1
            cursor.expect_end()
            self.unchecked = True
        elif name in self._directives:
            cursor.index = 1
            self._directives[name].handle(self, cursor)
            cursor.expect_end()
        else:
            names = sorted([*self.COMMON, ".unchecked", ".word", *self._directives])
            cursor.fail(f"unknown directive '{name}'", expected=", ".join(names))

    def _instruction(self, name, cursor, place):
        isa = self.isa
        letters, entries = "", isa.mnemonics.get(isa.fold(name))
        if entries is None and "." in name:
            stem, letters = name.split(".", 1)
            entries = isa.mnemonics.get(isa.fold(stem))
            if entries is not None and not any(e.flags for e in entries):
                cursor.fail(
                    f"flag '{letters[:1]}' is not allowed on {isa.fold(stem)}",
                    place=place._replace(column=place.column + len(stem) + 1),
                    expected="no flags",
                )
            name = stem
        if entries is None:
            known = sorted(isa.mnemonics)
            close = (
                difflib.get_close_matches(isa.fold(name), known, 4) if len(known) > 16 else known
            )
            cursor.fail(
                f"unknown mnemonic '{name}'", place=place, expected=", ".join(close or known)
            )
        dotted = place.column + len(name) < self._end(cursor)
        flags = self._flags(name, letters, entries, place) if dotted else {}
        furthest, begin = None, cursor.index
        for entry in entries:
            cursor.index = begin
            try:
                values, places = read_operands(entry, cursor, named=isa.syntax.named)
            except AsmError as error:
                if furthest is None or error.position > furthest.position:
                    furthest = error
                continue
            values.update(flags)
            self._emit(entry, values, places, place)
            return
        raise furthest

    @staticmethod
    def _end(cursor):
        """Column after the mnemonic's token, flags and dot included."""
        return cursor.statement.tokens[cursor.index - 1].end

    def _flags(self, name, letters, entries, place):
        known = {self.isa.fold(f.flag): f for e in entries for f in e.flags}
        choice = ", ".join(known)
        if not letters:
            raise AsmError(
                "no flags after '.'",
                place=place._replace(column=place.column + len(name)),
                expected=f"letters of {choice}",
            )
        flags = {}
        for k, letter in enumerate(letters):
            if self.isa.fold(letter) not in known:
                raise AsmError(
                    f"flag '{letter}' is not allowed on {self.isa.fold(name)}",
                    place=place._replace(column=place.column + len(name) + 1 + k),
                    expected=choice,
                )
            flags[known[self.isa.fold(letter)].name] = 1
        return flags

    def _emit(self, entry, values, places, place):
        for f in entry.fields:
            if f.name not in values:
                values[f.name] = 0 if f.flag else f.default
            value = values[f.name]
            if value not in f.written:
                raise AsmError(
                    f"{f.title} of {entry.mnemonic} is {_shown(value)}",
                    expected=f.expected,
                    place=places.get(f.name, place),
                )
        exists = isinstance(entry, Macro) or built(self.params, entry.only_if)
        for rule in entry.rules if exists else ():
            if rule.check(values, self.params) is not None:
                text, where = rule.text(values, self.params), places.get(rule.field, place)
                if rule.severity == "error":
                    raise AsmError(text, place=where)
                self.warn(where, text)
        if isinstance(entry, Macro):
            for mnemonic, inner in entry.expand(values, self):
                self.emit(mnemonic, inner, place)
            return
        self._warn_unbuilt(entry, values, place, exists)
        self.section.items.append(Item(entry, values, self.isa.pack(entry, values), place))

    def _warn_unbuilt(self, entry, values, place, exists):
        if not exists:
            then = (
                f"it acts as {entry.unbuilt}" if entry.unbuilt else f"fault {self.isa.opcode_fault}"
            )
            self.warn(place, f"{entry.mnemonic} is not built with these parameters: {then}")
            return
        for f in entry.fields:
            if f.only_if and values[f.name] and not built(self.params, f.only_if):
                then = (
                    "it is ignored" if f.unbuilt == "ignored" else f"fault {self.isa.field_fault}"
                )
                what = f"flag {f.flag}" if f.flag else f.title
                self.warn(
                    place, f"{what} of {entry.mnemonic} is not built with these parameters: {then}"
                )

    # The end

    def finish(self) -> Program:
        """Finishes the run and returns the :class:`Program`."""
        extra = self.statement_reader.finish() if self.statement_reader is not None else {}
        items = [item for section in self.sections.values() for item in section.items]
        if self.software.lint is not None:
            for index, message, *severity in self.software.lint(items, self.params):
                place = self.last_place if index is None else items[index].place
                if severity == ["error"] and not self.unchecked:
                    raise AsmError(message, place=place)
                self.warn(place, message)
        if self.software.link is not None:
            data = self.software.link(self)
        else:
            data = b""
            for section in self.sections.values():
                data += self.lay_out(section, len(data))
        return Program(
            data, sorted(self.warnings, key=lambda w: self.order(w.place)), self.lines, extra
        )


def _shown(value):
    return number_text(value) if isinstance(value, int) else str(value)


def assemble(
    software: Software, path: str | Path, params: Params | None = None, *, exports: bool = False
) -> Program:
    """Assembles a source file.

    Parameters
    ----------
    software : Software
    path : str or Path
    params : dict, optional
        Build parameters (``ParameterSpace.resolve``) that sizes are checked against; ``None``
        checks encodings alone.
    exports : bool
        Whether directives that write files do so.

    Returns
    -------
    Program
        Complete, or nothing: every error is raised before there is any output.

    Raises
    ------
    AsmError
        The first error, with file, line and column.
    """
    assembler = Assembler(software, params, exports=exports)
    assembler.read_file(Path(path), shown=str(path))
    if assembler.empty:
        raise AsmError("the source is empty", file=path, expected="at least one instruction")
    program = assembler.finish()
    if not program.data:
        raise AsmError(
            "the source has no instruction", place=assembler.last_place, expected="at least one"
        )
    return program


def assemble_text(
    software: Software,
    text: str,
    name: str = "<text>",
    params: Params | None = None,
    *,
    exports: bool = False,
) -> Program:
    """Assembles ``text``, which messages call ``name``; otherwise like :func:`assemble`. Includes
    are relative to the current folder."""
    assembler = Assembler(software, params, exports=exports)
    assembler.read_text(text, name)
    return assembler.finish()
