# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products and convolutions."""

from dataclasses import replace
from functools import partial

from ..inputs import KernelError, check_whole
from .base import ModuleBase
from .matrix import TILE, Matrix, divisor, tiles
from .operands import operands
from .padding import ZERO
from .stored import Stored

__all__ = ["ProductOps"]


class ProductOps(ModuleBase):
    """Mixin of :class:`~.module.Module` for products."""

    def matmul(
        self,
        a: Matrix | Stored,
        b: Matrix | Stored,
        out: Matrix | Stored | None = None,
        *,
        accumulate: bool = False,
    ) -> Matrix | Stored:
        """Matrix product ``a @ b`` (either may be ``.transposed``); ``accumulate``: added to
        ``out``.

        Tiles of a row of the result run side by side, one in each context, and keep their sums
        there over the whole inner dimension; the tile of ``a`` is the same for all of them and
        loaded once. Of factors in main memory the result lies there, too.
        """
        operands(self, "a product", a, b)
        operands(self, "the result of a product", *[] if out is None else [out])
        if a.cols != b.rows:
            raise KernelError(f"{a.rows}x{a.cols} by {b.rows}x{b.cols}: the inner sizes differ")
        if accumulate and out is None:
            raise KernelError("accumulate adds to a result that is there: give it as out")
        if isinstance(a, Stored) or isinstance(b, Stored) or isinstance(out, Stored):
            return self._matmul_blocks(a, b, out, accumulate)
        # Beside the inner dimension elements of the padding of both are multiplied: 0 by 0 alone is
        # sure to be 0.
        reads: list[tuple[Matrix, int | None]] = [
            (m, ZERO if a.cols % TILE else None) for m in (a, b)
        ]
        if accumulate and out is not None:
            reads.append((out, None))
        if out is None:
            self.holding(*reads)
            out = self.matrix(a.rows, b.cols)
        if out.shape != (a.rows, b.cols):
            raise KernelError(
                f"a product of {a.rows}x{b.cols} does not fit a matrix of {out.rows}x{out.cols}"
            )
        if out.stride_x != 1:
            raise KernelError("a product is written to a matrix that is not transposed")
        if out.address in (a.address, b.address):
            raise KernelError("a product cannot take the place of a factor")
        self._product_into(
            partial(self.program, reads=reads, writes=[(out, None)]), a, b, out, accumulate
        )
        return out

    def _product_into(self, make, a, b, out, accumulate):
        """The loops of :meth:`matmul` as the program that ``make`` gives, on matrices in the
        scratchpad.

        A row of tiles is stored in the first step of the next row, behind its loads, which so do
        not wait for the last sums.
        """
        rows, steps, side = tiles(a.rows), tiles(a.cols), divisor(tiles(b.cols), self.contexts)
        program = make(persistent=side)
        along, every = program.outer(tiles(b.cols) // side), program.outer(steps)

        def access(matrix, row, col, *loops, **coefficients):
            """Tiles of ``matrix`` from tile (``row``, ``col``) on."""
            start = replace(
                matrix,
                address=matrix.address + TILE * (row * matrix.stride_y + col * matrix.stride_x),
            )
            return self.access(program, start, *loops, **coefficients)

        def loads(beside, row, row_loop, step, step_loop):
            inputs = access(a, row, step, row_loop, step_loop)
            strides = program.along(along, TILE * side * b.stride_x)
            weights = access(b, step, 0, step_loop, beside, **strides)
            return f"load {inputs}, INPUT", f"load {weights}, WEIGHTS"

        def result(beside, row, row_loop=None):
            return access(out, row, 0, row_loop, beside, **program.along(along, TILE * side))

        def begin(beside, row, row_loop=None):
            return f"load {result(beside, row, row_loop)}, ACC" if accumulate else "zero ACC"

        # A loop for each length of its body.
        edge, step = program.loop(side), program.loop(side)
        with program.ordered(along):
            with program.independent(edge):
                program(begin(edge, 0))
            with program.ordered(every), program.independent(step):
                program(*loads(step, 0, None, 0, every), "matmul")
            if rows > 1:
                turn, down, others = (
                    program.loop(side),
                    program.outer(rows - 1),
                    program.outer(steps - 1),
                )
                with program.ordered(down):
                    with program.independent(turn):
                        program(
                            *loads(turn, 1, down, 0, None),
                            f"store {result(turn, 0, down)}, ACC",
                            begin(turn, 1, down),
                            "matmul",
                        )
                    if steps > 1:
                        with program.ordered(others), program.independent(step):
                            program(*loads(step, 1, down, 1, others), "matmul")
            with program.independent(edge):
                program(f"store {result(edge, rows - 1)}, ACC")
        return program

    def conv3x3(
        self, x: Matrix, weights: Matrix, channels: int, height: int, width: int, filters: int
    ) -> Matrix:
        """3x3 convolution of ``channels`` planes with a border of one pixel; the result is a matrix
        of ``filters`` planes.

        ``x``: channels x ((height + 2) * (width + 2)), a plane a row, border included. ``weights``:
        (9 * channels) x filters, ordered row, column, channel. The result: filters x (height *
        width). ``channels``, ``width`` and ``filters`` are multiples of 4, ``height`` at most the
        number of contexts.
        """
        operands(self, "a convolution", x, weights, stored=False)
        for what, size in (
            ("channels", channels),
            ("height", height),
            ("width", width),
            ("filters", filters),
        ):
            check_whole(what, size, 1)
        if channels % 4 or width % 4 or filters % 4:
            raise KernelError(
                f"channels, width and filters must be multiples of 4, not {channels}, {width}, "
                f"{filters}"
            )
        if height > self.contexts:
            raise KernelError(
                f"a height of {height} needs as many contexts, there are {self.contexts}"
            )
        if x.shape != (channels, (height + 2) * (width + 2)) or weights.shape != (
            9 * channels,
            filters,
        ):
            raise KernelError(
                f"planes of {x.rows}x{x.cols} and weights of {weights.rows}x{weights.cols} do "
                f"not fit a convolution of "
                f"{channels} to {filters} channels, {height}x{width}"
            )
        # Every tile that is read or written holds elements of the matrices alone.
        reads = [(x, None), (weights, None)]
        self.holding(*reads)
        out = self.matrix(filters, height * width)
        program = self.program(persistent=height, reads=reads, writes=[(out, None)])
        block, column = program.loop(filters // 4), program.loop(width // 4)
        ky, kx, channel = program.loop(3), program.loop(3), program.loop(channels // 4)
        row, end = program.loop(height), program.loop(height)
        line = width + 2
        # Four pixels of a line by four channels; four channels by four filters; four pixels by four
        # filters.
        step = x.stride_x
        pixels = program.unit(
            x.address,
            x.stride_y,
            step,
            **{
                column: 4 * step,
                ky: line * step,
                kx: step,
                channel: 4 * x.stride_y,
                row: line * step,
            },
        )
        taps = program.unit(
            weights.address,
            weights.stride_x,
            weights.stride_y,
            **{
                block: 4 * weights.stride_x,
                ky: 3 * channels * weights.stride_y,
                kx: channels * weights.stride_y,
                channel: 4 * weights.stride_y,
            },
        )
        result = program.unit(
            out.address, out.stride_y, 1, **{block: 4 * out.stride_y, column: 4, end: width}
        )
        with program.ordered(block), program.ordered(column):
            program("zero ACC")
            with program.ordered(ky), program.ordered(kx), program.ordered(channel):
                with program.independent(row):
                    # The weights first: they have a second place to go to while the product before
                    # is at work, the pixels have not.
                    program(f"load {taps}, WEIGHTS", f"load {pixels}, INPUT", "matmul")
            with program.independent(end):
                program(f"store {result}, ACC")
        return out
