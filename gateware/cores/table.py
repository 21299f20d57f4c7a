# SPDX-License-Identifier: BSD-2-Clause
"""The table of an instruction set: every instruction declared once. Pure Python.

The assembler, the disassembler, the decoder's layouts, the random programs of the tests and the reference pages are made
of what stands here. An instruction is a *word*, an integer with bit 0 the least significant, whatever its width; how words
lie in memory (18 bits in four bytes, 112 bits big-endian, two sizes in one stream) is the business of a :class:`Storage`.
"""
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from .operands import Coding, Form, number_text

__all__ = ["Decoded", "Directive", "Field", "FileForm", "Instruction", "Isa", "Macro", "Part", "Rule", "Storage", "Syntax",
           "TableError", "built"]


class TableError(ValueError):
    """An inconsistent table, an unknown mnemonic or an illegal value; the message names it."""


def built(params, only_if):
    """Whether what ``only_if`` names is there: no condition, no parameters given, or one of the named ones true."""
    names = (only_if,) if isinstance(only_if, str) else only_if
    return not only_if or params is None or any(params.get(name, True) for name in names)


@dataclass(frozen=True)
class Storage:
    """How words lie in memory: ``bits`` wide, in ``size`` bytes, upper bits zero, ``order`` ``"little"`` or ``"big"``.

    A subclass may mix sizes: :meth:`store` and :meth:`load` are all that is asked of it.
    """
    bits: int
    size: int
    order: str = "little"
    name: str = ""

    def store(self, word):
        """The bytes of ``word``. Raises ``ValueError`` if this storage has no form for it."""
        return word.to_bytes(self.size, self.order)

    def load(self, data, offset=0):
        """``(word, bytes taken)`` at ``offset``; ``None`` if ``data`` ends before the word does."""
        if offset + self.size > len(data):
            return None
        return int.from_bytes(data[offset:offset + self.size], self.order), self.size


@dataclass(frozen=True)
class Part:
    """A named range of bits of every word, for the decoder; ``detail`` is what a fault about it carries."""
    name: str
    hi: int
    lo: int
    detail: int | None = None
    parts: tuple = ()

    @property
    def width(self):
        return self.hi - self.lo + 1


@dataclass(frozen=True)
class Field:
    """An operand or flag of an instruction, bits ``hi`` to ``lo`` of its word.

    Parameters
    ----------
    legal : range or tuple, optional
        Values the core accepts; any other raises ``fault`` (by default the ISA's ``field_fault``). ``None``: all.
    limit : range, optional
        Values the assembler accepts, where that is less than what the core decodes.
    coding, form : how the value lies in the bits, and how it is written.
    default : makes the operand optional.
    flag : the letter that sets this one-bit field, written after the mnemonic. Declaration order is printing order.
    only_if : name of a boolean build parameter without which the field does not exist; its bits are then ``"ignored"``
        or must be ``"zero"``, as ``unbuilt`` says.
    detail : what the fault of an illegal value carries; ``None``: as the :class:`Part` it lies in.
    label : name in assembly and messages, by default ``name``.
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

    ``check(values, params)`` gives ``None`` or the fault's detail. The core raises ``fault``; the assembler refuses the line
    (``severity`` ``"error"``) or says so (``"warning"``) with ``message``, whose braces hold values by name, at ``field``.
    """
    fault: str
    check: Callable
    message: str
    field: str = ""
    severity: str = "error"


