# SPDX-License-Identifier: BSD-2-Clause
"""Sum and maximum over rows or columns."""

from ..inputs import KernelError
from .base import ModuleBase
from .matrix import TILE, Matrix, divisor, tiles
from .operands import operands
from .padding import LOWEST, ZERO

__all__ = ["ReduceOps"]


class ReduceOps(ModuleBase):
    """Mixin of :class:`~.module.Module` for reductions."""

    def reduce(self, op: str, x: Matrix, axis: int) -> Matrix:
        """Sum or maximum along ``axis``: 0 reduces columns to a row, 1 reduces rows to a column.

        Elements of the padding take part: it is filled with 0 or ``-inf`` before, unless it holds
        that or there is none that way.
        """
        if op not in ("sum", "max"):
            raise KernelError(f"no reduction {op!r}; there are sum, max")
        if axis not in (0, 1):
            raise KernelError(f"axis must be 0 or 1, not {axis!r}")
        operands(self, "a reduction", x, stored=False)
        self.holding(self._reduced(op, x.transposed if axis else x))
        if axis == 1:
            out = self.matrix(x.rows, 1)
            self._columns(op, x.transposed, out.transposed)
            return out
        out = self.matrix(1, x.cols)
        self._columns(op, x, out)
        return out

    @staticmethod
    def _reduced(op, x):
        """Operand of a reduction of columns: the matrix, and the value of its padding."""
        return x, {"sum": ZERO, "max": LOWEST}[op] if x.rows % TILE else None

    def _columns(self, op, x, out):
        """Reduces columns: tiles beside each other in contexts, which keep the running result in
        row 0 of ACC."""
        side = divisor(tiles(x.cols), self.contexts)
        reads = self._reduced(op, x)
        # Below the result is what it was made with, 0; beside it lie results of the padding.
        zero = out.cols % TILE == 0 or ZERO == (x.padding if reads[1] is None else reads[1])
        lowest = self.constant("-inf") if op == "max" else None
        program = self.program(
            persistent=side, reads=[reads], writes=[(out, ZERO if zero else None)]
        )
        along = program.outer(tiles(x.cols) // side)
        down, beside, end = program.outer(tiles(x.rows)), program.loop(side), program.loop(side)
        with program.ordered(along):
            # For all contexts at once.
            program(
                "zero ACC" if op == "sum" else f"load {program.unit(lowest.address, 0, 0)}, ACC"
            )
            with program.ordered(down):
                with program.independent(beside):
                    strides = program.along(along, 4 * side * x.stride_x)
                    source = self.access(program, x, down, beside, **strides)
                    program(f"load {source}, OUTPUT", f"{op} 1")
            with program.independent(end):
                strides = program.along(along, 4 * side * out.stride_x)
                program(f"store {self.access(program, out, None, end, **strides)}, ACC, 1, 4")
