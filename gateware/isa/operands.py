# SPDX-License-Identifier: BSD-2-Clause
"""Codings and forms of instruction fields: conversion of values to bits and to assembly text. Pure
Python.

A *coding* maps the value a programmer means to the bits of the field and back (256 is coded 0, 64
channels are coded 6). A *form* maps the text of an operand to that value and back (``norm``,
``$5``, ``0x1f``). Both are small frozen objects, so that an ISA's table stays declarative; an ISA
with an unusual coding brings a class of its own with the same methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .asm.cursor import Cursor
    from .instruction import Field


__all__ = [
    "Coding",
    "Either",
    "Form",
    "Log2",
    "Modulo",
    "Named",
    "Number",
    "Prefixed",
    "Signed",
    "number_text",
]


def number_text(value: int) -> str:
    """Formats ``value`` for a message: decimal as long as it is readable, hexadecimal above 64
    bits."""
    return str(value) if abs(value) < 1 << 64 else f"{value:#x}"


@dataclass(frozen=True)
class Coding:
    """Unsigned coding: the bits are the value. Base class of all codings."""

    def values(self, width: int) -> range | tuple[int, ...]:
        """All values that ``width`` bits can hold, as a ``range`` or a sorted tuple."""
        return range(1 << width)

    def encode(self, value: int, width: int) -> int:
        """Encodes ``value``, a member of :meth:`values`, as bits."""
        return value & ((1 << width) - 1)

    def decode(self, bits: int, width: int) -> int | None:
        """Decodes ``bits``; ``None`` if they are undefined."""
        return bits


@dataclass(frozen=True)
class Signed(Coding):
    """Two's-complement coding."""

    def values(self, width: int) -> range:
        return range(-(1 << width - 1), 1 << width - 1)

    def decode(self, bits: int, width: int) -> int:
        return bits - (bits >> width - 1 << width)


@dataclass(frozen=True)
class Either(Signed):
    """Two's-complement coding that also accepts unsigned values of the same bits (``-1`` or
    ``0xffffffff``)."""

    def values(self, width: int) -> range:
        return range(-(1 << width - 1), 1 << width)


@dataclass(frozen=True)
class Modulo(Coding):
    """Modulo coding: 1 to ``size``, with ``size`` itself coded as 0."""

    size: int

    def values(self, width: int) -> range:
        return range(1, self.size + 1)

    def encode(self, value: int, width: int) -> int:
        return value % self.size

    def decode(self, bits: int, width: int) -> int:
        return bits or self.size


@dataclass(frozen=True)
class Log2(Coding):
    """Logarithmic coding: powers of two from ``2**low`` to ``2**high``, coded as their
    logarithm."""

    low: int
    high: int

    def values(self, width: int) -> tuple[int, ...]:
        return tuple(1 << k for k in range(self.low, self.high + 1))

    def encode(self, value: int, width: int) -> int:
        return value.bit_length() - 1

    def decode(self, bits: int, width: int) -> int | None:
        return 1 << bits if self.low <= bits <= self.high else None


@dataclass(frozen=True)
class Form:
    """Assembly form of an operand: an expression, unless a subclass overrides it. ``cursor`` is the
    assembler's position in the statement (``gateware/isa/asm/cursor.py``).

    ``commas`` of a class says that its text may hold commas, so that operands cannot be counted by
    them.
    """

    commas = False

    def parse(self, cursor: Cursor, field: Field) -> int:
        """Parses the value at ``cursor``, which moves past it."""
        return cursor.expression()

    def format(self, value: int) -> str:
        """Formats ``value`` canonically."""
        return str(value)


@dataclass(frozen=True)
class Number(Form):
    """Numeric operand: an integer expression, printed in base 10 or 16."""

    base: int = 10

    def format(self, value: int) -> str:
        return f"{value:#x}" if self.base == 16 else str(value)


@dataclass(frozen=True)
class Prefixed(Form):
    """Numbered operand: ``prefix`` (``$`` or ``$a``) and a decimal number, written together."""

    prefix: str

    def parse(self, cursor: Cursor, field: Field) -> int:
        number = cursor.take_prefixed(self.prefix)
        if number is None:
            cursor.fail(
                f"{field.title} is written {self.prefix} and a number",
                expected=f"{self.prefix}0 for example",
            )
        return number

    def format(self, value: int) -> str:
        return f"{self.prefix}{value}"


@dataclass(frozen=True)
class Named(Form):
    """Symbolic operand: a member of a set of names.

    ``names`` are pairs (name, value), the canonical name of a value first; ``numbers`` says whether
    an expression is accepted as well, ``prefix`` (``$r``) whether a numbered form is; ``fold``
    whether case does not matter. A constant of the same name is hidden.
    """

    names: tuple[tuple[str, int], ...]
    numbers: bool = True
    fold: bool = True
    prefix: str = ""

    def parse(self, cursor: Cursor, field: Field) -> int:
        number = cursor.take_prefixed(self.prefix) if self.prefix else None
        if number is not None:
            return number
        word = cursor.peek_name()
        for name, value in self.names if word is not None else ():
            if word == name or word is not None and self.fold and word.lower() == name.lower():
                cursor.advance()
                return value
        if not self.numbers or word is not None and not cursor.is_symbol(word):
            choice = ", ".join(name for name, _ in self.names)
            cursor.fail(
                f"unknown {field.title} {cursor.shown()}",
                expected=f"one of {choice}" + (" or a number" if self.numbers else ""),
            )
        return cursor.expression()

    def format(self, value: int) -> str:
        for name, number in self.names:
            if number == value:
                return name
        return str(value)
