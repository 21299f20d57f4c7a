# SPDX-License-Identifier: BSD-2-Clause
"""Operations element by element, with broadcasting."""
from ....gateware.cores.cherry.isa import UNITS
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
        self._chain_into(self.program, parts, out)
        return out

    def _chain_into(self, make, parts, out):
        """The loops of :meth:`chain` as the program that ``make`` gives, on matrices in the scratchpad.

        Results are stored a turn late, behind the loads of the next tiles, which so do not wait for them; each context keeps its own until then.
        """
        from .module import TILE, divisor, tiles
        rows, cols = (tiles(size) for size in out.shape)
        # The longer way is the one that runs in any order.
        across = cols >= rows
        long, short = (cols, rows) if across else (rows, cols)
        side = divisor(long, self.contexts)
        # Where hardly more than one tile fits a turn, or address units are few, iterations run in groups of as many as there are contexts, as they come.
        units = 2 * (1 + sum(not isinstance(part, str) for part in parts))
        late = side > 1 and 2 * side >= min(long, self.contexts) and short * long > side and units <= UNITS
        if not late:
            side, blocks, turns = long, 1, short
        elif short > 1:
            blocks, turns = long // side, short
        else:
            blocks, turns = 1, long // side
        # What a turn walks along: the short way, or the long one where that is all there is.
        step = (0, side) if short == 1 else (1, 0)
        program = make(persistent=side if late else 0)
        over, turn = program.outer(blocks), program.outer(turns - late)

        def access(matrix, beside, start, loop):
            """Tiles of ``matrix`` from turn ``start`` on; ``loop``: that over turns, where it is under way."""
            def elements(down, right):
                down, right = (down, right) if across else (right, down)
                return TILE * (down * matrix.stride_y + right * matrix.stride_x)
            return program.unit(matrix.address + start * elements(*step), matrix.stride_x, matrix.stride_y, **{
                beside: elements(0, 1), **program.along(over, elements(0, side)), **program.along(loop, elements(*step))})

        def lines(parts, beside, start, loop=None):
            return [part if isinstance(part, str) else f"load {access(part[1].broadcast(*out.shape), beside, start, loop)}, {part[0]}"
                    for part in parts]

        def store(beside, start, loop=None):
            return f"store {access(out, beside, start, loop)}, OUTPUT"

        with program.ordered(over):
            if not late:
                beside = program.loop(side)
                with program.ordered(turn), program.independent(beside):
                    program(*lines(parts, beside, 0, turn), store(beside, 0, turn))
                return program
            first, beside, last = (program.loop(side) for _ in range(3))
            # Loads that leave OUTPUT alone go before the store of the turn before.
            ahead = next(k for k, part in enumerate([*parts, ""]) if isinstance(part, str) or part[0] == "OUTPUT")
            with program.independent(first):
                program(*lines(parts, first, 0))
            with program.ordered(turn), program.independent(beside):
                program(*lines(parts[:ahead], beside, 1, turn), store(beside, 0, turn), *lines(parts[ahead:], beside, 1, turn))
            with program.independent(last):
                program(store(last, turns - 1))
        return program

    def copy(self, x, out=None):
        """The same elements; with ``x.transposed`` the transposed matrix."""
        return self.chain(x.rows, x.cols, [("OUTPUT", x)], out)

    def maximum(self, x, y, out=None):
        """The larger of two elements: relu(x - y) + y."""
        rows, cols = max(x.rows, y.rows), max(x.cols, y.cols)
        return self.chain(rows, cols, [("INPUT", x), ("WEIGHTS", y), "sub", "copy INPUT, OUTPUT", "relu", "copy INPUT, OUTPUT", "add"],
                          out)
