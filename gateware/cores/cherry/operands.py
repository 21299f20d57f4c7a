# SPDX-License-Identifier: BSD-2-Clause
"""Operand forms of Cherry: tile registers, declared loops and address units (section 3.2). Pure
Python."""

from ...isa.asm.cursor import Cursor
from ...isa.instruction import Field
from ...isa.operands import Form, Named

__all__ = ["APU", "LOOP", "TILE", "TILES", "DeclaredForm"]

#: Names of the tile registers, by number.
TILES = ("INPUT", "WEIGHTS", "OUTPUT", "ACC")
TILE = Named(
    tuple((name, k) for k, name in enumerate(TILES)), numbers=True, fold=False, prefix="$r"
)


class DeclaredForm(Form):
    """Operand form of a loop or address unit: its declared name, or its number with or without
    prefix, if that is declared.

    What is declared stands in the state of the assembler's section, by ``kind``: a dict of name ->
    number (``asm/assembly.py``). A loop may stand in parentheses.
    """

    def __init__(self, kind: str, prefix: str, what: str, brackets: bool = False) -> None:
        self.kind, self.prefix, self.what, self.brackets = kind, prefix, what, brackets

    def parse(self, cursor: Cursor, field: Field) -> int:
        """Parses the number or name at ``cursor``."""
        assert cursor.assembler is not None, "operands are read by an assembler"
        declared = cursor.assembler.section.state.get(self.kind, {})
        closing = self.brackets and cursor.accept("(")
        place = cursor.place
        number = cursor.take_prefixed(self.prefix)
        if number is None and cursor.at_number():
            number = cursor.expression()
        if number is None:
            name = cursor.name(f"{self.what}, by name or as {self.prefix}0")
            if name not in declared:
                cursor.fail(
                    f"no {self.what} is called '{name}'",
                    place=place,
                    expected=", ".join(declared) or f"one declared by .{self.kind}",
                )
            number = declared[name]
        elif number not in declared.values():
            cursor.fail(
                f"{self.prefix}{number} is not declared",
                place=place,
                expected=", ".join(f"{self.prefix}{k}" for k in sorted(declared.values()))
                or f".{self.kind} before it",
            )
        if closing:
            cursor.expect(")")
        return number

    def format(self, value: int) -> str:
        """Formats the number, which every listing declares."""
        return f"{self.prefix}{value}"


LOOP = DeclaredForm("loop", "$d", "loop", brackets=True)
APU = DeclaredForm("apu", "$a", "address unit")
