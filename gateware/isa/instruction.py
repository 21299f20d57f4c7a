# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of an instruction table: fields, codings and forms of their values, rules on them,
and assembly syntax. Pure Python.

A *coding* maps the value a programmer means to the bits of the field and back (256 is coded 0, 64
channels are coded 6). A *form* maps the text of an operand to that value and back (``norm``,
``$5``, ``0x1f``). Both are small frozen objects, so that an ISA's table stays declarative; an ISA
with an unusual coding brings a class of its own with the same methods.

``table.py`` exports the names of instructions and fields; import them from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from .parameters import Params

if TYPE_CHECKING:
    from .asm.assembler import Assembler
    from .asm.cursor import Cursor

__all__ = [
    "Coding",
    "Either",
    "Field",
    "Form",
    "Instruction",
    "Log2",
    "Macro",
    "Modulo",
    "Named",
    "Number",
    "Prefixed",
    "Rule",
    "Signed",
    "TableError",
    "built",
    "mask",
    "named_operands",
    "number_text",
    "parse_syntax",
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


#: Items of an operand syntax: ``("literal", text with the blanks after it)``, ``("operand",
#: name)`` and ``("optional", items)``.
SyntaxTree: TypeAlias = tuple[tuple[str, Any], ...]


class TableError(ValueError):
    """Error: an inconsistent table, an unknown mnemonic or an illegal value; the message names
    it."""


def mask(hi: int, lo: int) -> int:
    """Bit mask with ones from bit ``hi`` to bit ``lo``."""
    return ((1 << hi - lo + 1) - 1) << lo


def built(params: Params | None, only_if: str | tuple[str, ...]) -> bool:
    """Whether an optional feature exists in a build: ``only_if`` names no parameter, no parameters
    are given, or one of the named parameters is true."""
    names = (only_if,) if isinstance(only_if, str) else only_if
    return not only_if or params is None or any(params.get(name, True) for name in names)


@dataclass(frozen=True)
class Field:
    """An operand or flag of an instruction, bits ``hi`` to ``lo`` of its word.

    Parameters
    ----------
    legal : range or tuple, optional
        Values the core accepts; any other raises ``fault`` (by default the ISA's ``field_fault``).
        ``None``: all.
    limit : range, optional
        Values the assembler accepts, if fewer than the core decodes.
    coding, form : how the value lies in the bits, and how it is written.
    default : makes the operand optional.
    flag : the letter that sets this one-bit field, written after the mnemonic.
        Declaration order is printing order.
    only_if : name of a boolean build parameter without which the field does not exist;
        its bits are then ``"ignored"`` or must be ``"zero"``, as ``unbuilt`` says.
    detail : detail of the fault for an illegal value; ``None``: as the :class:`Part` it lies in.
    label : name in assembly and messages, by default ``name``.
    role : use of the operand in the core, in words of the ISA (:meth:`~.table.Isa.with_role`).
    """

    name: str
    hi: int
    lo: int
    legal: range | tuple[int, ...] | None = None
    limit: range | tuple[int, ...] | None = None
    coding: Coding = Coding()
    form: Form = Form()
    default: int | None = None
    flag: str = ""
    only_if: str = ""
    unbuilt: str = "ignored"
    fault: str = ""
    detail: int | None = None
    label: str = ""
    role: str = ""
    doc: str = ""

    @property
    def width(self) -> int:
        """Width in bits."""
        return self.hi - self.lo + 1

    @property
    def mask(self) -> int:
        """Mask of the field in its word."""
        return ((1 << self.width) - 1) << self.lo

    @property
    def title(self) -> str:
        """Name of the field in assembly and messages."""
        return self.label or self.name

    @cached_property
    def values(self) -> range | tuple[int, ...]:
        """Values that the core accepts."""
        return self.coding.values(self.width) if self.legal is None else self.legal

    @cached_property
    def written(self) -> range | tuple[int, ...]:
        """Values that the assembler accepts."""
        return self.values if self.limit is None else self.limit

    def insert(self, value: int) -> int:
        """Encodes ``value`` at the field's position in a word."""
        return self.coding.encode(value, self.width) << self.lo

    def bits(self, word: int) -> int:
        """Raw bits of the field in ``word``."""
        return word >> self.lo & (1 << self.width) - 1

    def extract(self, word: int) -> int | None:
        """The value in ``word``; ``None`` if it is illegal."""
        value = self.coding.decode(self.bits(word), self.width)
        return value if value is not None and value in self.values else None

    @property
    def expected(self) -> str:
        """Description of the accepted values, for messages."""
        values = self.written
        if isinstance(values, range) and values.step == 1:
            return f"{number_text(values[0])} to {number_text(values[-1])}"
        if isinstance(values, range):
            return f"{values[0]} to {values[-1]} in steps of {values.step}"
        return "one of " + ", ".join(str(v) for v in values)


@dataclass(frozen=True)
class Rule:
    """A condition on several fields, or on fields and build parameters.

    ``check(values, params)`` gives ``None`` or the fault's detail. The core raises ``fault``; the
    assembler refuses the line (``severity`` ``"error"``) or warns (``"warning"``) at ``field``,
    with ``message``, a string or a callable of ``(values, params)``.
    """

    fault: str
    check: Callable[[dict[str, Any], Params | None], int | None]
    message: str | Callable[[dict[str, Any], Params | None], str]
    field: str = ""
    severity: str = "error"

    def text(self, values: dict[str, int], params: Params | None) -> str:
        """Message of the rule for an instruction with these ``values``."""
        return self.message if isinstance(self.message, str) else self.message(values, params)


def parse_syntax(text: str) -> SyntaxTree:
    """Parses an operand syntax such as ``{rd}, <{offset}>`` into a tree.

    Its items are ``("literal", text with the blanks behind it)``, ``("operand", name)`` and
    ``("optional", items)``.
    """
    stack: list[list[tuple[str, Any]]] = [[]]
    for match in re.finditer(r"\{(\w+)\}|[<>]|(?:[\w.]+|[^\s{}<>])\s*", text):
        token = match.group()
        if token == "<":
            stack.append([])
        elif token == ">":
            if len(stack) == 1:
                raise TableError(f"'>' without '<' in syntax {text!r}")
            items = tuple(stack.pop())
            stack[-1].append(("optional", items))
        elif match.group(1):
            stack[-1].append(("operand", match.group(1)))
        else:
            stack[-1].append(("literal", token))
    if len(stack) != 1:
        raise TableError(f"'<' without '>' in syntax {text!r}")
    return tuple(stack[0])


def named_operands(items: SyntaxTree) -> Iterator[str]:
    """Names of the operands in a syntax tree."""
    for kind, item in items:
        if kind == "optional":
            yield from named_operands(item)
        elif kind == "operand":
            yield item


def _usage(items, fields):
    text = ""
    for kind, item in items:
        text += (
            f"[{_usage(item, fields)}]"
            if kind == "optional"
            else fields[item].title
            if kind == "operand"
            else item
        )
    return text


class Written:
    """Base class of instructions and macros: fields and assembly syntax."""

    mnemonic: str
    fields: tuple[Field, ...]
    syntax: str | tuple[str, ...] | None
    aliases: tuple[str, ...]
    rules: tuple[Rule, ...]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.mnemonic}>"

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """Fields of the instruction by name."""
        return {f.name: f for f in self.fields}

    @cached_property
    def flags(self) -> tuple[Field, ...]:
        """One-bit fields that are set by a letter after the mnemonic."""
        return tuple(f for f in self.fields if f.flag)

    @cached_property
    def operands(self) -> tuple[Field, ...]:
        """Fields that are written after the mnemonic, in the table's order."""
        return tuple(f for f in self.fields if not f.flag)

    @cached_property
    def syntaxes(self) -> tuple[SyntaxTree, ...]:
        """Parsed forms of the operands (:func:`parse_syntax`)."""
        given = self.syntax
        if given is None:
            given = ", ".join(f"{{{f.name}}}" for f in self.operands)
        return tuple(parse_syntax(s) for s in ((given,) if isinstance(given, str) else given))

    @property
    def usage(self) -> str:
        """Usage line of the instruction, for messages and the reference."""
        flags = f"[.{''.join(f.flag for f in self.flags)}]" if self.flags else ""
        return f"{self.mnemonic}{flags} {_usage(self.syntaxes[0], self.by_name)}".strip()