@dataclass(frozen=True)
class Instruction:
    """One instruction; several may share a mnemonic (the assembler takes the first whose ``syntax`` fits).

    Parameters
    ----------
    opcode : value of the ISA's opcode part.
    fields : tuple of :class:`Field`. Bits in no field, neither opcode nor ``fixed``, must be zero or are ignored, as the
        ISA's ``rest`` says; those of ``ignored`` (pairs ``hi, lo``) always are.
    syntax : text after the mnemonic: literals, ``{field}``, and ``<...>`` around what may be left out; a tuple of several
        if there are other ways to write it, the canonical one first. Default: the fields without flag, with commas.
    fixed : further bits that tell the instruction from others: triples ``hi, lo, value``.
    rules : tuple of :class:`Rule`.
    only_if : build parameters, one of which must be true for the instruction to exist; else it acts as ``unbuilt``
        (a mnemonic; every bit but the opcode ignored) or is undefined.
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

    def unpack(self, word):
        """Values by field name; ``None`` where the bits are illegal."""
        return {f.name: f.extract(word) for f in self.fields}

    @property
    def usage(self):
        """How the instruction is written, for messages and the reference."""
        flags = f"[.{''.join(f.flag for f in self.flags)}]" if self.flags else ""
        return f"{self.mnemonic}{flags} {_usage(self.syntaxes[0], self.by_name)}".strip()


def parse_syntax(text):
    """The tree of an operand form: ``("literal", text)``, ``("operand", name)``, ``("optional", items)``."""
    stack = [[]]
    for match in re.finditer(r"\{(\w+)\}|[\w.]+|\S", text):
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


def _usage(items, fields):
    text = ""
    for kind, item in items:
        if kind == "optional":
            text += f"[{_usage(item, fields)}]"
        elif kind == "operand":
            text += fields[item].title
        else:
            text += ", " if item == "," else item
    return text


@dataclass(frozen=True)
class Macro:
    """A mnemonic that stands for several words.

    ``expand(values, context)`` gives pairs (mnemonic, dict of values); ``fields`` and ``syntax`` are as an instruction's,
    the fields' bit ranges giving only their width.
    """
    mnemonic: str
    fields: tuple
    expand: Callable
    syntax: Any = None
    doc: str = ""
    aliases: tuple = ()
    rules: tuple = ()

    flags = ()
    operands = property(lambda self: self.fields)
    by_name = cached_property(lambda self: {f.name: f for f in self.fields})
    syntaxes = Instruction.__dict__["syntaxes"]
    usage = Instruction.usage

    def __post_init__(self):
        type(self).syntaxes.__set_name__(type(self), "syntaxes")


@dataclass(frozen=True)
class Directive:
    """A directive of the ISA's own: ``handle(assembler, cursor)`` is called with the cursor behind its name."""
    name: str
    handle: Callable
    doc: str = ""


@dataclass(frozen=True)
class Syntax:
    """What differs between the assembly texts of the ISAs.

    Parameters
    ----------
    comments : signs that start a comment.
    fold : mnemonics (and flags) may be written in either case.
    named : operands may be given as ``name=value``.
    multiline : an open bracket carries the statement to the next line.
    macros, directives : tuples of :class:`Macro`, :class:`Directive`.
    """
    comments: tuple = ("#",)
    fold: bool = False
    named: bool = False
    multiline: bool = False
    macros: tuple = ()
    directives: tuple = ()


@dataclass(frozen=True)
class FileForm:
    """A form of program file. ``kind`` ``"assembly"`` and ``"binary"`` (the bytes as they lie in memory) are built in.

    Any other brings ``read(isa, path, params)``, which gives a program, and if it can be written
    ``write(isa, program, path)``.
    """
    kind: str
    read: Callable | None = None
    write: Callable | None = None
    doc: str = ""


class Decoded(NamedTuple):
    """A decoded word: instruction (``None`` if undefined), values by field name, and the fault it raises, if any."""
    instruction: Instruction | None
    values: dict
    fault: str | None
    detail: int


