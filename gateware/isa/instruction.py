# SPDX-License-Identifier: BSD-2-Clause
"""One instruction of a table: its fields, the conditions on them, and how it is written. Pure
Python.

``table.py`` exports what stands here; import it from there.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .operands import Coding, Form, number_text

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


class TableError(ValueError):
    """An inconsistent table, an unknown mnemonic or an illegal value; the message names it."""


def built(params, only_if):
    """Whether what ``only_if`` names is there: no condition, no parameters given, or one of the
    named ones true."""
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
        Values the assembler accepts, where that is less than what the core decodes.
    coding, form : how the value lies in the bits, and how it is written.
    default : makes the operand optional.
    flag : the letter that sets this one-bit field, written after the mnemonic.
        Declaration order is printing order.
    only_if : name of a boolean build parameter without which the field does not exist;
        its bits are then ``"ignored"`` or must be ``"zero"``, as ``unbuilt`` says.
    detail : what the fault of an illegal value carries; ``None``: as the :class:`Part` it lies in.
    label : name in assembly and messages, by default ``name``.
    role : what the core does with the operand, in words of the ISA (:meth:`~.table.Isa.with_role`).
    """

    name: str
    hi: int
    lo: int
    legal: Any = None
    limit: Any = None
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
    def width(self):
        return self.hi - self.lo + 1

    @property
    def mask(self):
        return ((1 << self.width) - 1) << self.lo

    @property
    def title(self):
        return self.label or self.name

    @cached_property
    def values(self):
        """What the core accepts."""
        return self.coding.values(self.width) if self.legal is None else self.legal

    @cached_property
    def written(self):
        """What the assembler accepts."""
        return self.values if self.limit is None else self.limit

    def insert(self, value):
        return self.coding.encode(value, self.width) << self.lo

    def bits(self, word):
        return word >> self.lo & (1 << self.width) - 1

    def extract(self, word):
        """The value in ``word``; ``None`` if it is illegal."""
        value = self.coding.decode(self.bits(word), self.width)
        return value if value is not None and value in self.values else None

    @property
    def expected(self):
        """The accepted values, for a message."""
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
    check: Callable
    message: Any
    field: str = ""
    severity: str = "error"

    def text(self, values, params):
        return self.message if isinstance(self.message, str) else self.message(values, params)


def parse_syntax(text):
    """The tree of an operand form.

    Its items are ``("literal", text with the blanks behind it)``, ``("operand", name)`` and
    ``("optional", items)``.
    """
    stack = [[]]
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


def named_operands(items):
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
    """What instructions and macros share: fields, and the text they are written as."""

    def __repr__(self):
        return f"<{type(self).__name__} {self.mnemonic}>"

    @cached_property
    def by_name(self):
        return {f.name: f for f in self.fields}

    @cached_property
    def flags(self):
        return tuple(f for f in self.fields if f.flag)

    @cached_property
    def operands(self):
        """Fields written after the mnemonic, in the table's order."""
        return tuple(f for f in self.fields if not f.flag)

    @cached_property
    def syntaxes(self):
        """The forms of the operands, parsed (:func:`parse_syntax`)."""
        given = self.syntax
        if given is None:
            given = ", ".join(f"{{{f.name}}}" for f in self.operands)
        return tuple(parse_syntax(s) for s in ((given,) if isinstance(given, str) else given))

    @property
    def usage(self):
        """How the instruction is written, for messages and the reference."""
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
        and ``<...>`` around what may be left out; a tuple of several if there are other ways to
        write it, the canonical one first. Default: the fields without flag, with commas.
    fixed : further bits that tell the instruction from others: triples ``hi, lo, value``.
    rules : tuple of :class:`Rule`.
    only_if : build parameters, one of which must be true for the instruction to exist;
        else it acts as ``unbuilt`` (a mnemonic; every bit but the opcode ignored) or is undefined.
    aliases : other mnemonics for the same.
    """

    mnemonic: str
    opcode: int
    fields: tuple = ()
    syntax: Any = None
    fixed: tuple = ()
    ignored: tuple = ()
    rules: tuple = ()
    only_if: Any = ""
    unbuilt: str = ""
    aliases: tuple = ()
    doc: str = ""

    def unpack(self, word):
        """Values by field name; ``None`` where the bits are illegal."""
        return {f.name: f.extract(word) for f in self.fields}


@dataclass(frozen=True, eq=False, repr=False)
class Macro(Written):
    """A mnemonic that stands for several words.

    ``expand(values, assembler)`` gives pairs (mnemonic, dict of values); ``fields`` and ``syntax``
    are as an instruction's, the bit ranges of the fields giving no more than their width.
    """

    mnemonic: str
    fields: tuple
    expand: Callable
    syntax: Any = None
    aliases: tuple = ()
    rules: tuple = ()
    doc: str = ""
