# SPDX-License-Identifier: BSD-2-Clause
"""Tiled operations on matrices in main memory: DMA loads the next block's operands and stores the
last one's results while a program runs (specification, section 7.3)."""

from dataclasses import dataclass, replace

from ..inputs import KernelError
from .base import ModuleBase
from .matrix import Matrix, divisor
from .padding import clearing
from .stored import FORMATS, Stored

__all__ = ["BlockOps"]

TILE = 4
#: Cycles that the sums of a group of tiles take besides their products: they are loaded and stored,
#: and the chain of products drains.
_GROUP = 44
#: What a step takes besides its work, and cycles of DMA for 16 bits of main memory.
_STEP, _HALF_WORD = 200, 1.12
_BITS = {"fp32": 32, "bf16": 16, "packed": 18}


def _tiles(size):
    return -(-size // TILE)


def _pitch(cols):
    return TILE * (_tiles(cols) | 1)


def _room(rows, cols):
    """Elements of the scratchpad that a block takes."""
    return TILE * _tiles(rows) * _pitch(cols)


def _sizes(size, unit):
    """Sizes of blocks that a dimension may be cut into: as equal as multiples of ``unit`` allow."""
    units = -(-size // unit)
    found = {-(-units // count) for count in range(1, units + 1)}
    return sorted({min(size, unit * k) for k in found})


def _cuts(size, block):
    """(start, length) of the blocks of a dimension."""
    return [(at, min(block, size - at)) for at in range(0, size, block)]


@dataclass
class _Product:
    """A way of cutting a product into blocks of ``rows`` x ``inner`` by ``inner`` x ``cols``."""

    rows: int
    inner: int
    cols: int
    cycles: float


class BlockOps(ModuleBase):
    """Mixin of :class:`~.module.Module` for operands that are :class:`~.stored.Stored`.

    All of the scratchpad that no matrix takes at that moment is theirs, and free again afterwards.
    """

    def _largest(self, cuts, room):
        """The largest block (rows, cols) of which ``room`` says that it fits; the wider one of
        equals."""
        fitting = [
            (rows * cols, cols, rows)
            for rows in cuts[0]
            for cols in cuts[1]
            if room(rows, cols) <= self.elements - self._free
        ]
        if not fitting:
            raise KernelError(
                f"{self.elements - self._free} free elements of the scratchpad are too few for "
                f"any block"
            )
        return max(fitting)[:0:-1]

    # Blocks

    def _block(self, address, rows, cols, flipped=False):
        """The matrix of a block at ``address``; ``flipped``: its columns lie as rows."""
        if flipped:
            return Matrix(address, cols, rows, _pitch(rows)).transposed
        return Matrix(address, rows, cols, _pitch(cols))

    def _fetch(self, stored, row, col, block, clear=False):
        """Lines of an in list for the block of ``stored`` from (row, col) on; ``clear``: with zeros
        around it, to whole tiles."""
        lies = block.transposed if stored.flipped else block
        return [
            *(clearing(lies) if clear else ()),
            f".in {stored.fmt} {stored.part(row, col):#x} {lies.address} {lies.rows} "
            f"{lies.cols} pitch={stored.pitch} "
            f"mem_pitch={lies.stride_y}",
        ]

    @staticmethod
    def _keep(stored, row, col, block, first=0, count=None):
        """Lines of an out list for ``count`` rows, from ``first`` on, of a block of results that
        begins at (row, col)."""
        count = block.rows if count is None else count
        return (
            [
                f".out {stored.fmt} {stored.part(row + first, col):#x} "
                f"{block.address + first * block.stride_y} {count} {block.cols} "
                f"pitch={stored.pitch} mem_pitch={block.stride_y}"
            ]
            if count
            else []
        )

    def _sequence(self, steps):
        """Appends (program, in lines, out lines): every one is prepared beside the one before,
        results leave beside the one after."""
        for number, (program, lines, results) in enumerate(steps):
            # What comes before and after them may have to do with the same places.
            self._append(
                program, lines, results, prefetch=number > 0, defer=number < len(steps) - 1
            )
        self._epoch = len(self._steps)

    @staticmethod
    def _check_result(out, rows, cols, operands):
        if not isinstance(out, Stored):
            raise KernelError(
                "the result of an operation on matrices in main memory lies there too"
            )
        if out.shape != (rows, cols):
            raise KernelError(
                f"a result of {rows}x{cols} does not fit a matrix of {out.rows}x{out.cols}"
            )
        if out.flipped:
            raise KernelError("a result is written to a matrix that is not transposed")
        if any(s.address == out.address and s != out for s in operands):
            raise KernelError(
                "an operation in main memory cannot work in place on a transposed matrix"
            )

    # Element by element

    def _chain_blocks(self, rows, cols, parts, out):
        """:meth:`~.elementwise.ElementwiseOps.chain` where an operand or the result lies in main
        memory."""
        stored = list(
            dict.fromkeys(
                part[1]
                for part in parts
                if not isinstance(part, str) and isinstance(part[1], Stored)
            )
        )
        if out is None:
            out = self.stored(rows, cols, max(stored, key=lambda s: s.rows * s.cols).fmt)
        self._check_result(out, rows, cols, stored)
        self.holding(*((part[1], None) for part in parts if not isinstance(part, str)))
        # Cut where words begin, of the result and of every operand.
        unit = max(TILE, *(FORMATS[s.fmt] for s in (*stored, out)))

        def places(high, wide):
            """Elements of a block of each operand and of the result."""
            return [
                _room(*(shape[::-1] if s.flipped else shape))
                for s in (*stored, out)
                for shape in [(high if s.rows > 1 else 1, wide if s.cols > 1 else 1)]
            ]

        high, wide = self._largest(
            (_sizes(rows, unit), _sizes(cols, unit)), lambda high, wide: 2 * sum(places(high, wide))
        )
        sizes = places(high, wide)
        steps, programs = [], {}
        for number, (row, height, col, width) in enumerate(
            (r, h, c, w) for r, h in _cuts(rows, high) for c, w in _cuts(cols, wide)
        ):
            start = self._free + (number & 1) * sum(sizes)
            lines, blocks, named = [], {}, []
            for k, matrix in enumerate(stored):
                shape = (height if matrix.rows > 1 else 1, width if matrix.cols > 1 else 1)
                blocks[matrix] = self._block(start + sum(sizes[:k]), *shape, matrix.flipped)
                lines += self._fetch(
                    matrix,
                    row if matrix.rows > 1 else 0,
                    col if matrix.cols > 1 else 0,
                    blocks[matrix],
                )
            for part in parts:
                if not isinstance(part, str):
                    register, matrix = part
                    if isinstance(matrix, Stored):
                        part = register, blocks[matrix]
                    else:
                        whole = matrix.broadcast(rows, cols)
                        part = (
                            register,
                            replace(
                                whole,
                                address=whole.address + row * whole.stride_y + col * whole.stride_x,
                                rows=height,
                                cols=width,
                            ),
                        )
                named.append(part)
            result = self._block(start + sum(sizes[:-1]), height, width)
            key = result, tuple(named)
            if key not in programs:
                programs[key] = self._chain_into(self._new_program, named, result)
            steps.append((programs[key], lines, self._keep(out, row, col, result)))
        self._sequence(steps)
        out.area.written = True
        return out

    # Products

    def _plan(self, a, b, out, macs, banks):
        """The cheapest way of cutting ``a @ b`` by an estimate of its cycles
        (:class:`_Product`)."""
        unit = max(TILE, *(FORMATS[s.fmt] for s in (a, b, out)))
        best = None
        access = -(-16 // banks)
        for inner in _sizes(a.cols, unit):
            for rows in _sizes(a.rows, unit):
                for cols in _sizes(b.cols, unit):
                    if self._product_room(rows, inner, cols, a, b) > self.elements - self._free:
                        continue
                    side = divisor(_tiles(cols), self.contexts)
                    groups = _tiles(rows) * (_tiles(cols) // side)
                    step = (
                        groups
                        * (
                            _GROUP
                            + max(
                                _tiles(inner) * side * 64 // macs,
                                (_tiles(inner) * (1 + side) + 2 * side) * access,
                            )
                        )
                        + _STEP
                    )
                    fetched = (
                        (rows * inner * _BITS[a.fmt] + inner * cols * _BITS[b.fmt])
                        / 16
                        * _HALF_WORD
                    )
                    kept = rows * cols * _BITS[out.fmt] / 16 * _HALF_WORD
                    blocks, turns = -(-a.rows // rows) * -(-b.cols // cols), -(-a.cols // inner)
                    share = a.rows * a.cols * b.cols / (rows * inner * cols)
                    cycles = (
                        share * max(step, fetched + kept / turns)
                        + fetched
                        + kept
                        + (blocks * turns - share) * _STEP
                    )
                    if best is None or cycles < best.cycles:
                        best = _Product(rows, inner, cols, cycles)
        if best is None:
            raise KernelError(
                f"{self.elements - self._free} free elements of the scratchpad are too few for "
                f"any block of a product"
            )
        return best

    @staticmethod
    def _product_places(rows, inner, cols, a, b):
        """Elements of a block of each factor and of the result."""
        return (
            _room(inner, rows) if a.flipped else _room(rows, inner),
            _room(cols, inner) if b.flipped else _room(inner, cols),
            _room(rows, cols),
        )

    def _product_room(self, *sizes):
        return 2 * sum(self._product_places(*sizes))

    def _matmul_blocks(self, a, b, out, accumulate):
        """``a @ b`` of matrices in main memory. Sums of a block of the result stay in the
        scratchpad while blocks of the factors pass; every sum has the order of one over the whole
        inner dimension, so that the result does not depend on the cut."""
        if not all(isinstance(m, Stored) for m in (a, b)):
            raise KernelError("both factors of a product lie in main memory, or none")
        out = self.stored(a.rows, b.cols, a.fmt) if out is None else out
        self._check_result(out, a.rows, b.cols, ())
        if out.address in (a.address, b.address):
            raise KernelError("a product in main memory cannot take the place of a factor")
        self.holding(*((m, None) for m in (a, b, *[out] * accumulate)))
        plan = self._plan(a, b, out, self.macs, self.banks)
        size_a, size_b, size_c = self._product_places(plan.rows, plan.inner, plan.cols, a, b)
        place_a, place_b, place_c = (
            (start, start + size)
            for start, size in (
                (self._free, size_a),
                (self._free + 2 * size_a, size_b),
                (self._free + 2 * size_a + 2 * size_b, size_c),
            )
        )
        inner_cuts = _cuts(a.cols, plan.inner)
        steps, programs = [], {}
        held = {"a": None, "b": None}  # what the place that was filled last holds
        turn = {"a": 0, "b": 0}
        waiting = []  # results that leave in the steps to come
        blocks = [(i, j) for i in _cuts(a.rows, plan.rows) for j in _cuts(b.cols, plan.cols)]
        for number, ((row, height), (col, width)) in enumerate(blocks):
            result = self._block(place_c[number & 1], height, width)
            for index, (middle, depth) in enumerate(inner_cuts):
                lines = []
                if index == 0 and accumulate:
                    lines += self._fetch(out, row, col, result)
                for name, stored, at, shape, places in (
                    ("a", a, (row, middle), (height, depth), place_a),
                    ("b", b, (middle, col), (depth, width), place_b),
                ):
                    if held[name] != at:
                        held[name], turn[name] = at, 1 - turn[name]
                        lines += self._fetch(
                            stored,
                            *at,
                            self._block(places[turn[name]], *shape, stored.flipped),
                            depth % TILE > 0,
                        )
                key = height, depth, width, turn["a"], turn["b"], number & 1, index == 0
                if key not in programs:
                    programs[key] = self._product_into(
                        self._new_program,
                        self._block(place_a[turn["a"]], height, depth, a.flipped),
                        self._block(place_b[turn["b"]], depth, width, b.flipped),
                        result,
                        accumulate or index > 0,
                    )
                results = waiting.pop(0) if waiting else []
                if index == len(inner_cuts) - 1:
                    # A part leaves beside each step of the next block; of the last block all of it
                    # at once.
                    parts = 1 if number == len(blocks) - 1 else len(inner_cuts)
                    cuts = [height * k // parts for k in range(parts + 1)]
                    leaving = [
                        self._keep(out, row, col, result, low, high - low)
                        for low, high in zip(cuts, cuts[1:], strict=False)
                    ]
                    results, waiting = results + leaving[0], leaving[1:]
                steps.append((programs[key], lines, results))
        self._sequence(steps)
        out.area.written = True
        return out
