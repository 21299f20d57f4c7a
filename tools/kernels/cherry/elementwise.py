# SPDX-License-Identifier: BSD-2-Clause
"""Elementwise operations with broadcasting."""

from collections.abc import Sequence
from functools import partial

from ....gateware.cores.cherry.isa import SPECIAL, UNITS
from ....gateware.cores.cherry.operands import TILES
from ..inputs import KernelError, check_whole
from .base import ModuleBase
from .matrix import TILE, Matrix, check_repeats, divisor, tiles
from .operands import operands
from .padding import left_by, read_part
from .stored import Stored

__all__ = ["ElementwiseOps"]

_UNARY = ("relu", "gtz", "exp", "log")
_BINARY = ("add", "sub", "mul", "div", "pow")


class ElementwiseOps(ModuleBase):
    """Mixin of :class:`~.module.Module` for elementwise operations."""

    def unary(
        self, op: str, x: Matrix | Stored, out: Matrix | Stored | None = None
    ) -> Matrix | Stored:
        """Applies ``op`` (relu, gtz, exp, log) to every element. The result is a new matrix, or
        ``out`` (which may be ``x``)."""
        if op not in _UNARY:
            raise KernelError(f"no unary operation {op!r}; there are {', '.join(_UNARY)}")
        operands(self, f"operation {op}", x)
        return self.chain(x.rows, x.cols, [("INPUT", x), op], out)

    def binary(
        self, op: str, x: Matrix | Stored, y: Matrix | Stored, out: Matrix | Stored | None = None
    ) -> Matrix | Stored:
        """Computes ``x op y`` (add, sub, mul, div, pow). A dimension of 1 is broadcast."""
        if op not in _BINARY:
            raise KernelError(f"no binary operation {op!r}; there are {', '.join(_BINARY)}")
        operands(self, f"operation {op}", x, y)
        rows, cols = max(x.rows, y.rows), max(x.cols, y.cols)
        return self.chain(rows, cols, [("INPUT", x), ("WEIGHTS", y), op], out)

    def chain(
        self,
        rows: int,
        cols: int,
        parts: Sequence[str | tuple[str, Matrix | Stored]],
        out: Matrix | Stored | None = None,
    ) -> Matrix | Stored:
        """Fused operation: several instructions on each tile, the last of which leaves OUTPUT.

        ``parts``: pairs (register, matrix) are loads, broadcast to ``rows`` x ``cols``; text is an
        instruction. What is the same for all tiles of a row of tiles is loaded once. With a matrix
        in main memory among them the result is one, too.
        """
        rows, cols = check_whole("rows", rows, 1), check_whole("cols", cols, 1)
        matrices = self._loads_of(parts)
        operands(self, "a chain", *matrices)
        operands(self, "the result of a chain", *[] if out is None else [out])
        if len(set(matrices)) >= UNITS:
            raise KernelError(
                f"a chain of {len(set(matrices))} operands takes more than the {UNITS} address "
                f"units that there are"
            )
        for m in matrices:
            check_repeats(m, rows, cols)
        left = left_by(
            parts,
            lambda m: m.broadcast(rows, cols).padding if isinstance(m, Matrix) else None,
            self.acc_frac,
        )
        loaded = [m for m in matrices if isinstance(m, Matrix)]
        if isinstance(out, Stored) or len(loaded) < len(matrices):
            return self._chain_blocks(rows, cols, parts, out)
        if out is not None and out.shape != (rows, cols):
            raise KernelError(
                f"a result of {rows}x{cols} does not fit a matrix of {out.rows}x{out.cols}"
            )
        for m in loaded:
            whole = m.broadcast(rows, cols)
            if (
                out is not None
                and m.address == out.address
                and (whole.stride_y, whole.stride_x) != (out.stride_y, out.stride_x)
            ):
                raise KernelError(
                    "an operation cannot work in place on a matrix that it reads transposed or "
                    "repeated"
                )
        reads: list[tuple[Matrix, int | None]] = [(m, None) for m in dict.fromkeys(loaded)]
        self.holding(*reads)
        out = self.matrix(rows, cols) if out is None else out
        self._chain_into(partial(self.program, reads=reads, writes=[(out, left)]), parts, out)
        return out

    def _loads_of(self, parts):
        """The matrices that a chain loads, its parts checked."""
        found = []
        if not isinstance(parts, (list, tuple)):
            raise KernelError(f"the parts of a chain are a list, not {type(parts).__name__}")
        for part in parts:
            if isinstance(part, str):
                name, _ = read_part(part)
                if name in SPECIAL and not self.sfu_lanes:
                    raise KernelError(
                        f"{name} needs special functions, of which this build has none "
                        f"(sfu_lanes 0)"
                    )
            elif isinstance(part, tuple) and len(part) == 2 and part[0] in TILES:
                found.append(part[1])
            else:
                raise KernelError(
                    f"a part of a chain is an instruction or a pair (register, matrix) with "
                    f"one of {', '.join(TILES)}, not "
                    f"{part!r}"
                )
        return found

    def _chain_into(self, make, parts, out):
        """The loops of :meth:`chain` as the program that ``make`` gives, on matrices in the
        scratchpad.

        Results are stored a turn late, behind the loads of the next tiles, which so do not wait for
        them; each context keeps its own until then.
        """
        rows, cols = (tiles(size) for size in out.shape)
        # The longer way is the one that runs in any order.
        across = cols >= rows
        long, short = (cols, rows) if across else (rows, cols)
        side = divisor(long, self.contexts)
        # Where hardly more than one tile fits a turn, or address units are few, iterations run in
        # groups of as many as there are contexts, as they come.
        units = 2 * (1 + sum(not isinstance(part, str) for part in parts))
        late = (
            side > 1
            and 2 * side >= min(long, self.contexts)
            and short * long > side
            and units <= UNITS
        )
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
            """Tiles of ``matrix`` from turn ``start`` on; ``loop``: that over turns, where it is
            under way."""

            def elements(down, right):
                down, right = (down, right) if across else (right, down)
                return TILE * (down * matrix.stride_y + right * matrix.stride_x)

            return program.unit(
                matrix.address + start * elements(*step),
                matrix.stride_x,
                matrix.stride_y,
                **{
                    beside: elements(0, 1),
                    **program.along(over, elements(0, side)),
                    **program.along(loop, elements(*step)),
                },
            )

        def lines(parts, beside, start, loop=None):
            return [
                part
                if isinstance(part, str)
                else f"load {access(part[1].broadcast(*out.shape), beside, start, loop)}, {part[0]}"
                for part in parts
            ]

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
            ahead = next(
                k
                for k, part in enumerate([*parts, ""])
                if isinstance(part, str) or part[0] == "OUTPUT"
            )
            with program.independent(first):
                program(*lines(parts, first, 0))
            with program.ordered(turn), program.independent(beside):
                program(
                    *lines(parts[:ahead], beside, 1, turn),
                    store(beside, 0, turn),
                    *lines(parts[ahead:], beside, 1, turn),
                )
            with program.independent(last):
                program(store(last, turns - 1))
        return program

    def copy(self, x: Matrix | Stored, out: Matrix | Stored | None = None) -> Matrix | Stored:
        """Copies a matrix; of ``x.transposed`` the transposed matrix."""
        operands(self, "copy", x)
        return self.chain(x.rows, x.cols, [("OUTPUT", x)], out)

    def maximum(
        self, x: Matrix | Stored, y: Matrix | Stored, out: Matrix | Stored | None = None
    ) -> Matrix | Stored:
        """Elementwise maximum: relu(x - y) + y."""
        operands(self, "maximum", x, y)
        rows, cols = max(x.rows, y.rows), max(x.cols, y.cols)
        return self.chain(
            rows,
            cols,
            [
                ("INPUT", x),
                ("WEIGHTS", y),
                "sub",
                "copy INPUT, OUTPUT",
                "relu",
                "copy INPUT, OUTPUT",
                "add",
            ],
            out,
        )
