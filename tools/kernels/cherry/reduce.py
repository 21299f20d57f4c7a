# SPDX-License-Identifier: BSD-2-Clause
"""Sums and maxima of rows and columns."""
from .errors import KernelError

__all__ = ["ReduceOps"]


class ReduceOps:
    """Methods of :class:`~.module.Module`."""

    def reduce(self, op, x, axis):
        """Sum or maximum along ``axis``: 0 down the columns (a row comes out), 1 along the rows (a column).

        Elements of the padding take part: sums are right where it is 0, maxima where it is ``-inf`` (``fill`` of the matrix) or the
        number of rows (columns) is a multiple of 4.
        """
        if op not in ("sum", "max"):
            raise KernelError(f"no reduction {op!r}; there are sum, max")
        if axis not in (0, 1):
            raise KernelError(f"axis must be 0 or 1, not {axis!r}")
        if axis == 1:
            out = self.matrix(x.rows, 1)
            self._columns(op, x.transposed, out.transposed)
            return out
        out = self.matrix(1, x.cols)
        self._columns(op, x, out)
        return out

    def _columns(self, op, x, out):
        """Reduces columns: tiles beside each other in contexts, which keep the running result in row 0 of ACC."""
        from .module import divisor, tiles
        side = divisor(tiles(x.cols), self.contexts)
        program = self.program(persistent=side)
        along = program.outer(tiles(x.cols) // side)
        down, beside, end = program.outer(tiles(x.rows)), program.loop(side), program.loop(side)
        with program.ordered(along):
            # For all contexts at once.
            program("zero ACC" if op == "sum" else f"load {program.unit(self.constant('-inf').address, 0, 0)}, ACC")
            with program.ordered(down):
                with program.independent(beside):
                    program(f"load {self.access(program, x, down, beside, **program.along(along, 4 * side * x.stride_x))}, OUTPUT", f"{op} 1")
            with program.independent(end):
                program(f"store {self.access(program, out, None, end, **program.along(along, 4 * side * out.stride_x))}, ACC, 1, 4")
