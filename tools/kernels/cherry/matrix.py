# SPDX-License-Identifier: BSD-2-Clause
"""Matrices in the scratchpad and what is known of their padding."""

from dataclasses import dataclass, field, replace

from ..inputs import KernelError
from .padding import Area

__all__ = ["TILE", "Matrix", "check_repeats", "divisor", "tiles"]

TILE = 4


def tiles(size):
    """Tiles that cover ``size`` elements."""
    return -(-size // TILE)


def divisor(number, limit):
    """The largest divisor of ``number`` that is at most ``limit``."""
    return max(k for k in range(1, min(number, limit) + 1) if number % k == 0)


def check_repeats(matrix, rows, cols):
    """Refuses a matrix that cannot be repeated to ``rows`` x ``cols``."""
    if matrix.rows not in (1, rows) or matrix.cols not in (1, cols):
        raise KernelError(
            f"a matrix of {matrix.rows}x{matrix.cols} cannot be repeated to {rows}x{cols}"
        )


@dataclass(frozen=True)
class Matrix:
    """A matrix in the scratchpad, padded to whole tiles: ``rows`` x ``cols`` of it are meant.

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
    def shape(self):
        return self.rows, self.cols

    @property
    def transposed(self):
        """The same elements, rows and columns exchanged."""
        return replace(
            self, rows=self.cols, cols=self.rows, stride_y=self.stride_x, stride_x=self.stride_y
        )

    @property
    def repeated(self):
        """Whether elements stand in several places, so that it cannot be written."""
        return self.area.everywhere is not None or not self.stride_x or not self.stride_y

    @property
    def runs_on(self):
        """Whether what is repeated goes on in the padding."""
        return bool(
            self.cols % TILE and not self.stride_x or self.rows % TILE and not self.stride_y
        )

    @property
    def padding(self):
        """Pattern of all elements of its padding (``padding.ZERO``, ``padding.LOWEST``, others),
        where that is known; else ``None``."""
        if self.area.everywhere is not None:
            return self.area.everywhere
        return None if self.runs_on else self.area.padding

    def broadcast(self, rows, cols):
        """Repeated to ``rows`` x ``cols``; a dimension of 1 may be repeated."""
        check_repeats(self, rows, cols)
        return replace(
            self,
            rows=rows,
            cols=cols,
            stride_y=self.stride_y if self.rows == rows else 0,
            stride_x=self.stride_x if self.cols == cols else 0,
        )
