# SPDX-License-Identifier: BSD-2-Clause
"""Operations element by element, with broadcasting."""
from .errors import KernelError
from .stored import Stored

__all__ = ["ElementwiseOps"]

_UNARY = ("relu", "gtz", "exp", "log")
_BINARY = ("add", "sub", "mul", "div", "pow")


class ElementwiseOps:
    """Methods of :class:`~.module.Module`."""

    def unary(self, op, x, out=None):
        """``op`` of every element: relu, gtz, exp, log. The result is a new matrix, or ``out`` (which may be ``x``)."""
        if op not in _UNARY:
            raise KernelError(f"no unary operation {op!r}; there are {', '.join(_UNARY)}")
        return self.chain(x.rows, x.cols, [("INPUT", x), op], out)

    def binary(self, op, x, y, out=None):
        """``x op y``: add, sub, mul, div, pow. A dimension of 1 is repeated."""
        if op not in _BINARY:
            raise KernelError(f"no binary operation {op!r}; there are {', '.join(_BINARY)}")
        rows, cols = max(x.rows, y.rows), max(x.cols, y.cols)
        return self.chain(rows, cols, [("INPUT", x), ("WEIGHTS", y), op], out)

    def chain(self, rows, cols, parts, out=None):
        """Several instructions on each tile, the last of which leaves OUTPUT.

        ``parts``: pairs (register, matrix) are loads, broadcast to ``rows`` x ``cols``; text is an instruction. What is the same for
        all tiles of a row of tiles is loaded once. With a matrix in main memory among them the result is one, too.
        """
        if any(isinstance(m, Stored) for m in (out, *(part[1] for part in parts if not isinstance(part, str)))):
            return self._chain_blocks(rows, cols, parts, out)
        out = self.matrix(rows, cols) if out is None else out
        if out.shape != (rows, cols):
            raise KernelError(f"a result of {rows}x{cols} does not fit a matrix of {out.rows}x{out.cols}")
        self._chain_into(self.program(), parts, out)
        return out

    def _chain_into(self, program, parts, out):
        """The loops of :meth:`chain` as ``program``, on matrices in the scratchpad."""
        from .module import tiles
        rows, cols = out.shape
        # The longer way is the one that runs in any order.
        across = tiles(cols) >= tiles(rows)
        outer, inner = program.loop(tiles(rows if across else cols)), program.loop(tiles(cols if across else rows))
        row, col = (outer, inner) if across else (inner, outer)
        with program.ordered(outer), program.independent(inner):
            for part in parts:
                if isinstance(part, str):
                    program(part)
                else:
                    register, matrix = part
                    program(f"load {self.access(program, matrix.broadcast(rows, cols), row, col)}, {register}")
            program(f"store {self.access(program, out, row, col)}, OUTPUT")

    def copy(self, x, out=None):
        """The same elements; with ``x.transposed`` the transposed matrix."""
        return self.chain(x.rows, x.cols, [("OUTPUT", x)], out)

    def maximum(self, x, y, out=None):
        """The larger of two elements: relu(x - y) + y."""
        rows, cols = max(x.rows, y.rows), max(x.cols, y.cols)
        return self.chain(rows, cols, [("INPUT", x), ("WEIGHTS", y), "sub", "copy INPUT, OUTPUT", "relu", "copy INPUT, OUTPUT", "add"],
                          out)
