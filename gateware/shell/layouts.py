# SPDX-License-Identifier: BSD-2-Clause
"""Bit layouts of instruction words for the decoders, from the ISA's table."""

from amaranth import Cat, Const, Value, unsigned
from amaranth.lib import data

from ..isa.instruction import Signed
from ..isa.table import Isa, TableError

__all__ = ["fields_of", "instruction_layout", "word_layout"]


def _shape(width, parts):
    return data.FlexibleLayout(
        width,
        {
            part.name: data.Field(
                _shape(part.hi - part.lo + 1, part.parts)
                if part.parts
                else unsigned(part.hi - part.lo + 1),
                part.lo,
            )
            for part in parts
        },
    )


def word_layout(isa: Isa) -> data.FlexibleLayout:
    """Layout of any word of ``isa``: its parts, as wide as a word.

    Bit 0 is the least significant bit of the word, whatever the byte order in memory: the fetcher
    puts the bytes in order (for a big-endian ISA the first byte of an instruction is the top of the
    word). Parts with parts of their own are layouts again.

    Parameters
    ----------
    isa : Isa

    Returns
    -------
    :class:`amaranth.lib.data.FlexibleLayout`
    """
    if not isinstance(isa, Isa):
        raise TypeError(f"isa must be an Isa, not {isa!r}")
    return _shape(isa.bits, isa.parts)


def instruction_layout(isa: Isa, mnemonic: str) -> data.FlexibleLayout:
    """Layout of the words of one instruction: its fields by name, and ``opcode``. Signed fields are
    signed.

    Raises
    ------
    TableError
        ``isa`` has no instruction ``mnemonic``.
    """
    word_layout(isa)
    instruction = next((i for i in isa.instructions if i.mnemonic == mnemonic), None)
    if instruction is None:
        raise TableError(f"{isa.name} has no instruction {mnemonic!r}")
    members = {"opcode": data.Field(unsigned(isa.opcode_part.width), isa.opcode_part.lo)}
    for f in instruction.fields:
        shape = unsigned(f.width)
        members[f.name] = data.Field(shape.__class__(f.width, type(f.coding) is Signed), f.lo)
    return data.FlexibleLayout(isa.bits, members)


def fields_of(isa: Isa, mnemonic: str, word: Value) -> data.View:
    """View of ``word`` with the fields of one instruction (:func:`instruction_layout`). If the word
    has no upper part, its fields are 0."""
    word = Value.cast(word)
    return data.View(
        instruction_layout(isa, mnemonic),
        word if len(word) == isa.bits else Cat(word, Const(0, isa.bits - len(word))),
    )