@dataclass(frozen=True, eq=False, repr=False)
class Instruction(Written):
    """One instruction; several may share a mnemonic (the assembler takes the first whose ``syntax``
    fits).

    Parameters
    ----------
    opcode : value of the ISA's opcode part.
    fields : tuple of :class:`Field`. Bits in no field, neither opcode nor ``fixed``,
        must be zero or are ignored, as the ISA's ``rest`` says; those of ``ignored`` (pairs ``hi,
        lo``) always are.
    syntax : text after the mnemonic: literals, ``{field}``,
        and ``<...>`` around optional parts; a tuple of several if there are other ways to
        write it, the canonical one first. Default: the fields without flag, with commas.
    fixed : further bits that tell the instruction from others: triples ``hi, lo, value``.
    rules : tuple of :class:`Rule`.
    only_if : build parameters, one of which must be true for the instruction to exist;
        else it acts as ``unbuilt`` (a mnemonic; every bit but the opcode ignored) or is undefined.
    aliases : other mnemonics for the same.
    """

    mnemonic: str
    opcode: int
    fields: tuple[Field, ...] = ()
    syntax: str | tuple[str, ...] | None = None
    fixed: tuple[tuple[int, int, int], ...] = ()
    ignored: tuple[tuple[int, int], ...] = ()
    rules: tuple[Rule, ...] = ()
    only_if: str | tuple[str, ...] = ""
    unbuilt: str = ""
    aliases: tuple[str, ...] = ()
    doc: str = ""

    def unpack(self, word: int) -> dict[str, Any]:
        """Decodes a word to values by field name; ``None`` for a field with illegal bits."""
        return {f.name: f.extract(word) for f in self.fields}


@dataclass(frozen=True, eq=False, repr=False)
class Macro(Written):
    """A mnemonic that stands for several words.

    ``expand(values, assembler)`` gives pairs (mnemonic, dict of values); ``fields`` and ``syntax``
    are as an instruction's, the bit ranges of the fields giving no more than their width.
    """

    mnemonic: str
    fields: tuple[Field, ...]
    expand: Callable[[dict[str, int], Assembler], Iterable[tuple[str, dict[str, int]]]]
    syntax: str | tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    doc: str = ""
