# SPDX-License-Identifier: BSD-2-Clause
"""Operand types of micro-instructions. Pure Python.

``read(word, program, statement)`` of each gives the fields that the word sets.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from .program import Microprogram
from .statement import Statement

__all__ = ["Choice", "Label", "Number", "Register"]


@dataclass(frozen=True)
class Register:
    """Register operand, whose number goes to ``field``: ``NAME``, ``NAME.2``, ``NAME+X`` of an
    array (which also sets ``indexed``), or ``#n``.

    ``written``: takes a result, and is no constant. ``immediate``: constants below ``limit`` are
    values of the field, with ``immediate`` set.
    """

    field: str
    indexed: dict[str, int] | None = None
    written: bool = False
    limit: int = 0
    immediate: dict[str, int] = dataclasses.field(default_factory=dict)

    def read(self, word: str, program: Microprogram, statement: Statement) -> dict[str, int]:
        if word.startswith("#"):
            value = statement.number(word[1:], "constant") & 0xFFFF_FFFF
            if self.written:
                raise statement.error(
                    f"Nothing can be stored in {statement}: {word!r} is a constant, expected a "
                    f"register"
                )
            if value < self.limit:
                return self.immediate | {self.field: value | self.immediate.get(self.field, 0)}
            return {self.field: program.file.number(f"#{value}", statement)}
        name, indexed, _ = word.partition("+X")
        if indexed and self.indexed is not None:
            return self.indexed | {
                self.field: program.file.entry(name, 0, statement) | self.indexed.get(self.field, 0)
            }
        name, dot, entry = word.partition(".")
        if dot:
            return {
                self.field: program.file.entry(name, statement.number(entry, "entry"), statement)
            }
        if not word.isidentifier():
            raise statement.error(
                f"{word!r} in {statement} is no register's name, expected NAME, "
                f"NAME.n{', NAME+X' * bool(self.indexed)} or #n"
            )
        return {self.field: program.file.number(word, statement, self.written)}


@dataclass(frozen=True)
class Choice:
    """Symbolic operand: a member of ``names``, an enumeration or a dict name -> number, or name ->
    dict of fields if several are set.

    ``several``: some of them, separated by commas. ``argument``: ``NAME:n`` puts n this many bits
    above.
    """

    field: str
    names: Any
    several: bool = False
    argument: int | None = None

    def read(self, word: str, program: Microprogram, statement: Statement) -> dict[str, int]:
        names = getattr(self.names, "__members__", self.names)
        word, colon, argument = word.partition(":") if self.argument is not None else (word, "", "")
        found = {}
        if self.argument is not None and colon:
            found[self.field] = statement.number(argument, "argument") << self.argument
        chosen = word.split(",") if self.several else [word]
        for name in chosen:
            if chosen.count(name) > 1:
                raise statement.error(
                    f"{name} stands twice in {statement}, expected each name once"
                )
            if name not in names:
                raise statement.error(
                    f"Nothing is called {name!r} for {statement}, expected one of "
                    f"{', '.join(names)}"
                )
            value = names[name]
            for key, part in (value if isinstance(value, dict) else {self.field: value}).items():
                found[key] = found.get(key, 0) | int(part)
        return found


@dataclass(frozen=True)
class Number:
    """Numeric operand: a member of the range ``values``, or of ``names``; ``what`` names it in
    messages."""

    field: str
    what: str
    values: range
    names: dict[str, int]

    def read(self, word: str, program: Microprogram, statement: Statement) -> dict[str, int]:
        return {
            self.field: self.names[word]
            if word in self.names
            else statement.number(word, self.what, self.values, self.names)
        }


@dataclass(frozen=True)
class Label:
    """Label operand, whose address goes to ``field``."""

    field: str

    def read(self, word: str, program: Microprogram, statement: Statement) -> dict[str, int]:
        if word not in program.labels:
            raise statement.error(
                f"No label {word!r} for {statement}, expected a label of the microprogram"
            )
        return {self.field: program.labels[word]}
