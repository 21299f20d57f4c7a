# SPDX-License-Identifier: BSD-2-Clause
"""Statements of microprogram source, and their parser. Pure Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["MicrocodeError", "Statement", "statements"]


class MicrocodeError(ValueError):
    """Error in a microprogram statement; the message begins with its part and line."""


@dataclass
class Statement:
    """One statement of a microprogram: its labels, words and location; once assembled, also its
    ``address`` and ``fields``."""

    part: str
    line: int
    labels: list[str]
    words: list[str]
    address: int | None = None
    fields: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return repr(" ".join(self.words))

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def error(self, message: str) -> MicrocodeError:
        """Builds the error for this statement."""
        return MicrocodeError(f"{self.part}, line {self.line}: {message}")

    def number(
        self, text: str, what: str, values: range | None = None, names: Iterable[str] = ()
    ) -> int:
        """Parses a number in any Python notation; ``values``: legal range; ``names``: symbols that
        may replace it."""
        try:
            value = int(text, 0)
        except ValueError:
            raise self.error(
                f"{text!r} in {self} is no {what.lower()}, expected "
                f"{' or '.join(['a number', *names])}"
            ) from None
        if values is not None and value not in values:
            raise self.error(
                f"{what.capitalize()} in {self} is not from {values[0]} to {values[-1]}"
            )
        return value

    def filled(self, text: str) -> Statement:
        """Statement with the words ``text`` at the same location, to fill a gap before this one."""
        return replace(self, labels=[], words=text.split())


def statements(parts: Mapping[str, str]) -> Iterator[Statement]:
    """Parses ``parts``, name -> text, into :class:`Statement` objects. Lines and ``;`` end a
    statement, ``//`` begins a comment, ``name:`` is a label."""
    for part, text in parts.items():
        labels = []
        for line, content in enumerate(text.splitlines(), 1):
            for words in map(str.split, content.partition("//")[0].split(";")):
                while words and words[0].endswith(":"):
                    labels.append(words.pop(0)[:-1])
                    if not labels[-1].isidentifier():
                        raise MicrocodeError(
                            f"{part}, line {line}: {labels[-1]!r} is no label, expected a name"
                        )
                if words:
                    yield Statement(part, line, labels, words)
                    labels = []
        if labels:
            raise MicrocodeError(f"{part}, line {line}: Label {labels[0]} names no statement")
