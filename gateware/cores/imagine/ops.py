# SPDX-License-Identifier: BSD-2-Clause
"""What the decoder makes of a word: one decoded operation (specification, sections 3 and 9)."""
from amaranth.lib import data

from .block import FOLDS

__all__ = ["OpLayout"]


class OpLayout(data.StructLayout):
    """A decoded word. Of a word that faults only ``fault`` and ``word`` mean anything.

    Members
    -------
    end : what comes after the last word; nothing else means anything
    word : unsigned(32), as it was read
    fault : unsigned(5), 0 or the number of its fault
    array : a word of the array (``mv``), else of the columns
    write, select, clear, add, step, one : one hot, none for ``nop``: mv_write; a select; mv_clrmbit; mv_add and mv_sub;
        mv_updatepp; mv_mov, mv_blockFold and mv_accumRow
    serial, parallel, off : one hot, of the columns
    first : first row of X; of ``step`` the row of the multiplier's bit
    second : first row of Y
    target : first row of the result (and of ``step``'s X); row of ``write``
    subtract, fold : of add, blockFold (one hot); accumulate : accumRow
    level : of accumRow; wait : slots before its receivers begin, 2^level (1: ``step``, 0: others)
    zero : X is 0 (``step`` of bit 0); final : ``step`` of the last bit
    hazard : reads what an instruction before it writes, in an order that overlapping them would change
    slots : of an operation of several slots, slots until another may start, less two
    """
    def __init__(self, mapping):
        bits = mapping.address_bits
        longest = max(mapping.slots_updatepp, mapping.width + (1 << mapping.top_level))
        super().__init__({
            "end": 1, "word": 32, "fault": 5, "array": 1,
            "write": 1, "select": 1, "clear": 1, "add": 1, "step": 1, "one": 1,
            "serial": 1, "parallel": 1, "off": 1,
            "first": bits, "second": bits, "target": bits,
            "subtract": 1, "fold": FOLDS, "accumulate": 1, "level": mapping.top_level.bit_length(),
            "wait": mapping.top_level + 1, "zero": 1, "final": 1, "hazard": 1,
            "slots": (longest - 2).bit_length(),
        })
