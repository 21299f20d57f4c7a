# SPDX-License-Identifier: BSD-2-Clause
"""Timing of a build's main memory: cycles of DMA descriptors and program images, by the memory in
which their words lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ......gateware.cores.cherry.image import row_words

if TYPE_CHECKING:
    from .transfers import Transfer

__all__ = ["Memory", "image_cycles", "main_memory", "transfer_cycles"]

#: Cycles of a descriptor, of a row, of an image.
_DESCRIPTOR, _ROW, _IMAGE = 120, 2, 40
#: Cycles of a descriptor whose rows all lie in on-chip memory, where a row takes only its words.
_ON_CHIP_DESCRIPTOR = 110
#: Cycles that 16 bits take from a 16-bit SDRAM, and from DDR3.
_SDRAM, _DDR3 = 1.04, 0.27


@dataclass(frozen=True)
class Memory:
    """Timing of main memory: ``half_word`` cycles for 16 bits. The bytes below ``border`` are on
    chip, where a word takes a cycle."""

    half_word: float
    border: int = 0


def main_memory(info: Mapping[str, Any]) -> Memory:
    """The memory timing of a build, from its info text (``kind``, ``on_chip``). Memories other than
    DDR3 are taken for a 16-bit SDRAM."""
    return Memory(
        half_word=_DDR3 if info.get("kind") == "DDR3" else _SDRAM,
        border=(info.get("on_chip") or {}).get("size", 0),
    )


def _words_on_chip(transfer: Transfer, border: int) -> int:
    """Words of a transfer that lie below byte address ``border``."""
    words = row_words(transfer.fmt, transfer.cols)
    pitch = transfer.pitch if transfer.rows > 1 else 0
    if transfer.main + (transfer.rows - 1) * pitch + 4 * words <= border:
        return transfer.rows * words
    if transfer.main >= border:
        return 0
    begins = range(transfer.main, border, pitch) if pitch else [transfer.main] * transfer.rows
    return sum(min(words, (border - begin) // 4) for begin in begins[: transfer.rows])


def transfer_cycles(transfer: Transfer, memory: Memory) -> float:
    """DMA cycles of a descriptor."""
    if transfer.op == "fill":
        return _DESCRIPTOR + transfer.rows * transfer.cols
    words, rows = row_words(transfer.fmt, transfer.cols), transfer.rows
    near = _words_on_chip(transfer, memory.border) if memory.border else 0
    if near == rows * words:
        return _ON_CHIP_DESCRIPTOR + near
    # The part of the rows that lies in the slower memory.
    far = rows * max(2 * words * memory.half_word + _ROW * (rows > 1), words)
    return _DESCRIPTOR + near + far * (1 - near / (rows * words))


def image_cycles(words: int, memory: Memory, on_chip: bool = False) -> float:
    """DMA cycles to load a program's image from on-chip memory or the other."""
    return _IMAGE + (words if on_chip else 2 * words * memory.half_word)
