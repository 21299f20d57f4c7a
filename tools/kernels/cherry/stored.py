# SPDX-License-Identifier: BSD-2-Clause
"""Matrices in main memory, of any size, and their formats (specification, sections 7.2 and 7.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ....gateware.cores.cherry.image import row_words
from ....gateware.cores.cherry.model.transfers import from_words, to_words
from ..inputs import KernelError
from .padding import Area

__all__ = ["FORMATS", "Stored", "from_array", "to_array"]

#: Format -> columns after which a word of main memory is full: where a row may be cut.
FORMATS = {"fp32": 1, "bf16": 2, "packed": 16}


@dataclass(frozen=True)
class Stored:
    """A matrix in main memory of ``rows`` x ``cols`` elements; operations on it are tiled.

    ``flipped``: what lies there are its columns, each as a row.
    """

    address: int
    rows: int
    cols: int
    fmt: str
    flipped: bool = False
    area: Area = field(default_factory=Area, compare=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.cols

    @property
    def transposed(self) -> Stored:
        """The same elements with rows and columns exchanged."""
        return replace(self, rows=self.cols, cols=self.rows, flipped=not self.flipped)

    @property
    def pitch(self) -> int:
        """Bytes from one stored row to the next."""
        return 4 * row_words(self.fmt, self.rows if self.flipped else self.cols)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.pitch * (self.cols if self.flipped else self.rows)

    def part(self, row: int, col: int) -> int:
        """Byte address of element (row, col), which must begin a word."""
        row, col = (col, row) if self.flipped else (row, col)
        if col % FORMATS[self.fmt]:
            raise KernelError(f"column {col} of a matrix in {self.fmt} does not begin a word")
        return self.address + row * self.pitch + 4 * row_words(self.fmt, col)


def from_array(array: np.ndarray, fmt: str) -> np.ndarray:
    """Encodes a float matrix as words of main memory, uint32 with one row per matrix row; rounded
    as DMA does."""
    rows = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.int64)
    return np.array([to_words(fmt, from_words("fp32", row, row.size)) for row in rows], np.uint32)


def to_array(words: np.ndarray, cols: int, fmt: str) -> np.ndarray:
    """Decodes words of main memory into the matrix of ``cols`` columns, float32."""
    rows = [to_words("fp32", from_words(fmt, row, cols)) for row in np.asarray(words, np.int64)]
    return np.array(rows, np.uint32).view(np.float32)
