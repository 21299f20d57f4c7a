# SPDX-License-Identifier: BSD-2-Clause
"""Elementwise and dense layers on one core: vectors are streamed through local memory in tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...graph import Dense
    from ...quantised import Integer
    from .arrays.matrices import DenseTiling
    from .codegen import CoreBuilder

__all__ = [
    "DenseColumns",
    "Products",
    "Repeated",
    "add_rows",
    "average_channels",
    "copy_rows",
    "flat",
]

#: Elements of a tile of a vector; two sources and a result are in local memory at a time.
_TILE = 1024


class Repeated:
    """A broadcast operand at the global address ``source`` that repeats every ``period`` elements,
    of which local memory holds a period beside the tiles.

    It is loaded into local memory once, and repeated there so that a tile of ``tile`` elements can
    begin anywhere within a period.
    """

    def __init__(
        self,
        core: CoreBuilder,
        pointer: int,
        source: int,
        period: int,
        tile: int,
        size: int,
        what: str,
    ):
        self._period, self._size = period, size
        self._at = core.allocate((period + tile) * size, what)
        core.load(self._at, pointer, period * size, source)
        have, want = period * size, (period + tile) * size
        while have < want:
            some = min(have, want - have)
            core.move(self._at + have, self._at, some)
            have += some

    def place(self, first: int) -> int:
        """Local address of element ``first``, which its successors follow."""
        return self._at + first % self._period * self._size


def flat(
    core: CoreBuilder,
    pointer: int,
    sources: Sequence[Any],
    target: int,
    first: int,
    count: int,
    size: int,
    what: str,
    work: Callable[..., None],
    most: int = _TILE,
) -> None:
    """Streams ``count`` elements from ``first`` on, of the global addresses ``sources``, through
    ``work(result, operands, elements)`` to ``target``, at most ``most`` at a time. A broadcast
    source is a pair (global address, period), and its elements are loaded for each tile if there
    are too many for a :class:`Repeated`."""
    kept = {
        k: source
        for k, source in enumerate(sources)
        if isinstance(source, tuple) and source[1] <= core.params["lmem_bytes"] // 8
    }
    streamed = len(sources) - len(kept)
    free_bytes = core.params["lmem_bytes"] - core.used
    free_elements = free_bytes // size - sum(period for _, period in kept.values())
    tile = min(most, count, free_elements // (2 * streamed + len(kept)))
    repeated = {
        k: Repeated(core, pointer, place, period, tile, size, what)
        for k, (place, period) in kept.items()
    }
    places = [[core.allocate(tile * size, what) for _ in range(streamed)] for _ in range(2)]
    for turn, at in enumerate(range(first, first + count, tile)):
        some, free, operands = min(tile, first + count - at), iter(places[turn % 2]), []
        for k, source in enumerate(sources):
            if k in repeated:
                operands.append(repeated[k].place(at))
                continue
            operands.append(next(free))
            _load_elements(core, operands[-1], pointer, source, at, some, size)
        result = places[turn % 2][0]
        work(result, operands, some)
        core.store(pointer, result, some * size, target + at * size)


def _load_elements(core, to, pointer, source, first, count, size):
    """Loads ``count`` elements of a source, from ``first`` on, as :func:`flat` has them."""
    place, period = source if isinstance(source, tuple) else (source, first + count)
    while count:
        some = min(count, period - first % period)
        core.load(to, pointer, some * size, place + first % period * size)
        to, first, count = to + some * size, first + some, count - some


def clipped(
    core: CoreBuilder, at: int, count: int, size: int, low: int | None, high: int | None
) -> None:
    """Clips ``count`` elements in place; ``None``: no bound."""
    core.widths(8 * size, 8 * size)
    for mnemonic, bound in (("vrsl", low), ("vrsu", high)):
        if bound is not None:
            for k in range(0, count, 2047):
                used: list[int] = []
                for value in (at + k * size, bound):
                    used.append(core.register(value, used))
                core.emit(mnemonic, rd=used[0], rs1=used[0], rs2=used[1], len=min(2047, count - k))


def add_rows(
    core: CoreBuilder,
    result: int,
    operands: Sequence[int],
    count: int,
    size: int,
    subtract: bool = False,
) -> None:
    """Appends an elementwise addition or subtraction of ``count`` elements."""
    core.widths(8 * size, 8 * size)
    core.vector2(
        "vvsub" if subtract else "vvadd", result, operands[0], operands[1], count, size=size
    )


class Products:
    """Elementwise products of two vectors times 2^-``shift``: 32-bit, rounded, in tiles of at most
    :attr:`MOST` elements."""

    #: Three vectors of 32 bits are in local memory besides.
    MOST = 128

    def __init__(self, core: CoreBuilder, count: int, shift: int, what: str):
        self.core, self.shift = core, shift
        count = min(count, self.MOST)
        self.wide, self.half, self.places, one = (
            core.allocate(4 * n, what) for n in (count, count, count, 1)
        )
        for target, value in ((self.half, 1 << shift >> 1), (self.places, shift)):
            core.constants(one, [value])
            core.gather(target, one, 0, count, 4)

    def emit(self, result: int, operands: Sequence[int], count: int, size: int) -> None:
        """Appends the products of ``count`` elements."""
        core = self.core
        core.widths(8 * size, 32)
        first, second = operands
        core.vector2("vvmul", self.wide, first, second, count, size=size, out=4)
        self.narrow(result, count, size)

    def narrow(self, result: int, count: int, size: int) -> None:
        """Appends the conversion of ``count`` 32-bit numbers at :attr:`wide` times 2^-``shift``,
        rounded, to elements of ``size`` bytes."""
        core = self.core
        core.widths(32, 32)
        core.vector2("vvadd", self.wide, self.wide, self.half, count, size=4)
        core.widths(32, 8 * size)
        core.vector2("vvsra", result, self.wide, self.places, count, size=4, out=size)


def copy_rows(
    core: CoreBuilder, pointer: int, source: int, target: int, size: int, what: str
) -> None:
    """Copies ``size`` bytes within global memory."""
    flat(core, pointer, [source], target, 0, size, 1, what, lambda *_: None)


class DenseColumns:
    """Columns ``first`` to ``first + cols - 1`` of a dense layer: one group, or several whose
    32-bit sums are added up."""

    def __init__(
        self,
        core: CoreBuilder,
        node: Dense,
        numbers: Integer,
        first: int,
        cols: int,
        tiling: DenseTiling,
    ):
        self.core, self.node, self.first, self.cols = core, node, first, cols
        self.splits, self.streamed = tiling.splits, tiling.streamed
        weights = numbers.weights[first : first + cols].T.astype("int8")
        self.shift = int(numbers.shift.flat[0])
        bias = None if numbers.bias is None else numbers.bias[first : first + cols].astype("int64")
        if len(self.splits) == 1:
            self.groups = [
                core.group(
                    weights, None if bias is None else bias.astype("int32"), self.shift, node.name
                )
            ]
            return
        rounding = (1 << self.shift >> 1) + (0 if bias is None else bias)
        self.groups = [
            core.group(
                weights[k : k + n],
                None if k else (rounding + 0 * weights[0].astype("int64")).astype("int32"),
                0,
                node.name,
            )
            for k, n in self.splits
        ]

    def emit(
        self, pointer: int, source: int, target: int, size: int, out_size: int, relu: bool
    ) -> Any:
        """Appends the product of the vector at the global address ``source``, stored to ``target``;
        ``size``, ``out_size``: bytes per element."""
        core, cols, name = self.core, self.cols, self.node.name
        held = max(n for _, n in self.splits) if self.streamed else self.node.weights.shape[1]
        x, y = core.allocate(held * size, name), core.allocate(cols * out_size, name)
        if not self.streamed:
            core.load(x, pointer, held * size, source)
        if len(self.splits) == 1:
            core.widths(8 * size, 8 * out_size)
            core.mvmul(y, x, self.groups[0], relu)
        else:
            sums, part, late = (core.allocate(4 * cols, name) for _ in range(3))
            core.constants(late, [self.shift] * cols)
            for n, (first, count) in enumerate(self.splits):
                at = x
                if self.streamed:
                    core.load(x, pointer, count * size, source + first * size)
                else:
                    at += first * size
                core.widths(8 * size, 32)
                core.mvmul(part if n else sums, at, self.groups[n])
                if n:
                    core.widths(32, 32)
                    core.vector2("vvadd", sums, sums, part, cols, size=4)
            if relu:
                core.widths(32, 32)
                core.vector1("vrelu", sums, sums, cols, size=4)
            core.widths(32, 8 * out_size)
            core.vector2("vvsra", y, sums, late, cols, size=4, out=out_size)
        return x, y, cols * out_size, target + self.first * out_size


def average_channels(
    core: CoreBuilder,
    pointer: int,
    source: int,
    shape: tuple[int, int, int],
    target: int,
    size: int,
    channels: tuple[int, int],
    what: str,
) -> None:
    """Global average pooling of ``channels`` (first, end) of a map that is stored position by
    position, in tiles that local memory holds."""
    places, (first, end) = shape[0] * shape[1], channels
    count, mark = end - first, core.used
    most = max(1, (core.params["lmem_bytes"] - mark) // ((places + 1) * size))
    if count > most:
        parts = -(-count // most)
        edges = [first + count * k // parts for k in range(parts + 1)]
        for part in zip(edges, edges[1:], strict=False):
            core.used = mark
            average_channels(core, pointer, source, shape, target, size, part, what)
        return
    at, y = core.allocate(places * count * size, what), core.allocate(count * size, what)
    for k in range(places):
        core.load(
            at + k * count * size, pointer, count * size, source + (k * shape[2] + first) * size
        )
    core.widths(8 * size, 8 * size)
    for c in range(count):
        used: list[int] = []
        for value in (y + c * size, at + c * size, count):
            used.append(core.register(value, used))
        core.emit("vavg", rd=used[0], rs1=used[1], rs2=used[2], len=places)
    core.store(pointer, y, count * size, target + first * size)