@dataclass(frozen=True)
class Isa:
    """An instruction set.

    Parameters
    ----------
    name : folder of its room. ``title`` : for people. ``tag`` : four characters. ``version`` : (major, minor).
    program_align : alignment of ``program_at``, in bytes.
    registers, counters, faults : tuples of the types of ``registers.py``; ``faults`` in order of precedence.
    forms : suffix of a program file -> :class:`FileForm`.
    storage : tuple of :class:`Storage`; the first is the usual one, all hold words of the same width.
    parts : tuple of :class:`Part` that covers the word; the one called ``opcode`` tells instructions apart.
    rest : ``"zero"`` or ``"ignored"``: what holds for bits that an instruction does not use.
    opcode_fault, field_fault : names of the faults for an undefined opcode, an illegal field.
    fault_detail : ``(word, field or part or None) -> int`` for fields without a detail of their own.
    lint : ``(items, params)`` -> pairs (index or ``None``, message): warnings about a whole program.
    link : ``(assembler) -> bytes``: makes the image of what was assembled, if that is more than its words.
    listing : ``(isa, data, params) -> str``: the disassembly of such an image.
    """
    name: str
    title: str
    tag: str
    version: tuple
    program_align: int
    storage: tuple
    parts: tuple
    instructions: tuple
    faults: tuple
    registers: tuple = ()
    counters: tuple = ()
    forms: Mapping = field(default_factory=dict)
    syntax: Syntax = Syntax()
    rest: str = "zero"
    opcode_fault: str = "illegal_opcode"
    field_fault: str = "bad_field"
    fault_detail: Callable | None = None
    lint: Callable | None = None
    link: Callable | None = None
    listing: Callable | None = None
    doc: str = ""

    def __post_init__(self):
        check_table(self)

    # What others look up

    @property
    def bits(self):
        """Width of a word."""
        return self.storage[0].bits

    @cached_property
    def opcode_part(self):
        return next(part for part in self.parts if part.name == "opcode")

    @cached_property
    def opcodes(self):
        """Mnemonic -> opcode."""
        return {i.mnemonic: i.opcode for i in self.instructions}

    @cached_property
    def fault_codes(self):
        """Name of a fault -> its number."""
        return {f.name: f.code for f in self.faults}

    @cached_property
    def fault_names(self):
        """Number of a fault -> its name."""
        return {f.code: f.name for f in self.faults}

    @cached_property
    def register_map(self):
        """Name -> ``Register`` of the ISA's own registers."""
        return {r.name: r for r in self.registers}

    @cached_property
    def mnemonics(self):
        """Mnemonic or alias (folded where the syntax folds) -> tuple of instructions and macros that share it."""
        found = {}
        for entry in (*self.instructions, *self.syntax.macros):
            for name in (entry.mnemonic, *entry.aliases):
                found.setdefault(self.fold(name), []).append(entry)
        return {name: tuple(entries) for name, entries in found.items()}

    def fold(self, name):
        return name.upper() if self.syntax.fold else name

    @cached_property
    def _by_opcode(self):
        found = {}
        for instruction in self.instructions:
            found.setdefault(instruction.opcode, []).append(instruction)
        return found

    @cached_property
    def _masks(self):
        """Per instruction: (fixed mask, fixed value, bits that must be zero)."""
        opcode = self.opcode_part
        found = {}
        for instruction in self.instructions:
            mask, value = _mask(opcode.hi, opcode.lo), instruction.opcode << opcode.lo
            for hi, lo, bits in instruction.fixed:
                mask, value = mask | _mask(hi, lo), value | bits << lo
            used = mask
            for f in instruction.fields:
                used |= f.mask
            for hi, lo in instruction.ignored:
                used |= _mask(hi, lo)
            rest = ((1 << self.bits) - 1) & ~used if self.rest == "zero" else 0
            found[id(instruction)] = mask, value, rest
        return found

    def zero_mask(self, instruction):
        """Bits of the word that must be zero in ``instruction``, all optional fields built."""
        return self._masks[id(instruction)][2]

    # Words

    def encode(self, mnemonic, **values):
        """The word of an instruction; optional operands and flags left out have their defaults (flags 0).

        Raises
        ------
        TableError
            Unknown mnemonic or operand, operand missing, value out of range.
        """
        candidates = [e for e in self.mnemonics.get(self.fold(mnemonic), ()) if isinstance(e, Instruction)]
        if not candidates:
            raise TableError(f"{self.name} has no instruction {mnemonic!r}")
        fitting = [i for i in candidates if set(values) <= set(i.by_name)]
        instruction = fitting[0] if fitting else candidates[0]
        return self.pack(instruction, values)

    def pack(self, instruction, values):
        """The word of ``instruction`` with ``values`` by field name, checked as :meth:`encode` does."""
        for name in values:
            if name not in instruction.by_name:
                raise TableError(f"{instruction.mnemonic} has no operand {name!r}; it has "
                                 f"{', '.join(instruction.by_name) or 'none'}")
        word = self._masks[id(instruction)][1]
        for f in instruction.fields:
            value = values.get(f.name, 0 if f.flag else f.default)
            if value is None:
                raise TableError(f"{instruction.mnemonic} lacks operand {f.name}")
            if value not in f.values:
                raise TableError(f"{f.title} of {instruction.mnemonic} must be {f.expected}, not {value!r}")
            word |= f.insert(value)
        return word

    def match(self, word):
        """The instruction whose opcode and fixed bits ``word`` has, or ``None``."""
        part = self.opcode_part
        for instruction in self._by_opcode.get(word >> part.lo & _mask(part.width - 1, 0), ()):
            mask, value, _ = self._masks[id(instruction)]
            if word & mask == value:
                return instruction
        return None

    def decode(self, word, params=None):
        """:class:`Decoded` of ``word``, with the fault that its bits and the build parameters alone decide.

        Without ``params`` everything optional counts as built and no size is checked. Of several faults the first in the
        order of ``faults`` is given, among equal ones that of the lowest detail. Values that are illegal are ``None``.
        """
        instruction = self.match(word)
        if instruction is not None and not built(params, instruction.only_if):
            if instruction.unbuilt:
                return Decoded(self.mnemonics[self.fold(instruction.unbuilt)][0], {}, None, 0)
            instruction = None
        if instruction is None:
            part = self.opcode_part
            detail = part.detail if part.detail is not None else word >> part.lo & _mask(part.width - 1, 0)
            if self.fault_detail is not None:
                detail = self.fault_detail(word, None)
            return Decoded(None, {}, self.opcode_fault, detail)
        values, found = instruction.unpack(word), []
        rest = self._masks[id(instruction)][2]
        for f in instruction.fields:
            if not built(params, f.only_if):
                values[f.name] = 0
                rest |= f.mask if f.unbuilt == "zero" else 0
            elif values[f.name] is None:
                found.append((f.fault or self.field_fault, self._detail(word, f)))
        for part in self.parts:
            if word & rest & _mask(part.hi, part.lo):
                found.append((self.field_fault, self._detail(word, part)))
        if None not in values.values():
            for rule in instruction.rules:
                detail = rule.check(values, params)
                if detail is not None:
                    found.append((rule.fault, detail))
        if not found:
            return Decoded(instruction, values, None, 0)
        order = {f.name: k for k, f in enumerate(self.faults)}
        fault, detail = min(found, key=lambda entry: (order[entry[0]], entry[1]))
        return Decoded(instruction, values, fault, detail)

    def _detail(self, word, item):
        if item.detail is not None:
            return item.detail
        if self.fault_detail is not None:
            return self.fault_detail(word, item)
        for part in self.parts:
            if part.lo <= item.lo and item.hi <= part.hi and part.detail is not None:
                return part.detail
        return 0

    def store(self, words):
        """The bytes of ``words`` (one word or several), in the usual storage."""
        words = (words,) if isinstance(words, int) else words
        return b"".join(self.storage[0].store(word) for word in words)

    def load(self, data):
        """The words of ``data``, in the usual storage; raises :class:`TableError` if it ends inside one."""
        words, offset = [], 0
        while offset < len(data):
            taken = self.storage[0].load(data, offset)
            if taken is None:
                raise TableError(f"{len(data)} bytes are not a whole number of {self.name} words")
            words.append(taken[0])
            offset += taken[1]
        return words


