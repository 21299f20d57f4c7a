# SPDX-License-Identifier: BSD-2-Clause
"""Result and error of the readers of ISA-specific program files (``FileForm.read`` in
``software.py``). Pure Python."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["FormError", "ProgramFile"]


@dataclass(frozen=True)
class ProgramFile:
    """A program read from an ISA-specific program file.

    Attributes
    ----------
    data : bytes, as they lie at ``program_at``
    lines : dict, byte offset of an instruction -> line of the file, where lines mean something
    extra : dict, whatever the ISA adds
    """

    data: bytes
    lines: dict[int, int] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


class FormError(ValueError):
    """Error in a program file: ``message``, ``expected``, and ``line`` and ``column`` from 1, or
    ``None``. The caller adds the file's name."""

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, expected: str = ""
    ) -> None:
        self.message, self.line, self.column, self.expected = message, line, column, expected
        super().__init__(message + (f", expected {expected}" if expected else ""))
