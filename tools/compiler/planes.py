# SPDX-License-Identifier: BSD-2-Clause
"""Bit planes: vectors whose elements lie across the words of a program, one bit of sixteen elements
a word."""

from dataclasses import dataclass

import numpy as np

__all__ = ["BitPlanes"]


@dataclass(frozen=True)
class BitPlanes:
    """Vectors as IMAGine's ``mv_write`` words hold them: bit b of elements k to k + 15 in the low
    half of word ``at + b``.

    Attributes
    ----------
    address : byte address of the program
    shape : (inputs of a run, elements)
    slots : tuple of (vector, first element, elements, first word)
    width : bits of an element
    first, end : byte addresses of the words that are written, and behind them
    """

    address: int
    shape: tuple
    slots: tuple
    width: int
    in_program = True

    @property
    def first(self):
        return self.address + 4 * min(at for *_, at in self.slots)

    @property
    def end(self):
        return self.address + 4 * max(at + self.width for *_, at in self.slots)

    def write(self, memory, values, base=0):
        """Put whole numbers into ``memory`` (uint8, its first byte at address ``base``), which
        holds the program's words."""
        values = np.asarray(values, np.int64)
        flat = values.reshape(max(vector for vector, *_ in self.slots) + 1, -1)
        words = memory.view("<u2")
        bits = np.arange(self.width)[:, None]
        for vector, first, count, at in self.slots:
            planes = ((flat[vector, first : first + count] >> bits & 1) << np.arange(count)).sum(1)
            place = (self.address - base) // 2 + 2 * at
            words[place : place + 2 * self.width : 2] = planes.astype(np.uint16)

    def as_dict(self):
        return {
            "planes": True,
            "address": self.address,
            "shape": list(self.shape),
            "slots": [list(s) for s in self.slots],
            "width": self.width,
        }

    @classmethod
    def of_dict(cls, values):
        return cls(
            values["address"],
            tuple(values["shape"]),
            tuple(map(tuple, values["slots"])),
            values["width"],
        )
