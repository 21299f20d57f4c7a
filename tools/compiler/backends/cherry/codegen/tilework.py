# SPDX-License-Identifier: BSD-2-Clause
"""Loop nests over views: instruction chains on tiles, sums of products, window reductions
(docs/cores/cherry-kernels.md).

A view has three axes; a tile is four elements of the second axis by four of the third.

A result is cut into regions of whole tiles and of the narrower ones at its edges; of each region
one axis runs side by side in the contexts. Loads take no more than the elements that count, the
rest of a tile is 0: what lies around a view is never read and never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from ......gateware.cores.cherry.isa import LOOPS

if TYPE_CHECKING:
    from .nests import Nests

__all__ = ["Costs", "Products", "View", "chain", "products", "reduce"]


@dataclass(frozen=True)
class View:
    """A strided view: ``shape`` elements from ``address`` on, at distances ``strides`` along each
    axis; stride 0 broadcasts."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def at(self, *index: int) -> int:
        """Address of an element."""
        return self.address + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def part(self, start: tuple[int, ...], shape: tuple[int, ...]) -> View:
        """The subview of ``shape`` from element ``start`` on; a broadcast axis stays broadcast."""
        return View(self.at(*start), tuple(shape), self.strides)

    def ordered(self, order: tuple[int, ...]) -> View:
        """The view with its axes permuted."""
        return View(
            self.address, tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order)
        )

    def over(self, shape: tuple[int, ...]) -> View:
        """The view broadcast along axes of length one."""
        return replace(
            self,
            shape=tuple(shape),
            strides=tuple(
                0 if mine == 1 and other != 1 else s
                for mine, other, s in zip(self.shape, shape, self.strides, strict=True)
            ),
        )

    def folded(self) -> View:
        """A vector as rows of four: axis 2 is split into axes 1 and 2; its length must be a
        multiple of four."""
        step = self.strides[2]
        return View(self.address, (1, self.shape[2] // 4, 4), (0, 4 * step, step))


TILE = 4
#: Elements of a view's axes that a tile takes.
_STEP = (1, TILE, TILE)


@dataclass(frozen=True)
class Costs:
    """Cost parameters of a build: multipliers, banks, front-end cycles per step, latency between
    dependent sums, and cycles to drain a chain of units."""

    macs: int
    banks: int
    step: int = 14
    latency: int = 15
    drain: int = 45

    def dot(self, tiles: int) -> int:
        """Cycles of a sum-of-products instruction on ``tiles`` tiles."""
        return tiles * max(1, 64 // self.macs)

    def access(self, stride_y: int, stride_x: int, height: int = TILE, width: int = TILE) -> int:
        """Cycles of a scratchpad access: the greatest number of distinct elements in one bank."""
        places = {y * stride_y + x * stride_x for y, x in product(range(height), range(width))}
        counts = [0] * self.banks
        for place in places:
            counts[place % self.banks] += 1
        return max(counts)


def _spans(length):
    """Splits an axis into whole tiles and a remainder: (first element, tiles, elements of a tile)
    of each."""
    whole, rest = divmod(length, TILE)
    return ([(0, whole, TILE)] if whole else []) + ([(whole * TILE, 1, rest)] if rest else [])


class _Walk:
    """Iteration over the tiles of a region: one axis runs in parallel contexts, the other axes in
    sequential loops.

    ``counts``: of the region's tiles along each axis; ``along``: the axis that runs side by side,
    ``size`` of it, ``number`` times from tile ``first``.
    """

    def __init__(self, nests, counts, along, first, number, size):
        self.nests, self.counts, self.along = nests, counts, along
        self.first, self.number, self.size = first, number, size
        self._walked = ()

    @classmethod
    def all(cls, nests, counts, along):
        """All walks that are needed to cover a region."""
        return [cls(nests, counts, along, *group) for group in nests.groups(counts[along])]

    @contextmanager
    def around(self):
        """Context manager of the enclosing sequential loops."""
        self.nests.begin()
        others = [axis for axis in (2, 1, 0) if axis != self.along]
        with ExitStack() as stack:
            loops = [stack.enter_context(self.nests.ordered(self.counts[axis])) for axis in others]
            group = stack.enter_context(self.nests.ordered(self.number))
            self._walked = (
                *((loop, axis, 1) for loop, axis in zip(loops, others, strict=True)),
                (group, self.along, self.size),
            )
            yield

    def beside(self):
        """Context manager of the parallel loop over contexts."""
        return self.nests.independent(self.size)

    def move(
        self,
        mnemonic,
        register,
        view,
        beside,
        *,
        each=None,
        walk=(),
        height=TILE,
        width=TILE,
        offset=0,
        stride_y=None,
    ):
        """Appends a load or store of the current tile of ``view``; ``each``: elements from tile to
        tile along each axis, if they differ from the view's."""
        each = [n * s for n, s in zip(_STEP, view.strides, strict=True)] if each is None else each
        loops = [
            (loop, times * each[axis])
            for loop, axis, times in (*self._walked, (beside, self.along, 1))
        ]
        self.nests.move(
            mnemonic,
            register,
            view.address + self.first * each[self.along] + offset,
            view.strides[1] if stride_y is None else stride_y,
            view.strides[2],
            [*loops, *walk],
            height,
            width,
        )

    def finish(self, parts, views, height, width, register):
        """Appends ``parts`` on each tile, and the store of the last result, or of ``register`` if
        there are no parts; ``views``: those of the result and the loads."""
        with self.beside() as beside:
            self.parts(parts, views[1:], height, width, beside)
            self.move(
                "store",
                "OUTPUT" if parts else register,
                views[0],
                beside,
                height=height,
                width=width,
            )

    def parts(self, parts, views, height, width, beside):
        """Appends the instructions of a chain."""
        loads = iter(views)
        for part in parts:
            if isinstance(part, str):
                self.nests.part(part)
            else:
                self.move("load", part[0], next(loads), beside, height=height, width=width)


def _regions(shape, whole=False):
    """Splits a shape into regions with tiles of one size: (first element, tiles of each axis,
    height, width); ``whole``: tiles of the third axis are all four wide."""
    rows, columns, channels = shape
    across = [(0, -(-channels // TILE), TILE)] if whole else _spans(channels)
    for (c0, nc, wc), (a0, na, wa) in product(across, _spans(columns)):
        yield (0, a0, c0), (rows, na, nc), wa, wc


def _loaded(parts, shape):
    return [part[1].over(shape) for part in parts if not isinstance(part, str)]


def _flat(views):
    """Merges rows into one long row, if they are contiguous in every view."""
    rows, columns, _ = views[0].shape
    if rows == 1 or any(v.strides[0] != v.shape[1] * v.strides[1] for v in views):
        return views
    return [View(v.address, (1, rows * columns, v.shape[2]), (0, *v.strides[1:])) for v in views]


# Chains


def chain(nests: Nests, out: View, parts: Sequence[str | tuple[str, View]]) -> None:
    """Applies a chain of instructions to every tile; the last instruction writes OUTPUT.

    ``parts``: text is an instruction, pairs (register, View) are loads, repeated to the result's
    shape.
    """
    views = _flat([out, *_loaded(parts, out.shape)])
    rows, columns, channels = views[0].shape
    view_groups = [views]
    if rows == columns == 1 and channels > TILE:
        # A vector: rows of four.
        whole = channels // TILE * TILE
        view_groups = [[v.part((0, 0, 0), (1, 1, whole)).folded() for v in views]]
        if whole < channels:
            view_groups.append([v.part((0, 0, whole), (1, 1, channels - whole)) for v in views])
    elif columns < TILE and rows > columns:
        view_groups = [[v.ordered((1, 0, 2)) for v in views]]
    for view_group in view_groups:
        for start, counts, height, width in _regions(view_group[0].shape):
            moved = [v.part(start, v.shape) for v in view_group]
            along = max(range(3), key=lambda axis: (min(counts[axis], nests.contexts), axis))  # noqa: B023 - called here
            for walk in _Walk.all(nests, counts, along):
                with walk.around():
                    walk.finish(parts, moved, height, width, "OUTPUT")


# Sums of products


@dataclass(frozen=True)
class Products:
    """Operands of a sum of products.

    Attributes
    ----------
    source : View
        Its axes are those of the result's rows and columns, and the summed one for ``matmul``, the
        channels for ``mulacc``.
    weights : View
        For ``matmul``: (rows, summed axis, channels); for ``mulacc``: (1, 1, channels). From one
        block of four channels to the next are ``blocks`` elements.
    taps : tuple of (number, elements of ``source``, elements of ``weights``): nested,
        the last one innermost
    inner : for ``matmul``, summed elements at each tap; ``deep``:
        elements of ``weights`` from four of them to the next four
    """

    source: View
    weights: View
    blocks: int
    taps: tuple[tuple[int, int, int], ...]
    inner: int = 1
    deep: int = 0

    def steps(self, operation: str) -> list[tuple[int, int, int]]:
        """Steps at each tap, (first, number, width): groups of four summed elements, and the
        remainder."""
        return [(0, 1, TILE)] if operation == "mulacc" else _spans(self.inner)


def products(
    nests: Nests,
    costs: Costs,
    operation: str,
    out: View,
    operands: Products,
    start: View,
    parts: Sequence[str | tuple[str, View]],
    whole: bool = True,
) -> None:
    """Computes ``out`` as ``parts`` of (``start`` + sum of products over the taps); ``operation``:
    ``matmul`` or ``mulacc``.

    ``start``: View that ACC begins with, repeated. ``parts``: as :func:`chain`'s, the first of
    which reads ACC; empty: ACC is the result. ``whole``: channels beyond the last are written too,
    up to a whole tile.
    """
    views = [out, start.over(out.shape), *_loaded(parts, out.shape)]
    source = View(
        operands.source.address, (*out.shape[:2], operands.source.shape[2]), operands.source.strides
    )
    if not operands.weights.strides[0]:
        *views, source = _flat([*views, source])
        # Four pixels of a tile below each other, where that takes fewer tiles.
        rows, columns, _ = views[0].shape
        if -(-rows // TILE) * columns < -(-columns // TILE) * rows:
            *views, source = [v.ordered((1, 0, 2)) for v in (*views, source)]
    for first, counts, height, width in _regions(views[0].shape, whole):
        moved = [v.part(first, v.shape) for v in views]
        part = source.part((*first[:2], first[2] if operation == "mulacc" else 0), source.shape)
        weights = replace(
            operands.weights, address=operands.weights.address + first[2] // TILE * operands.blocks
        )
        there = replace(operands, source=part, weights=weights)
        costed = [
            (_products_cost(nests, costs, operation, there, counts, axis), -axis, axis)
            for axis in range(3)
        ]
        for walk in _Walk.all(nests, counts, min(costed)[2]):
            _products_walk(walk, operation, moved, there, parts, height, width)


def _products_cost(nests, costs, operation, operands, counts, along):
    """Estimated cycles of a region whose axis ``along`` runs in parallel."""
    source, weights = operands.source, operands.weights
    taps = sum(number for _, number, _ in operands.steps(operation))
    for number, *_ in operands.taps:
        taps *= number
    total, others = 0, counts[0] * counts[1] * counts[2] // counts[along]
    of_source = costs.access(source.strides[1], source.strides[2])
    of_weights = costs.access(weights.strides[1], weights.strides[2])
    for _, number, size in nests.groups(counts[along]):
        times_source = 1 if along == 2 and operation == "matmul" else size
        times_weights = size if along == 2 or (along == 0 and weights.strides[0]) else 1
        load = times_source * of_source + times_weights * of_weights
        total += number * (
            taps * max(costs.dot(size), load, costs.step, costs.latency + costs.dot(1))
            + costs.drain
            + 2 * size
        )
    return total * others


def _products_walk(walk, operation, views, operands, parts, height, width):
    out, start, *loaded = views
    source, weights = operands.source, operands.weights
    of_source = (
        source.strides[0],
        TILE * source.strides[1],
        TILE * source.strides[2] if operation == "mulacc" else 0,
    )
    of_weights = (weights.strides[0], 0, operands.blocks)
    with walk.around():
        if start.strides[walk.along]:
            with walk.beside() as beside:
                walk.move("load", "ACC", start, beside, height=height, width=width)
        else:
            walk.move("load", "ACC", start, None, height=height, width=width)

        def step(loops, of_one, of_other):
            """Appends the products of all summed elements at a tap. ``loops``: (loop, elements of
            the source, of the weights) of looped taps; the others are at offsets ``of_one`` and
            ``of_other``."""
            for at, turns, deep in operands.steps(operation):
                with walk.nests.ordered(turns) as turn, walk.beside() as beside:

                    def weigh(register, beside=beside, turn=turn, at=at, deep=deep):
                        walk.move(
                            "load",
                            register,
                            weights,
                            beside,
                            each=of_weights,
                            walk=[*((loop, n) for loop, _, n in loops), (turn, operands.deep)],
                            height=deep,
                            width=width,
                            offset=of_other + at // TILE * operands.deep,
                        )

                    def take(beside=beside, turn=turn, at=at, deep=deep):
                        walk.move(
                            "load",
                            "INPUT",
                            source,
                            beside,
                            each=of_source,
                            walk=[
                                *((loop, n) for loop, n, _ in loops),
                                (turn, TILE * source.strides[2]),
                            ],
                            height=height,
                            width=deep if operation == "matmul" else width,
                            offset=of_one + at * source.strides[2],
                        )

                    # Operands that all contexts share come first: they have a second place to go to
                    # while the product before is at work, the others have not.
                    if walk.along == 2 and operation == "matmul":
                        take()
                        weigh("WEIGHTS")
                    elif walk.along == 2 and walk.size > 1:
                        # Neither is shared: weights wait in OUTPUT.
                        weigh("OUTPUT")
                        take()
                        walk.nests.part("copy WEIGHTS, OUTPUT")
                    else:
                        weigh("WEIGHTS")
                        take()
                    walk.nests(operation)

        _taps(walk, operands, _loops(walk, operation, operands, start), step)
        walk.finish(parts, [out, *loaded], height, width, "ACC")


def _loops(walk, operation, operands, start):
    """Number of loop records that remain for taps."""
    steps = operands.steps(operation)
    others = [count for axis, count in enumerate(walk.counts) if axis != walk.along] + [walk.number]
    beside = 0 if walk.size == 1 else 2 + bool(start.strides[walk.along])
    return (
        LOOPS
        - beside
        - sum(count > 1 for count in others)
        - any(turns > 1 for _, turns, _ in steps)
    )


def _taps(walk, operands, left, step):
    """Appends ``step`` for every tap in order, in loops, or unrolled if there are too few loop
    records."""
    looped = [number > 1 for number, *_ in operands.taps]
    while sum(looped) > left:
        looped[
            min((number, -axis) for axis, (number, *_) in enumerate(operands.taps) if looped[axis])[
                1
            ]
            * -1
        ] = False

    def nested(axis, loops, of_one, of_other):
        if axis == len(operands.taps):
            step(loops, of_one, of_other)
            return
        number, one, other = operands.taps[axis]
        if looped[axis]:
            with walk.nests.ordered(number) as loop:
                nested(axis + 1, [*loops, (loop, one, other)], of_one, of_other)
        else:
            for k in range(number):
                nested(axis + 1, loops, of_one + k * one, of_other + k * other)

    nested(0, [], 0, 0)


# Reduces


def reduce(
    nests: Nests,
    operation: str,
    out: View,
    source: View,
    outer: tuple[int, int],
    inner: tuple[int, int],
    start: View,
    parts: Sequence[str | tuple[str, View]],
) -> None:
    """Computes ``out`` as ``parts`` of the maximum or sum (``operation`` max, sum) over a window.

    Parameters
    ----------
    source : View
        Of the result's axes: element (0, 0, 0) of a window.
    outer, inner : (number, elements) along the window's two axes;
        four of the inner one are taken at a time
    start : View that ACC begins with: of one element, minus infinity or zero, or of the result's
        shape
    parts : as :func:`products`'
    """
    views = [out, source, *_loaded(parts, out.shape)]
    single = start.shape == (1, 1, 1)
    if not single:
        views.append(start.over(out.shape))
    if out.shape[2] == 1:
        views = [v.ordered((0, 2, 1)) for v in views]
    if views[0].shape[1] == 1 and views[0].shape[0] > 1:
        views = [v.ordered((1, 0, 2)) for v in views]
    for first, counts, height, width in _regions(views[0].shape):
        moved = [v.part(first, v.shape) for v in views]
        along = max(range(3), key=lambda axis: (min(counts[axis], nests.contexts), axis))  # noqa: B023 - called here
        for walk in _Walk.all(nests, counts, along):
            begin = start if single else moved[-1]
            some = moved if single else moved[:-1]
            _reduce_walk(walk, operation, some, (outer, inner), begin, parts, height, width)


def _reduce_walk(walk, operation, views, window, start, parts, height, width):
    out, source, *loaded = views
    outer, inner = window
    with walk.around():
        if start.shape != (1, 1, 1):
            with walk.beside() as beside:
                walk.move("load", "ACC", start, beside, height=height, width=width)
        else:
            walk.nests.move("load", "ACC", start.address, 0, 0)
        with walk.nests.ordered(outer[0]) as down:
            for at, turns, span in _spans(inner[0]):
                with walk.nests.ordered(turns) as right, walk.beside() as beside:
                    for pixel in range(height):
                        walk.move(
                            "load",
                            "OUTPUT",
                            source,
                            beside,
                            walk=[(down, outer[1]), (right, TILE * inner[1])],
                            height=span,
                            width=width,
                            offset=pixel * source.strides[1] + at * inner[1],
                            stride_y=inner[1],
                        )
                        walk.nests(operation, acc=1, axis=0, count=span, target=pixel)
        walk.finish(parts, [out, *loaded], height, width, "ACC")
