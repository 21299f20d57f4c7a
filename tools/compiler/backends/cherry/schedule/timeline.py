# SPDX-License-Identifier: BSD-2-Clause
"""Cycle estimate of a program list, with DMA overlapping the programs (specification, section
7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ......gateware.cores.cherry.image import row_words

if TYPE_CHECKING:
    from .transfers import Transfer

__all__ = ["Timeline", "image_cycles", "transfer_cycles"]

#: Cycles for 16 bits of main memory, of a descriptor, of a row, of a list's entry and end, of a
#: step's begin.
_HALF_WORD, _DESCRIPTOR, _ROW, _ENTRY, _BEGIN = 1.04, 120, 2, 60, 20


def transfer_cycles(transfer: Transfer) -> float:
    """DMA cycles of a descriptor."""
    if transfer.op == "fill":
        return _DESCRIPTOR + transfer.rows * transfer.cols
    words = row_words(transfer.fmt, transfer.cols)
    return _DESCRIPTOR + transfer.rows * max(
        2 * words * _HALF_WORD + _ROW * (transfer.rows > 1), transfer.cols
    )


def image_cycles(words: int) -> float:
    """DMA cycles to load a program's image."""
    return 40 + 2 * words * _HALF_WORD


class Timeline:
    """Schedule of the steps' programs and DMA transfers, extended by one step at a time.

    Attributes
    ----------
    end : cycle at which all that was told so far is over
    """

    def __init__(self):
        self._dma = 100.0
        self._start = self._program = self._left = 0.0
        self._late = 0.0

    def step(
        self, cycles: int, coming: float, leaving: float, prefetch: bool, defer: bool
    ) -> float:
        """Adds a step and returns the cycles that it adds: ``cycles`` of its program, ``coming`` of
        its image and in list, ``leaving`` of its out list."""
        before = self.end
        begin = self._start if prefetch else max(self._program, self._left)
        self._dma = max(self._dma, begin) + self._late + coming + _ENTRY
        self._start = max(self._program, self._left, self._dma) + _BEGIN
        self._program = self._start + cycles
        self._late = 0.0
        if leaving and defer:
            self._late = leaving
        elif leaving:
            self._left = self._dma = max(self._dma, self._program) + leaving
        return self.end - before

    @property
    def end(self) -> float:
        """Cycle at which all steps added so far have ended."""
        return max(self._program, self._left)
