# SPDX-License-Identifier: BSD-2-Clause
"""Bit-plane layout: vectors transposed into a program's words, one bit of sixteen elements per
word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BitPlanes"]


@dataclass(frozen=True)
class BitPlanes:
    """Layout of vectors in IMAGine's ``mv_write`` words: bit b of elements k to k + 15 is the low
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
    shape: tuple[int, ...]
    slots: tuple[tuple[int, int, int, int], ...]
    width: int
    in_program = True

    @property
    def first(self) -> int:
        """Byte address of the lowest word that is written."""
        return self.address + 4 * min(at for *_, at in self.slots)

    @property
    def end(self) -> int:
        """Byte address after the highest word that is written."""
        return self.address + 4 * max(at + self.width for *_, at in self.slots)

    def write(self, memory: np.ndarray, values: np.ndarray, base: int = 0) -> None:
        """Stores integers in ``memory`` (uint8, its first byte at address ``base``), which holds
        the program's words."""
        values = np.asarray(values, np.int64)
        flat = values.reshape(max(vector for vector, *_ in self.slots) + 1, -1)
        words = memory.view("<u2")
        bits = np.arange(self.width)[:, None]
        for vector, first, count, at in self.slots:
            planes = ((flat[vector, first : first + count] >> bits & 1) << np.arange(count)).sum(1)
            place = (self.address - base) // 2 + 2 * at
            words[place : place + 2 * self.width : 2] = planes.astype(np.uint16)

    def as_dict(self) -> dict[str, Any]:
        """Serialises the layout for a plan's file."""
        return {
            "planes": True,
            "address": self.address,
            "shape": list(self.shape),
            "slots": [list(s) for s in self.slots],
            "width": self.width,
        }

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> BitPlanes:
        """Deserialises a layout, the inverse of :meth:`as_dict`."""
        return cls(
            values["address"],
            tuple(values["shape"]),
            tuple(map(tuple, values["slots"])),
            values["width"],
        )
