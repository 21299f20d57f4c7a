# SPDX-License-Identifier: BSD-2-Clause
"""Operand forms of PIM: selection of the operands to which an offset applies (specification,
section 3.5). Pure Python."""

from dataclasses import dataclass

from ...isa.asm.cursor import Cursor
from ...isa.instruction import Field, Form

__all__ = ["SELECTS", "Select", "select_text"]

#: Letters of the select bits, bit 0 first: rd, rs1, rs2.
SELECTS = "d12"


def select_text(value: int) -> str:
    """Letters of a value of ``offset_select``."""
    return "".join(letter for bit, letter in enumerate(SELECTS) if value >> bit & 1)


@dataclass(frozen=True)
class Select(Form):
    """Operand form of ``offset_select``: one or more of the letters ``d``, ``1``, ``2``, each at
    most once and only for operands that the instruction has; ``ignored`` letters have no effect."""

    letters: str = SELECTS
    ignored: str = ""

    def parse(self, cursor: Cursor, field: Field) -> int:
        token, place = cursor.token, cursor.place
        assert token is not None, "an operand is there"
        text = token.text
        value = 0
        for letter in text:
            bit = SELECTS.find(letter)
            if letter not in self.letters or value >> bit & 1:
                value = 0
                break
            value |= 1 << bit
        if not value:
            cursor.fail(
                f"'{text}' selects no operands",
                place=place,
                expected=f"one or more of {', '.join(self.letters)}, as in @8:{self.letters}",
            )
        cursor.advance()
        return value

    def format(self, value: int) -> str:
        return select_text(value)
