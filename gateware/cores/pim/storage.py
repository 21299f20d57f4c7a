# SPDX-License-Identifier: BSD-2-Clause
"""The three code forms of PIM: 64 bits, 32 bits, and packed, which mixes both (specification,
sections 3.1 to 3.3).

Pure Python. Whatever the form, an instruction is one 64-bit word, that of the 64-bit form.
"""

from dataclasses import dataclass

from ...isa.table import Storage

__all__ = ["MODES", "MODE_NAMES", "STORAGES", "WIDE", "expand", "narrow"]

#: Added to the opcode of an instruction of 64 bits in packed code.
WIDE = 32
#: Opcode -> lowest bit of its short immediate.
_SHORT = {1: 11, 6: 16, 7: 16}


def expand(low: int) -> int:
    """Expands an instruction of the 32-bit form to its 64-bit word."""
    shift = _SHORT.get(low & 63)
    if shift is None:
        return low
    immediate = (low >> shift) - (1 << 32 - shift if low >> 31 else 0)
    return (immediate & 0xFFFF_FFFF) << 32 | low & (1 << shift) - 1


def narrow(word: int) -> int | None:
    """Narrows a 64-bit word to the 32-bit form; ``None`` if it has none."""
    low, high = word & 0xFFFF_FFFF, word >> 32
    shift = _SHORT.get(low & 63)
    if shift is not None:
        low |= (high << shift) & 0xFFFF_FFFF
    return low if expand(low) == word else None


@dataclass(frozen=True)
class _Short(Storage):
    """Storage of mode 1: only the low word."""

    def store(self, word):
        low = narrow(word)
        if low is None:
            raise ValueError(
                "the instruction has no 32-bit form (its offset or immediate does not fit)"
            )
        return low.to_bytes(4, "little")

    def load(self, data, offset=0):
        if offset + 4 > len(data):
            return None
        return expand(int.from_bytes(data[offset : offset + 4], "little")), 4


@dataclass(frozen=True)
class _Packed(Storage):
    """Storage of mode 2: 32-bit words, in which an opcode above 32 marks the first half of a 64-bit
    word."""

    def store(self, word):
        low = narrow(word)
        if low is not None and word & 63 <= WIDE:
            return low.to_bytes(4, "little")
        if not 0 < word & 63 < WIDE:
            raise ValueError("the instruction has no packed form (its upper half is not zero)")
        return (word + WIDE).to_bytes(8, "little")

    def raw(self, value):
        wide = value & 63 > WIDE
        if not 0 <= value < 1 << (64 if wide else 32):
            raise ValueError(
                "the word does not fit, expected 0 to 0xffffffff, or 0xffffffffffffffff with "
                "an opcode "
                f"above {WIDE}"
            )
        return value.to_bytes(8 if wide else 4, "little")

    def load(self, data, offset=0):
        if offset + 4 > len(data):
            return None
        low = int.from_bytes(data[offset : offset + 4], "little")
        if low & 63 <= WIDE:
            return expand(low), 4
        if offset + 8 > len(data):
            return None
        return low - WIDE | int.from_bytes(data[offset + 4 : offset + 8], "little") << 32, 8


#: By number of the mode in the image.
STORAGES = (Storage(64, 8, name="64"), _Short(64, 4, name="32"), _Packed(64, 4, name="packed"))
MODE_NAMES = tuple(s.name for s in STORAGES)
MODES = {name: mode for mode, name in enumerate(MODE_NAMES)}
