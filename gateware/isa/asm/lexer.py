# SPDX-License-Identifier: BSD-2-Clause
"""Lexer of the assembler: splits source text into statements of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..software import BulkReader
from ..table import Syntax
from .errors import AsmError, Place

__all__ = ["Statement", "Token", "statements"]

_TOKEN = re.compile(
    r"""
    (?P<float>\d[\d_]*(?:\.[\d_]*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?!\w))
  | (?P<number>\d\w*)
  | (?P<name>\.?[A-Za-z_][\w.]*)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<sign><<|>>|\S)
""",
    re.VERBOSE | re.ASCII,
)

_NUMBERS = (
    (re.compile(r"0[xX]([0-9a-fA-F_]+)", re.ASCII), 16),
    (re.compile(r"0[bB]([01_]+)", re.ASCII), 2),
    (re.compile(r"0[oO]([0-7_]+)", re.ASCII), 8),
    (re.compile(r"([0-9][0-9_]*)", re.ASCII), 10),
)

# Python converts no longer decimals, and no word is that wide.
_LONGEST_NUMBER = 4000


class Token(NamedTuple):
    """A token of the source. ``kind`` is ``float``, ``number``, ``name``, ``string`` or ``sign``; a
    bad number has ``value`` ``None``.

    A run of lines that an ISA read at once (``Software.bulk``) is one token of kind ``bulk``."""

    kind: str
    text: str
    line: int
    column: int
    value: Any = None

    @property
    def end(self) -> int:
        """Column after the token."""
        return self.column + len(self.text)


class Statement(NamedTuple):
    """The tokens of one statement (at least one) with their file; ``end`` is the location after the
    last."""

    file: str
    tokens: tuple[Token, ...]
    end: tuple[int, int]


def _number(text):
    if len(text) <= _LONGEST_NUMBER:
        for pattern, base in _NUMBERS:
            match = pattern.fullmatch(text)
            if match and match.group(1).strip("_"):
                return int(match.group(1).replace("_", ""), base)
    return None


def _tokens(text, line, comments):
    position, found = 0, []
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        if text.startswith(comments, position):
            break
        match = _TOKEN.match(text, position)
        kind, piece, value = match.lastgroup, match.group(), None
        if kind == "number":
            value = _number(piece)
        elif kind == "float":
            value = float(piece.replace("_", ""))
        elif kind == "string":
            value = re.sub(r"\\(.)", r"\1", piece[1:-1])
        found.append(Token(kind, piece, line, position + 1, value))
        position = match.end()
    return found


def statements(
    text: str, file: str, syntax: Syntax, bulk: Callable[[], BulkReader] | None = None
) -> list[Statement]:
    """Splits ``text`` into a list of :class:`Statement`; ``bulk``: see ``Software``.

    Raises
    ------
    AsmError
        A bracket that is still open at the end of the file (where an open bracket carries on to the
        next line).
    """
    found: list[Statement] = []
    held: list[Token] = []
    depth, opened = 0, None
    lines = text.split("\n")
    reader, single = (bulk() if bulk is not None else None), 0
    number = 0
    while number < len(lines):
        if reader is not None and not depth and number >= single:
            value, count = reader.read(lines, number)
            if value is not None:
                found.append(
                    Statement(file, (Token("bulk", "", number + 1, 1, value),), (number + count, 1))
                )
                number += count
                continue
            single = number + count
        line, number = lines[number], number + 1
        tokens = _tokens(line, number, syntax.comments)
        if syntax.multiline:
            for token in tokens:
                if token.kind == "sign" and token.text in "([{":
                    opened = opened if depth else token
                    depth += 1
                elif token.kind == "sign" and token.text in ")]}":
                    depth = max(0, depth - 1)
        held += tokens
        if held and not depth:
            found.append(Statement(file, tuple(held), (held[-1].line, held[-1].end)))
            held = []
    if held and opened is not None:
        raise AsmError(
            f"'{opened.text}' is never closed", place=Place(file, opened.line, opened.column)
        )
    return found
