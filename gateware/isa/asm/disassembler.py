# SPDX-License-Identifier: BSD-2-Clause
"""Disassembler: text of every word, which assembles to the same word again."""

from quintet.gateware.isa.table import TableError

from ..parameters import Params
from ..software import Software
from ..table import Isa, Storage
from .assembler import Item
from .errors import AsmError
from .operand_text import format_operands

__all__ = ["disassemble", "instruction_text"]


def disassemble(software: Software, data: bytes, params: Params | None = None) -> str:
    """Canonical text of a binary program, one line per word; it assembles to the same bytes.

    Words that are no legal instructions, or that the assembler would code otherwise, become
    ``.word``, with the fault they raise as a comment. A program that the assembler would refuse as
    a whole, such as one of the OPU's without ``end``, begins with ``.unchecked``.

    Parameters
    ----------
    software : Software
    data : bytes
    params : dict, optional
        Build parameters that legality is judged with (as in the assembler).

    Raises
    ------
    AsmError
        ``data`` ends inside a word, or is no image of this ISA.
    """
    isa = software.isa
    if software.listing is not None:

        def text(word, stored, storage=isa.storage[0]):
            return instruction_text(isa, word, stored, storage, params)

        try:
            return software.listing(software, data, params, text)
        except TableError as error:
            raise AsmError(str(error)) from None
    lines, items, offset, storage = [], [], 0, isa.storage[0]
    while offset < len(data):
        taken = storage.load(data, offset)
        if taken is None:
            wanted = (
                f"a multiple of {storage.size} bytes"
                if len(isa.storage) == 1
                else "a whole last word"
            )
            raise AsmError(f"{len(data)} bytes are no whole number of words", expected=wanted)
        word, size = taken
        stored = data[offset : offset + size]
        lines.append(instruction_text(isa, word, stored, storage, params))
        raw = lines[-1].startswith(".word")
        if raw:
            word = int.from_bytes(stored, storage.order)
        items.append(Item(instruction=None, values={}, word=word, place=None, raw=raw))
        offset += size
    if software.lint is not None and any(
        severity == ["error"] for _, _, *severity in software.lint(items, params)
    ):
        lines.insert(0, ".unchecked")
    return "".join(line + "\n" for line in lines)


def instruction_text(
    isa: Isa, word: int, stored: bytes, storage: Storage, params: Params | None = None
) -> str:
    """Text line of one word, given its bytes ``stored`` in memory."""
    decoded = isa.decode(word, params)
    instruction = isa.match(word)
    if instruction is not None and decoded.fault is None:
        values = instruction.unpack(word)
        if _would_assemble(isa, instruction, values, stored, storage):
            flags = "".join(f.flag for f in instruction.flags if values[f.name])
            mnemonic = f"{instruction.mnemonic}.{flags}" if flags else instruction.mnemonic
            return f"{mnemonic} {format_operands(instruction, values)}".rstrip()
    raw = int.from_bytes(stored, storage.order)
    meaning = f"{decoded.fault} {decoded.detail}"
    if instruction is not None and decoded.fault is None:
        meaning = f"{instruction.mnemonic}, not as it is assembled"
    digits = (min(len(stored) * 8, max(isa.bits, raw.bit_length())) + 3) // 4
    return f".word 0x{raw:0{digits}x}  {isa.syntax.comments[0]} {meaning}"


def _would_assemble(isa, instruction, values, stored, storage):
    if any(values[f.name] is None or values[f.name] not in f.written for f in instruction.fields):
        return False
    try:
        return storage.store(isa.pack(instruction, values)) == stored
    except (TableError, ValueError):
        return False
