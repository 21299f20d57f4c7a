# SPDX-License-Identifier: BSD-2-Clause
"""Assembled program in the form that is loaded into main memory, and the readers of source and
binary files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quintet.gateware.isa.files import MOST_TEXT, FileError, read_bytes

from .errors import AsmError

if TYPE_CHECKING:
    from .errors import AsmWarning


__all__ = ["Program", "SourceLine", "read_program", "read_source"]


class SourceLine(NamedTuple):
    """Source position of an instruction: file and line."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class Program:
    """An assembled program: its bytes, and the source lines from which they were assembled.

    Attributes
    ----------
    data : bytes
        As it lies at ``program_at``, whole.
    warnings : list of AsmWarning
    lines : dict of int to SourceLine
        By byte offset of the instruction in ``data``; empty unless it was assembled from source.
    extra : dict
        Whatever the ISA adds.
    """

    data: bytes
    warnings: list[AsmWarning] = field(default_factory=list)
    lines: dict[int, SourceLine] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def line_at(self, offset: int) -> SourceLine | None:
        """The :class:`SourceLine` of the instruction at ``offset``, or ``None``."""
        return self.lines.get(offset)


def read_program(path: Path | str, most: int) -> bytes:
    """Reads a program file of at most ``most`` bytes; raises :class:`AsmError` if it cannot be
    read."""
    try:
        return read_bytes(path, most)
    except FileError as error:
        raise AsmError(error.trouble, file=error.path) from None


def read_source(path: str | Path) -> str:
    """Reads the text of a source file; raises :class:`AsmError` if it does not exist or is not
    UTF-8."""
    try:
        text = read_program(path, MOST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AsmError(
            f"byte {error.start} is not UTF-8 text", file=path, expected="an assembly source"
        ) from None
    return text.replace("\r\n", "\n")
