# SPDX-License-Identifier: BSD-2-Clause
"""Operand checks: matrices must belong to the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs import KernelError
from .matrix import Matrix
from .stored import Stored

if TYPE_CHECKING:
    from .base import ModuleBase

__all__ = ["operands"]


def operands(
    module: ModuleBase, what: str, *matrices: Matrix | Stored, stored: bool = True
) -> None:
    """Raises KernelError for an operand that is no matrix of ``module``; ``stored``: matrices in
    main memory are allowed."""
    for matrix in matrices:
        if not isinstance(matrix, (Matrix, Stored)):
            raise KernelError(f"{what} takes matrices of a module, not {type(matrix).__name__}")
        if isinstance(matrix, Stored) and not stored:
            raise KernelError(
                f"{what} works in the scratchpad, a matrix of {matrix.rows}x{matrix.cols} lies "
                f"in main memory"
            )
        if matrix.area.owner not in (None, module):
            raise KernelError(
                f"{what}: a matrix of {matrix.rows}x{matrix.cols} belongs to another module"
            )
