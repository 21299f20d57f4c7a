# SPDX-License-Identifier: BSD-2-Clause
"""Matrices in the scratchpad, and the contents of their padding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..inputs import KernelError
from .padding import Area

if TYPE_CHECKING:
    from .stored import Stored

__all__ = ["TILE", "Matrix", "check_repeats", "divisor", "tiles"]

TILE = 4


def tiles(size: int) -> int:
    """Number of tiles that cover ``size`` elements."""
    return -(-size // TILE)


def divisor(number: int, limit: int) -> int:
    """The greatest divisor of ``number`` that is at most ``limit``."""
    return max(k for k in range(1, min(number, limit) + 1) if number % k == 0)


def check_repeats(matrix: Matrix | Stored, rows: int, cols: int) -> None:
    """Raises KernelError if a matrix cannot be broadcast to ``rows`` x ``cols``."""
    if matrix.rows not in (1, rows) or matrix.cols not in (1, cols):
        raise KernelError(
            f"a matrix of {matrix.rows}x{matrix.cols} cannot be repeated to {rows}x{cols}"
        )


@dataclass(frozen=True)
class Matrix:
    """A matrix in the scratchpad of ``rows`` x ``cols`` elements, padded to whole tiles.

    ``stride_y`` elements from row to row, ``stride_x`` from column to column; 0 repeats. ``area``:
    what all views of the same elements share.
    """

    address: int
    rows: int
    cols: int
    stride_y: int
    stride_x: int = 1
    area: Area = field(default_factory=Area, compare=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.cols

    @property
    def transposed(self) -> Matrix:
        """The same elements with rows and columns exchanged."""
        return replace(
            self, rows=self.cols, cols=self.rows, stride_y=self.stride_x, stride_x=self.stride_y
        )

    @property
    def repeated(self) -> bool:
        """Whether it is a broadcast view, which cannot be written."""
        return self.area.everywhere is not None or not self.stride_x or not self.stride_y

    @property
    def runs_on(self) -> bool:
        """Whether the broadcast extends into the padding."""
        return bool(
            self.cols % TILE and not self.stride_x or self.rows % TILE and not self.stride_y
        )

    @property
    def padding(self) -> int | None:
        """Bit pattern that all elements of its padding hold (``padding.ZERO``, ``padding.LOWEST``,
        others), ``None`` if it is not known."""
        if self.area.everywhere is not None:
            return self.area.everywhere
        return None if self.runs_on else self.area.padding

    def broadcast(self, rows: int, cols: int) -> Matrix:
        """A view broadcast to ``rows`` x ``cols``; a dimension of 1 may be repeated."""
        check_repeats(self, rows, cols)
        return replace(
            self,
            rows=rows,
            cols=cols,
            stride_y=self.stride_y if self.rows == rows else 0,
            stride_x=self.stride_x if self.cols == cols else 0,
        )
