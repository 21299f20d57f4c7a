# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of an instruction table: fields, rules on them, and assembly syntax. Pure Python.

``table.py`` exports these names; import it from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from .operands import Coding, Form, number_text
from .parameters import Params

if TYPE_CHECKING:
    from .asm.assembler import Assembler


__all__ = [
    "Field",
    "Instruction",
    "Macro",
    "Rule",
    "TableError",
    "built",
    "named_operands",
    "parse_syntax",
]


#: Items of an operand syntax: ``("literal", text with the blanks after it)``, ``("operand",
#: name)`` and ``("optional", items)``.
SyntaxTree: TypeAlias = tuple[tuple[str, Any], ...]


class TableError(ValueError):
    """Error: an inconsistent table, an unknown mnemonic or an illegal value; the message names
    it."""


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
