# SPDX-License-Identifier: BSD-2-Clause
"""How the value of a field is coded in its bits, and how it is written in assembly. Pure Python.

A *coding* maps the value a programmer means to the bits of the field and back (256 is coded 0, 64
channels are coded
6). A *form* maps the text of an operand to that value and back (``norm``, ``$5``, ``0x1f``). Both
are small frozen
objects, so that an ISA's table stays declarative; an ISA with a stranger habit brings a class of
its own with the same methods.
"""

from dataclasses import dataclass

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


def number_text(value):
    """``value`` for a message: decimal while a reader can still take it in, hexadecimal above 64
    bits."""
    return str(value) if abs(value) < 1 << 64 else f"{value:#x}"


@dataclass(frozen=True)
class Coding:
    """Unsigned: the value is the bits. The base of all codings."""

    def values(self, width):
        """All values that ``width`` bits can hold, as a ``range`` or a sorted tuple."""
        return range(1 << width)

    def encode(self, value, width):
        """Bits of ``value``, which is one of :meth:`values`."""
        return value & ((1 << width) - 1)

    def decode(self, bits, width):
        """The value of ``bits``; ``None`` where the bits mean nothing."""
        return bits


@dataclass(frozen=True)
class Signed(Coding):
    """Two's complement."""

    def values(self, width):
        return range(-(1 << width - 1), 1 << width - 1)

    def decode(self, bits, width):
        return bits - (bits >> width - 1 << width)


@dataclass(frozen=True)
class Either(Signed):
    """Two's complement; the unsigned reading of the same bits is taken as well (``-1`` or
    ``0xffffffff``)."""

    def values(self, width):
        return range(-(1 << width - 1), 1 << width)


@dataclass(frozen=True)
class Modulo(Coding):
    """1 to ``size``, where ``size`` itself is coded 0."""

    size: int

    def values(self, width):
        return range(1, self.size + 1)

    def encode(self, value, width):
        return value % self.size

    def decode(self, bits, width):
        return bits or self.size


@dataclass(frozen=True)
class Log2(Coding):
    """Powers of two from ``2**low`` to ``2**high``, coded as their logarithm."""

    low: int
    high: int

    def values(self, width):
        return tuple(1 << k for k in range(self.low, self.high + 1))

    def encode(self, value, width):
        return value.bit_length() - 1

    def decode(self, bits, width):
        return 1 << bits if self.low <= bits <= self.high else None


@dataclass(frozen=True)
class Form:
    """Text of an operand. ``cursor`` is the assembler's place in the statement
    (``gateware/isa/asm/cursor.py``).

    ``commas`` of a class says that its text may hold commas, so that operands cannot be counted by
    them.
    """

    commas = False

    def parse(self, cursor, field):
        """The value written at ``cursor``, which moves past it."""
        return cursor.expression()

    def format(self, value):
        """The canonical text of ``value``."""
        return str(value)


@dataclass(frozen=True)
class Number(Form):
    """An integer expression; printed in base 10 or 16."""

    base: int = 10

    def format(self, value):
        return f"{value:#x}" if self.base == 16 else str(value)


@dataclass(frozen=True)
class Prefixed(Form):
    """A numbered thing: ``prefix`` (``$`` or ``$a``) and a decimal number, written together."""

    prefix: str

    def parse(self, cursor, field):
        number = cursor.take_prefixed(self.prefix)
        if number is None:
            cursor.fail(
                f"{field.title} is written {self.prefix} and a number",
                expected=f"{self.prefix}0 for example",
            )
        return number

    def format(self, value):
        return f"{self.prefix}{value}"


@dataclass(frozen=True)
class Named(Form):
    """One of a set of names.

    ``names`` are pairs (name, value), the canonical name of a value first; ``numbers`` says whether
    an expression is taken as well, ``prefix`` (``$r``) whether a numbered form is; ``fold`` whether
    case does not matter. A constant of the same name is hidden.
    """

    names: tuple
    numbers: bool = True
    fold: bool = True
    prefix: str = ""

    def parse(self, cursor, field):
        number = cursor.take_prefixed(self.prefix) if self.prefix else None
        if number is not None:
            return number
        word = cursor.peek_name()
        for name, value in self.names if word is not None else ():
            if word == name or self.fold and word.lower() == name.lower():
                cursor.advance()
                return value
        if not self.numbers or word is not None and not cursor.is_symbol(word):
            choice = ", ".join(name for name, _ in self.names)
            cursor.fail(
                f"unknown {field.title} {cursor.shown()}",
                expected=f"one of {choice}" + (" or a number" if self.numbers else ""),
            )
        return cursor.expression()

    def format(self, value):
        for name, number in self.names:
            if number == value:
                return name
        return str(value)
