# SPDX-License-Identifier: BSD-2-Clause
"""What operations take: matrices of their own module, where they can work on them."""

from ..inputs import KernelError
from .matrix import Matrix
from .stored import Stored

__all__ = ["operands"]


def operands(module, what, *matrices, stored=True):
    """Refuses what is no matrix of ``module``; ``stored``: those in main memory are taken."""
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
