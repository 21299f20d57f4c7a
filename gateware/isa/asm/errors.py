# SPDX-License-Identifier: BSD-2-Clause
"""Errors and warnings of the assembler: one line each, with file, line and column."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["AsmError", "AsmWarning", "Place"]


class Place(NamedTuple):
    """Location in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class AsmError(ValueError):
    """Error in a source or program file; its text is one line, ``file:line:column: message,
    expected ...``.

    Attributes
    ----------
    place : Place or None
    message : str
    expected : str
        The expected input; may be empty.
    """

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        expected: str = "",
        file: str | Path | None = None,
    ) -> None:
        self.message, self.place, self.expected = message, place, expected
        where = f"{place}: " if place is not None else f"{file}: " if file is not None else ""
        super().__init__(where + message + (f", expected {expected}" if expected else ""))

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, for finding the furthest of several errors; (0, 0) if unknown."""
        return (0, 0) if self.place is None else (self.place.line, self.place.column)


class AsmWarning(NamedTuple):
    """Warning about a statement that assembles but is likely a mistake; its text is one line like
    that of an error."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: warning: {self.message}"
