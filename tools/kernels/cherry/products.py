# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products and convolutions."""
from .errors import KernelError
from .stored import Stored

__all__ = ["ProductOps"]


class ProductOps:
    """Methods of :class:`~.module.Module`."""

    def matmul(self, a, b, out=None, *, accumulate=False):
        """``a @ b`` (either may be ``.transposed``); ``accumulate``: added to what ``out`` holds.

        Tiles of a row of the result run side by side, one in each context, and keep their sums there over the whole inner dimension; the
        tile of ``a`` is the same for all of them and loaded once. Of factors in main memory the result lies there, too.
        """
        if a.cols != b.rows:
            raise KernelError(f"{a.rows}x{a.cols} by {b.rows}x{b.cols}: the inner sizes differ")
        if any(isinstance(m, Stored) for m in (a, b, out)):
            return self._matmul_blocks(a, b, out, accumulate)
        out = self.matrix(a.rows, b.cols) if out is None else out
        if out.shape != (a.rows, b.cols):
            raise KernelError(f"a product of {a.rows}x{b.cols} does not fit a matrix of {out.rows}x{out.cols}")
        if out.stride_x != 1:
            raise KernelError("a product is written to a matrix that is not transposed")
        self._product_into(self.program, a, b, out, accumulate)
        return out

    def _product_into(self, make, a, b, out, accumulate):
        """The loops of :meth:`matmul` as the program that ``make`` gives, on matrices in the scratchpad."""
        from .module import divisor, tiles
        side = divisor(tiles(b.cols), self.contexts)
        program = make(persistent=side)
        down, along = program.outer(tiles(a.rows)), program.outer(tiles(b.cols) // side)
        inner, beside, end = program.outer(tiles(a.cols)), program.loop(side), program.loop(side)

        def result(loop):
            return self.access(program, out, down, loop, **program.along(along, 4 * side))
        with program.ordered(down), program.ordered(along):
            if accumulate:
                begin = program.loop(side)
                with program.independent(begin):
                    program(f"load {result(begin)}, ACC")
            else:
                program("zero ACC")         # for all contexts at once
            with program.ordered(inner):
                with program.independent(beside):
                    program(f"load {self.access(program, a, down, inner)}, INPUT",
                            f"load {self.access(program, b, inner, beside, **program.along(along, 4 * side * b.stride_x))}, WEIGHTS", "matmul")
            with program.independent(end):
                program(f"store {result(end)}, ACC")
        return program

    def conv3x3(self, x, weights, channels, height, width, filters):
        """Convolution of ``channels`` planes with a border of one pixel by 3x3 weights; a matrix of ``filters`` planes.

        ``x``: channels x ((height + 2) * (width + 2)), a plane a row, border included. ``weights``: (9 * channels) x filters, ordered row,
        column, channel. The result: filters x (height * width). ``channels``, ``width`` and ``filters`` are multiples of 4, ``height`` at
        most the number of contexts.
        """
        if channels % 4 or width % 4 or filters % 4:
            raise KernelError(f"channels, width and filters must be multiples of 4, not {channels}, {width}, {filters}")
        if height > self.contexts:
            raise KernelError(f"a height of {height} needs as many contexts, there are {self.contexts}")
        if x.shape != (channels, (height + 2) * (width + 2)) or weights.shape != (9 * channels, filters):
            raise KernelError(f"planes of {x.rows}x{x.cols} and weights of {weights.rows}x{weights.cols} do not fit a convolution of "
                              f"{channels} to {filters} channels, {height}x{width}")
        out = self.matrix(filters, height * width)
        program = self.program(persistent=height)
        block, column = program.loop(filters // 4), program.loop(width // 4)
        ky, kx, channel = program.loop(3), program.loop(3), program.loop(channels // 4)
        row, end = program.loop(height), program.loop(height)
        line = width + 2
        # Four pixels of a line by four channels; four channels by four filters; four pixels by four filters.
        pixels = program.unit(x.address, x.stride_y, 1, **{column: 4, ky: line, kx: 1, channel: 4 * x.stride_y, row: line})
        taps = program.unit(weights.address, 1, weights.stride_y, **{
            block: 4, ky: 3 * channels * weights.stride_y, kx: channels * weights.stride_y, channel: 4 * weights.stride_y})
        result = program.unit(out.address, out.stride_y, 1, **{block: 4 * out.stride_y, column: 4, end: width})
        with program.ordered(block), program.ordered(column):
            program("zero ACC")
            with program.ordered(ky), program.ordered(kx), program.ordered(channel):
                with program.independent(row):
                    # The weights first: they have a second place to go to while the product before is at work, the pixels have not.
                    program(f"load {taps}, WEIGHTS", f"load {pixels}, INPUT", "matmul")
            with program.independent(end):
                program(f"store {result}, ACC")
        return out
