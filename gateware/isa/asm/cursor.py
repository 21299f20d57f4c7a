# SPDX-License-Identifier: BSD-2-Clause
"""Token cursor of the assembler: reads the operands and expressions of one statement. Operand forms
and directives of an ISA receive one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from quintet.gateware.isa.instruction import number_text

from .errors import AsmError, Place

if TYPE_CHECKING:
    from .assembler import Assembler
    from .lexer import Statement, Token


__all__ = ["Cursor"]

# Values are exact and may be wide, but not so wide that `1 << (1 << 40)` takes the machine's
# memory.
_WIDEST = 1 << 13
_DEEPEST = 100

_LEVELS = (("|",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))


class Cursor:
    """Reads the tokens of one statement from left to right.

    Attributes
    ----------
    symbols : dict
        Constants by name.
    assembler : Assembler
        Whose ``state`` holds what an ISA's directives declared.
    """

    def __init__(
        self,
        statement: Statement,
        symbols: dict[str, int],
        index: int = 0,
        assembler: Assembler | None = None,
    ) -> None:
        self.statement = statement
        self.symbols = symbols
        self.index = index
        self.assembler = assembler
        self._depth = 0

    # Tokens

    @property
    def token(self) -> Token | None:
        """The next token, or ``None`` at the end."""
        tokens = self.statement.tokens
        return tokens[self.index] if self.index < len(tokens) else None

    @property
    def at_end(self) -> bool:
        """Whether all tokens of the statement have been read."""
        return self.index >= len(self.statement.tokens)

    @property
    def place(self) -> Place:
        """Location of the next token, or of the end after the last one."""
        token = self.token
        return Place(
            self.statement.file, *((token.line, token.column) if token else self.statement.end)
        )

    def shown(self) -> str:
        """Next token as quoted in messages."""
        token = self.token
        return "end of line" if token is None else f"'{token.text}'"

    def fail(self, message: str, *, expected: str = "", place: Place | None = None) -> NoReturn:
        """Raises :class:`AsmError` at the next token."""
        raise AsmError(message, place=place or self.place, expected=expected)

    def advance(self) -> Token:
        """Moves past the next token, which must exist, and returns it."""
        token = self.statement.tokens[self.index]
        self.index += 1
        return token

    def accept(self, text: str) -> bool:
        """Moves past the next token if it reads ``text``."""
        token = self.token
        if token is not None and token.text == text and token.kind != "string":
            self.index += 1
            return True
        return False

    def expect(self, text: str, expected: str = "") -> None:
        """Moves past the next token, which must read ``text``; else raises :class:`AsmError`."""
        if not self.accept(text):
            self.fail(f"unexpected {self.shown()}", expected=expected or f"'{text}'")

    def expect_end(self, expected: str = "end of line") -> None:
        """Raises :class:`AsmError` unless all tokens are read."""
        if not self.at_end:
            self.fail(f"unexpected {self.shown()}", expected=expected)

    def peek_name(self) -> str | None:
        """The next token's text if it is a name."""
        token = self.token
        return token.text if token is not None and token.kind == "name" else None

    def at_number(self) -> bool:
        """Whether the next token is a number."""
        return self.token is not None and self.token.kind == "number"

    def name(self, what: str = "a name") -> str:
        """Reads a name without dots."""
        word = self.peek_name()
        if word is None or "." in word:
            self.fail(f"unexpected {self.shown()}", expected=what)
        self.index += 1
        return word

    def string(self, what: str = 'a "string"') -> str:
        """Reads a quoted string token."""
        token = self.token
        if token is None or token.kind != "string":
            self.fail(f"unexpected {self.shown()}", expected=what)
        self.index += 1
        return token.value

    def is_symbol(self, name: str) -> bool:
        """Whether ``name`` is a defined constant."""
        return name in self.symbols

    def take_prefixed(self, prefix: str) -> int | None:
        """Reads ``prefix`` and a decimal number written together (``$a12``); returns ``None`` and
        reads nothing if they are not there."""
        tokens, text, index = self.statement.tokens, "", self.index
        while index < len(tokens) and (not text or tokens[index].column == tokens[index - 1].end):
            text += tokens[index].text
            index += 1
            if len(text) > len(prefix):
                break
        match = re.fullmatch(re.escape(prefix) + "([0-9]{1,9})", text)
        if match is None:
            return None
        self.index = index
        return int(match.group(1))

    # Expressions

    def expression(self) -> int:
        """Reads an integer expression: ``+ - * / % << >> & | ( )``, ``/`` exact, ``%`` with the
        divisor's sign."""
        return self._level(0)

    def tight_expression(self) -> int:
        """Reads an expression that ends at a blank outside parentheses, for operands that are
        separated by blanks (``4 -1``)."""
        tokens, end, depth = self.statement.tokens, self.index, 0
        while end < len(tokens) and (
            end == self.index or depth or tokens[end].column == tokens[end - 1].end
        ):
            depth += (tokens[end].text == "(") - (tokens[end].text == ")")
            end += 1
        rest = (tokens[end].line, tokens[end].column) if end < len(tokens) else self.statement.end
        inner = Cursor(
            self.statement._replace(tokens=tokens[:end], end=rest),
            self.symbols,
            self.index,
            self.assembler,
        )
        value = inner.expression()
        inner.expect_end(expected="a blank or the end of the line")
        self.index = end
        return value

    def _level(self, level):
        if level == len(_LEVELS):
            return self._unary()
        value = self._level(level + 1)
        while (
            (token := self.token) is not None
            and token.kind == "sign"
            and token.text in _LEVELS[level]
        ):
            place = self.place
            self.index += 1
            value = self._apply(token.text, value, self._level(level + 1), place)
        return value

    def _apply(self, sign, left, right, place):
        if sign in "/%" and right == 0:
            self.fail(f"'{sign}' by zero", place=place)
        if sign == "/" and left % right:
            self.fail(
                f"{number_text(left)} / {number_text(right)} is not a whole number",
                place=place,
                expected="an exact division",
            )
        if sign in ("<<", ">>"):
            if right < 0:
                self.fail(f"shift by {number_text(right)}", place=place, expected="0 or more")
            if sign == ">>":
                return left >> min(right, _WIDEST)
            if left and right > _WIDEST:
                self.fail("value too wide", place=place, expected=f"at most {_WIDEST} bits")
        value = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right,
            "%": lambda: left % right,
            "<<": lambda: left << right if left else 0,
            "&": lambda: left & right,
            "|": lambda: left | right,
        }[sign]()
        if value.bit_length() > _WIDEST:
            self.fail("value too wide", place=place, expected=f"at most {_WIDEST} bits")
        return value

    def _unary(self):
        negative, begin = False, self.place
        while self.token is not None and self.token.kind == "sign" and self.token.text in "+-":
            negative ^= self.advance().text == "-"
        token = self.token
        if token is not None and token.kind == "number":
            if token.value is None:
                self.fail(
                    f"bad number '{token.text[:40]}'", expected="decimal, 0x, 0o or 0b digits"
                )
            self.index += 1
            value = token.value
        elif token is not None and token.kind == "name":
            if token.text not in self.symbols:
                self.fail(
                    f"unknown name '{token.text}'",
                    expected="a number or a name defined before by .equ",
                )
            self.index += 1
            value = self.symbols[token.text]
        elif self.accept("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                self.fail(
                    "parentheses nested too deeply",
                    place=begin,
                    expected=f"at most {_DEEPEST} levels",
                )
            value = self._level(0)
            self.expect(")")
            self._depth -= 1
        else:
            self.fail(f"unexpected {self.shown()}", expected="a number")
        return -value if negative else value
