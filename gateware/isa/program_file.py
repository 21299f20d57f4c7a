# SPDX-License-Identifier: BSD-2-Clause
"""What a reader of an ISA's own program form gives, and how it refuses (``FileForm.read`` in
``table.py``). Pure Python."""

from dataclasses import dataclass, field

__all__ = ["FormError", "ProgramFile"]


@dataclass(frozen=True)
class ProgramFile:
    """A program that was read.

    Attributes
    ----------
    data : bytes, as they lie at ``program_at``
    lines : dict, byte offset of an instruction -> line of the file, where lines mean something
    extra : dict, whatever the ISA adds
    """

    data: bytes
    lines: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)


class FormError(ValueError):
    """A program file that is refused: ``message``, ``expected``, and ``line`` and ``column`` from
    1, or ``None``. Who reads the file for a user names it in front."""

    def __init__(self, message, line=None, column=None, expected=""):
        self.message, self.line, self.column, self.expected = message, line, column, expected
        super().__init__(message + (f", expected {expected}" if expected else ""))