def _mask(hi, lo):
    return ((1 << hi - lo + 1) - 1) << lo


def check_table(isa):
    """Refuses a table that contradicts itself. Raises :class:`TableError`."""
    if len(isa.tag) != 4:
        raise TableError(f"{isa.name}: tag {isa.tag!r} must have four characters")
    if isa.rest not in ("zero", "ignored"):
        raise TableError(f"{isa.name}: rest must be 'zero' or 'ignored', not {isa.rest!r}")
    if sum(part.name == "opcode" for part in isa.parts) != 1:
        raise TableError(f"{isa.name}: exactly one part must be called opcode")
    if len({s.bits for s in isa.storage}) != 1:
        raise TableError(f"{isa.name}: every storage must hold words of the same width")
    _check_ranges(isa, "parts", [(p.name, p.hi, p.lo) for p in isa.parts])
    codes, names = [f.code for f in isa.faults], {f.name for f in isa.faults}
    if len(set(codes)) != len(codes) or len(names) != len(codes):
        raise TableError(f"{isa.name}: a fault number or name stands twice")
    for name in (isa.opcode_fault, isa.field_fault):
        if name not in names:
            raise TableError(f"{isa.name}: no fault is called {name!r}")
    mnemonics = {i.mnemonic for i in isa.instructions}
    for i in isa.instructions:
        ranges = [("opcode", isa.opcode_part.hi, isa.opcode_part.lo)]
        ranges += [("fixed", hi, lo) for hi, lo, _ in i.fixed] + [(f.name, f.hi, f.lo) for f in i.fields]
        _check_ranges(isa, i.mnemonic, ranges)
        if i.opcode >> isa.opcode_part.width:
            raise TableError(f"{isa.name}: opcode {i.opcode} of {i.mnemonic} does not fit its part")
        if len(i.by_name) != len(i.fields):
            raise TableError(f"{isa.name}: two fields of {i.mnemonic} have the same name")
        for fault in [f.fault for f in i.fields if f.fault] + [r.fault for r in i.rules]:
            if fault not in names:
                raise TableError(f"{isa.name}: {i.mnemonic} raises {fault!r}, which is no fault")
        if i.unbuilt and i.unbuilt not in mnemonics:
            raise TableError(f"{isa.name}: {i.mnemonic} acts as {i.unbuilt!r}, which is no instruction")
        for f in i.fields:
            if f.flag and f.width != 1:
                raise TableError(f"{isa.name}: flag {f.flag} of {i.mnemonic} must be one bit")
        for tree in i.syntaxes:
            written = set(_operands(tree))
            for f in i.operands:
                if f.name not in written and f.default is None:
                    raise TableError(f"{isa.name}: syntax of {i.mnemonic} lacks {f.name}, which has no default")
            for name in written - set(i.by_name):
                raise TableError(f"{isa.name}: syntax of {i.mnemonic} names {name}, which is no field")


def _operands(items):
    for kind, item in items:
        if kind == "optional":
            yield from _operands(item)
        elif kind == "operand":
            yield item


def _check_ranges(isa, what, ranges):
    used = 0
    for name, hi, lo in ranges:
        if not 0 <= lo <= hi < isa.bits:
            raise TableError(f"{isa.name}: {what}: {name} [{hi}:{lo}] lies outside the {isa.bits}-bit word")
        if used & _mask(hi, lo):
            raise TableError(f"{isa.name}: {what}: {name} [{hi}:{lo}] overlaps another range")
        used |= _mask(hi, lo)
