# SPDX-License-Identifier: BSD-2-Clause
"""Source reader of the assembler: constants, includes and repetition, which all ISAs share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..software import BulkReader
from ..table import Syntax
from .cursor import Cursor
from .errors import AsmError, Place
from .lexer import statements
from .program import read_source

if TYPE_CHECKING:
    from .lexer import Statement


__all__ = ["Source"]

# A program of more statements than this from .rept and .include would not fit any main memory.
_MOST_STATEMENTS = 1 << 20
_MOST_INCLUDES = 10_000
_DEEPEST = 50


class Source(ABC):
    """Interpreter of a source: runs its statements in order, and the directives that all ISAs
    share."""

    COMMON = (".endr", ".equ", ".include", ".rept")

    def __init__(self, syntax: Syntax, bulk: Callable[[], BulkReader] | None = None) -> None:
        self.syntax, self.bulk = syntax, bulk
        self.symbols: dict[str, int] = {}
        self.last_place = Place("<text>", 1, 1)
        #: Place of each constant's definition.
        self._defined: dict[str, Place] = {}
        #: Files being read: (resolved path or None, name for messages).
        self._open: list[tuple[Path | None, str]] = []
        #: Statements by resolved path.
        self._parsed: dict[Path, list[Statement]] = {}
        #: Order of first mention by the name for messages.
        self._files: dict[str, int] = {}
        self._repeats = 0  # depth of .rept
        self._copied = 0  # statements executed beyond those written once
        self._included = 0

    @abstractmethod
    def execute(self, statement: Statement) -> None:
        """Executes a statement other than the common directives."""

    # Files

    @property
    def empty(self) -> bool:
        """Whether the files read so far contain no statement."""
        return not any(self._parsed.values())

    @property
    def folder(self) -> Path:
        """Folder to which relative names in the current statement refer."""
        path = self._open[-1][0] if self._open else None
        return path.parent if path is not None else Path()

    def order(self, place: Place) -> tuple[int, ...]:
        """Sort key of a location: files in order of first mention."""
        return self._files.get(place.file, 0), place.line, place.column

    def read_file(self, path: Path, shown: str) -> None:
        """Executes the statements of a file, called ``shown`` in messages."""
        resolved = _resolved(path)
        again = resolved in self._parsed
        if not again:
            self._parsed[resolved] = statements(read_source(path), shown, self.syntax, self.bulk)
        self._run_file(resolved, shown, self._parsed[resolved], again)

    def read_text(self, text: str, name: str) -> None:
        """Executes the statements of ``text``, called ``name`` in messages."""
        self._run_file(
            None, name, statements(text.replace("\r\n", "\n"), name, self.syntax, self.bulk), False
        )

    def _run_file(self, resolved, shown, body, again):
        self._files.setdefault(shown, len(self._files))
        if not self._open:
            self.last_place = Place(shown, *(body[-1].end if body else (1, 1)))
        self._open.append((resolved, shown))
        self._repeats += again
        self._run(body)
        self._repeats -= again
        self._open.pop()

    # Statements

    def _run(self, body):
        index = 0
        while index < len(body):
            statement = body[index]
            if self._repeats:
                self._count(statement)
            word = statement.tokens[0].text
            if word == ".rept":
                end = _matching_end(body, index)
                self._repeat(statement, body[index + 1 : end])
                index = end
            else:
                self.execute(statement)
            index += 1

    def _count(self, statement):
        first = statement.tokens[0]
        self._copied += statement.end[0] - first.line + 1 if first.kind == "bulk" else 1
        if self._copied > _MOST_STATEMENTS:
            raise AsmError(
                "the program is too long",
                place=_begin(statement),
                expected=f"at most {_MOST_STATEMENTS} statements from .rept and repeated .include",
            )

    def common_directive(self, name: str, cursor: Cursor) -> bool:
        """Executes ``.equ`` or ``.include``; returns ``False`` for any other directive."""
        if name == ".equ":
            cursor.index = 1
            self._equ(cursor)
        elif name == ".include":
            cursor.index = 1
            self._include(cursor)
        elif name == ".endr":
            cursor.fail(".endr without .rept")
        else:
            return False
        return True

    def define(self, name: str, value: int, place: Place) -> None:
        """Defines a constant; raises an error for a second definition."""
        if name in self.symbols:
            where = self._defined.get(name)
            raise AsmError(
                f"'{name}' is already defined"
                + (f" at {where.file}:{where.line}" if where else ""),
                place=place,
                expected="another name",
            )
        self.symbols[name] = value
        self._defined[name] = place

    def _equ(self, cursor):
        place = cursor.place
        name = cursor.name("a name, as in .equ NAME, EXPRESSION")
        cursor.accept(",")
        if cursor.at_end:
            cursor.fail(f"the value of '{name}' is missing", expected=".equ NAME, EXPRESSION")
        value = cursor.expression()
        cursor.expect_end()
        self.define(name, value, place)

    def _include(self, cursor):
        place = cursor.place
        name = cursor.string('a file name, as in .include "FILE"')
        cursor.expect_end()
        if "\0" in name:
            raise AsmError("the name of a file holds a NUL", place=place)
        path = self.folder / name
        resolved = _resolved(path)
        if any(resolved == opened for opened, _ in self._open):
            chain = " -> ".join([shown for _, shown in self._open] + [str(path)])
            raise AsmError(f"'{name}' includes itself ({chain})", place=place)
        if len(self._open) >= _DEEPEST:
            raise AsmError(
                "includes nested too deeply", place=place, expected=f"at most {_DEEPEST} levels"
            )
        self._included += 1
        if self._included > _MOST_INCLUDES:
            raise AsmError("too many includes", place=place, expected=f"at most {_MOST_INCLUDES}")
        if not path.is_file():
            raise AsmError(f"there is no file '{path}'", place=place)
        self.read_file(path, shown=str(path))

    def _repeat(self, statement, body):
        cursor = Cursor(statement, self.symbols, 1)
        place = cursor.place
        if cursor.at_end:
            cursor.fail("the count is missing", expected=".rept COUNT[, NAME]")
        count, name = cursor.expression(), None
        if cursor.accept(","):
            name_place = cursor.place
            name = cursor.name("a name, as in .rept COUNT, NAME")
        cursor.expect_end()
        if not 0 <= count <= _MOST_STATEMENTS:
            cursor.fail(
                f"count of .rept is {count if abs(count) < 1 << 64 else 'too large'}",
                place=place,
                expected=f"0 to {_MOST_STATEMENTS}",
            )
        if self._repeats >= _DEEPEST:
            cursor.fail(
                ".rept nested too deeply",
                place=_begin(statement),
                expected=f"at most {_DEEPEST} levels",
            )
        if name is not None:
            self.define(name, 0, name_place)
        self._repeats += 1
        for turn in range(count):
            self._count(statement)
            if name is not None:
                self.symbols[name] = turn
            self._run(body)
        self._repeats -= 1
        if name is not None:
            del self.symbols[name], self._defined[name]


def _resolved(path):
    # Unlike Path.resolve, this takes links in a circle as they stand: reading them fails.
    return Path(os.path.realpath(path))


def _begin(statement):
    return Place(statement.file, statement.tokens[0].line, statement.tokens[0].column)


def _matching_end(body, index):
    depth = 0
    for k in range(index, len(body)):
        word = body[k].tokens[0].text
        depth += (word == ".rept") - (word == ".endr")
        if depth == 0:
            if len(body[k].tokens) > 1:
                token = body[k].tokens[1]
                raise AsmError(
                    f"unexpected '{token.text}'",
                    place=Place(body[k].file, token.line, token.column),
                    expected="end of line",
                )
            return k
    raise AsmError(".rept is never closed", place=_begin(body[index]), expected=".endr")
