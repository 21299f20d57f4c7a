# SPDX-License-Identifier: BSD-2-Clause
"""A program as an assembler makes it and the loader writes it into main memory; sources and
binaries read whole."""

from dataclasses import dataclass, field
from typing import NamedTuple

from quintet.gateware.isa.files import MOST_TEXT, FileError, read_bytes

from .errors import AsmError

__all__ = ["Program", "SourceLine", "read_program", "read_source"]


class SourceLine(NamedTuple):
    """Where an instruction comes from."""

    file: str
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}"


@dataclass
class Program:
    """A program in its binary form.

    Attributes
    ----------
    data : bytes
        As it lies at ``program_at``, whole.
    warnings : list of AsmWarning
    lines : dict of int to SourceLine
        By byte offset of the instruction in ``data``; empty for what was not assembled from source.
    extra : dict
        Whatever the ISA adds.
    """

    data: bytes
    warnings: list = field(default_factory=list)
    lines: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)

    def line_at(self, offset):
        """The :class:`SourceLine` of the instruction at ``offset``, or ``None``."""
        return self.lines.get(offset)


def read_program(path, most):
    """The bytes of a program file of at most ``most``; raises :class:`AsmError` if it cannot be
    read."""
    try:
        return read_bytes(path, most)
    except FileError as error:
        raise AsmError(error.trouble, file=error.path) from None


def read_source(path):
    """The text of a source file; raises :class:`AsmError` if it is not there or no UTF-8."""
    try:
        text = read_program(path, MOST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AsmError(
            f"byte {error.start} is not UTF-8 text", file=path, expected="an assembly source"
        ) from None
    return text.replace("\r\n", "\n")
