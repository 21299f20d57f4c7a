# SPDX-License-Identifier: BSD-2-Clause
"""Instruction tables: one declaration of every instruction of an ISA. Pure Python.

The assembler, the disassembler, the decoder's layouts, the random programs of the tests and the
reference pages are made of what stands here. An instruction is a *word*, an integer with bit 0 the
least significant, whatever its width; how words lie in memory (18 bits in four bytes, 112 bits
big-endian, two sizes in one stream) is the affair of a
:class:`Storage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from .instruction import Field, Instruction, Macro, Rule, TableError, built, mask
from .parameters import Params
from .registers import Counter, Fault, Register
from .table_check import check_table

__all__ = [
    "Decoded",
    "Field",
    "Instruction",
    "Isa",
    "Macro",
    "Part",
    "Rule",
    "Storage",
    "Syntax",
    "TableError",
    "built",
]


@dataclass(frozen=True)
class Storage:
    """Storage format of words in memory: ``bits`` wide, in ``size`` bytes, upper bits zero,
    ``order`` ``"little"`` or ``"big"``.

    A subclass may mix sizes: :meth:`store` and :meth:`load` are all that is asked of it.
    """

    bits: int
    size: int
    order: Literal["little", "big"] = "little"
    name: str = ""

    def store(self, word: int) -> bytes:
        """Encodes ``word`` as bytes. Raises ``ValueError`` if this storage has no form for it."""
        return word.to_bytes(self.size, self.order)

    def raw(self, value: int) -> bytes:
        """Encodes a raw word given by ``.word``, legal or not, unused upper bits included.

        Raises ``ValueError`` if it does not fit.
        """
        if not 0 <= value < 1 << 8 * self.size:
            raise ValueError(f"the word does not fit, expected 0 to {(1 << 8 * self.size) - 1:#x}")
        return value.to_bytes(self.size, self.order)

    def load(self, data: bytes, offset: int = 0) -> tuple[int, int] | None:
        """Decodes a word at ``offset``: ``(word, bytes taken)``; ``None`` if ``data`` ends within
        it."""
        if offset + self.size > len(data):
            return None
        return int.from_bytes(data[offset : offset + self.size], self.order), self.size


@dataclass(frozen=True)
class Part:
    """A named range of bits of every word, for the decoder; ``detail`` is the detail of a fault
    about it."""

    name: str
    hi: int
    lo: int
    detail: int | None = None
    parts: tuple[Part, ...] = ()

    @property
    def width(self) -> int:
        """Width in bits."""
        return self.hi - self.lo + 1


@dataclass(frozen=True)
class Syntax:
    """Lexical rules of an ISA's assembly language.

    Parameters
    ----------
    comments : signs that start a comment.
    fold : mnemonics (and flags) may be written in either case.
    named : operands may be given as ``name=value``.
    multiline : an open bracket carries the statement to the next line.
    macros : tuple of :class:`Macro`.
    """

    comments: tuple[str, ...] = ("#",)
    fold: bool = False
    named: bool = False
    multiline: bool = False
    macros: tuple[Macro, ...] = ()


class Decoded(NamedTuple):
    """A decoded word: instruction (``None`` if undefined), values by field name, and its fault, if
    any."""

    instruction: Instruction | None
    values: dict[str, Any]
    fault: str | None
    detail: int


@dataclass(frozen=True, eq=False, repr=False)
class Isa:
    """An instruction set: instructions, registers, counters, faults and assembly syntax.

    Parameters
    ----------
    name : folder of its core package. ``title`` : for people. ``tag`` : four characters.
        ``version`` : (major, minor).
    program_align : alignment of ``program_at``, in bytes.
    registers, counters, faults : tuples of the types of ``registers.py``;
        ``faults`` in order of precedence.
    storage : tuple of :class:`Storage`; the first is the usual one,
        all hold words of the same width.
    parts : tuple of :class:`Part` that covers the word;
        the one called ``opcode`` tells instructions apart.
    rest : ``"zero"`` or ``"ignored"``: the rule for bits that an instruction does not use.
    opcode_fault, field_fault : names of the faults for an undefined opcode, an illegal field.
    fault_detail : ``(word, field or part or None) -> int`` for fields without a detail of their
        own.
    """

    name: str
    title: str
    tag: str
    version: tuple[int, int]
    program_align: int
    storage: tuple[Storage, ...]
    parts: tuple[Part, ...]
    instructions: tuple[Instruction, ...]
    faults: tuple[Fault, ...]
    registers: tuple[Register, ...] = ()
    counters: tuple[Counter, ...] = ()
    syntax: Syntax = Syntax()
    rest: str = "zero"
    opcode_fault: str = "illegal_opcode"
    field_fault: str = "bad_field"
    fault_detail: Callable[[int, Field | Part | None], int] | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        check_table(self)

    def __repr__(self) -> str:
        return f"<Isa {self.name}>"

    # Look-up tables

    @property
    def bits(self) -> int:
        """Width of a word."""
        return self.storage[0].bits

    @cached_property
    def opcode_part(self) -> Part:
        """Part of a word that contains the opcode."""
        return next(part for part in self.parts if part.name == "opcode")

    @cached_property
    def opcodes(self) -> dict[str, int]:
        """Opcodes by mnemonic."""
        return {i.mnemonic: i.opcode for i in self.instructions}

    def with_role(self, role: str) -> tuple[str, ...]:
        """Mnemonics of the instructions with an operand of ``role``, in the table's order."""
        found = tuple(
            i.mnemonic for i in self.instructions if any(f.role == role for f in i.fields)
        )
        if not found:
            raise TableError(f"{self.name} has no operand of role {role!r}")
        return found

    @cached_property
    def fault_codes(self) -> dict[str, int]:
        """Fault numbers by name."""
        return {f.name: f.code for f in self.faults}

    @cached_property
    def fault_names(self) -> dict[int, str]:
        """Fault names by number."""
        return {f.code: f.name for f in self.faults}

    @cached_property
    def register_map(self) -> dict[str, Register]:
        """The ISA's own registers (``Register``) by name."""
        return {r.name: r for r in self.registers}

    @cached_property
    def mnemonics(self) -> dict[str, tuple[Instruction | Macro, ...]]:
        """Instructions and macros by mnemonic or alias (case-folded if the syntax ignores case):
        name -> tuple of those that share it."""
        found: dict[str, list[Instruction | Macro]] = {}
        entries: tuple[Instruction | Macro, ...] = (*self.instructions, *self.syntax.macros)
        for entry in entries:
            for name in (entry.mnemonic, *entry.aliases):
                found.setdefault(self.fold(name), []).append(entry)
        return {name: tuple(same) for name, same in found.items()}

    def fold(self, name: str) -> str:
        """Folds ``name`` for comparison: to upper case if the syntax ignores case."""
        return name.upper() if self.syntax.fold else name

    @cached_property
    def _by_opcode(self):
        found = {}
        for instruction in self.instructions:
            found.setdefault(instruction.opcode, []).append(instruction)
        return found

    @cached_property
    def _masks(self):
        """Masks of each instruction: (fixed mask, fixed value, bits that must be zero)."""
        opcode = self.opcode_part
        found = {}
        for instruction in self.instructions:
            fixed, value = mask(opcode.hi, opcode.lo), instruction.opcode << opcode.lo
            for hi, lo, bits in instruction.fixed:
                fixed, value = fixed | mask(hi, lo), value | bits << lo
            used = fixed
            for f in instruction.fields:
                used |= f.mask
            for hi, lo in instruction.ignored:
                used |= mask(hi, lo)
            rest = ((1 << self.bits) - 1) & ~used if self.rest == "zero" else 0
            found[instruction] = fixed, value, rest
        return found

    def zero_mask(self, instruction: Instruction) -> int:
        """Bits of the word that must be zero in ``instruction``, with all optional fields built."""
        return self._masks[instruction][2]

    def part_masks(self, instruction: Instruction, params: Params | None = None) -> dict[str, int]:
        """Bits that must be zero in ``instruction``, by part: ``{part name: mask}``, with bit 0 the
        lowest of the part.

        Only parts with such bits appear. With ``params`` fields that are not built count as the
        table says of them.
        """
        rest = self.zero_mask(instruction)
        for f in instruction.fields:
            if f.unbuilt == "zero" and not built(params, f.only_if):
                rest |= f.mask
        masks = {part.name: rest >> part.lo & mask(part.width - 1, 0) for part in self.parts}
        return {name: bits for name, bits in masks.items() if bits}

    # Words

    def encode(self, mnemonic: str, **values: int) -> int:
        """Encodes an instruction; omitted optional operands have their defaults, and omitted flags
        are 0.

        Raises
        ------
        TableError
            Unknown mnemonic or operand, operand missing, value out of range.
        """
        candidates = [
            e for e in self.mnemonics.get(self.fold(mnemonic), ()) if isinstance(e, Instruction)
        ]
        if not candidates:
            raise TableError(f"{self.name} has no instruction {mnemonic!r}")
        fitting = [i for i in candidates if set(values) <= set(i.by_name)]
        instruction = fitting[0] if fitting else candidates[0]
        return self.pack(instruction, values)

    def pack(self, instruction: Instruction, values: dict[str, int]) -> int:
        """Encodes ``instruction`` with ``values`` by field name, with the checks of
        :meth:`encode`."""
        for name in values:
            if name not in instruction.by_name:
                raise TableError(
                    f"{instruction.mnemonic} has no operand {name!r}; it has "
                    f"{', '.join(instruction.by_name) or 'none'}"
                )
        word = self._masks[instruction][1]
        for f in instruction.fields:
            value = values.get(f.name, 0 if f.flag else f.default)
            if value is None:
                raise TableError(f"{instruction.mnemonic} lacks operand {f.name}")
            if value not in f.values:
                raise TableError(
                    f"{f.title} of {instruction.mnemonic} must be {f.expected}, not {value!r}"
                )
            word |= f.insert(value)
        return word

    def match(self, word: int) -> Instruction | None:
        """Finds the instruction whose opcode and fixed bits match ``word``, or ``None``."""
        part = self.opcode_part
        for instruction in self._by_opcode.get(word >> part.lo & mask(part.width - 1, 0), ()):
            fixed, value, _ = self._masks[instruction]
            if word & fixed == value:
                return instruction
        return None

    def decode(self, word: int, params: Params | None = None) -> Decoded:
        """Decodes ``word`` to a :class:`Decoded`, with any fault that its bits and the build
        parameters alone decide.

        Without ``params`` everything optional counts as built and no size is checked. Of several
        faults the first in the order of ``faults`` is given, among equal ones that of the lowest
        detail. Illegal values are ``None``.
        """
        instruction = self.match(word)
        if instruction is not None and not built(params, instruction.only_if):
            if instruction.unbuilt:
                acts_as = self.mnemonics[self.fold(instruction.unbuilt)][0]
                assert isinstance(acts_as, Instruction)
                return Decoded(acts_as, {}, None, 0)
            instruction = None
        if instruction is None:
            part = self.opcode_part
            detail = (
                part.detail
                if part.detail is not None
                else word >> part.lo & mask(part.width - 1, 0)
            )
            if self.fault_detail is not None:
                detail = self.fault_detail(word, None)
            return Decoded(None, {}, self.opcode_fault, detail)
        values, found = instruction.unpack(word), []
        if word >> self.bits:
            found.append((self.field_fault, self._detail(word, self.opcode_part)))
        rest = self.zero_mask(instruction)
        for f in instruction.fields:
            if not built(params, f.only_if):
                values[f.name] = 0
                rest |= f.mask if f.unbuilt == "zero" else 0
            elif values[f.name] is None:
                found.append((f.fault or self.field_fault, self._detail(word, f)))
        if word & rest:
            left = word & rest
            for part in self.parts:
                if word & rest & mask(part.hi, part.lo):
                    found.append((self.field_fault, self._detail(word, part)))
                    left &= ~mask(part.hi, part.lo)
            if left:
                found.append((self.field_fault, self._detail(word, None)))
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
        if item is not None and item.detail is not None:
            return item.detail
        if self.fault_detail is not None:
            return self.fault_detail(word, item)
        for part in self.parts if item is not None else ():
            if part.lo <= item.lo and item.hi <= part.hi and part.detail is not None:
                return part.detail
        return 0

    def store(self, words: int | Iterable[int]) -> bytes:
        """Encodes ``words`` (one or several) in the default storage."""
        words = (words,) if isinstance(words, int) else words
        return b"".join(self.storage[0].store(word) for word in words)

    def load(self, data: bytes) -> list[int]:
        """Decodes words from ``data`` in the default storage; raises :class:`TableError` if it ends
        within one."""
        words, offset = [], 0
        while offset < len(data):
            taken = self.storage[0].load(data, offset)
            if taken is None:
                raise TableError(f"{len(data)} bytes are not a whole number of {self.name} words")
            words.append(taken[0])
            offset += taken[1]
        return words
