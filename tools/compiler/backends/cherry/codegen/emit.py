# SPDX-License-Identifier: BSD-2-Clause
"""Emission of operations as loop nests of Cherry's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from ..kernel_graph import Chain, Operation, PairProduct, Product, Ref, Value, Window
from .tilework import Costs, Products, View, chain, products, reduce

if TYPE_CHECKING:
    from ..schedule.steps import Buffer, Place
    from .nests import Nests

__all__ = ["Cut", "Emitter", "cuts", "packed_weights"]

TILE = 4


@dataclass(frozen=True)
class Cut:
    """One tile of a convolution's work: output channels [``low``, ``high``), taps (first, number)
    of rows and columns, and groups of four summed channels (first, number)."""

    low: int
    high: int
    down: tuple[int, int]
    across: tuple[int, int]
    deep: tuple[int, int]
    first: bool
    last: bool


def _fours(count):
    return -(-count // TILE)


def _sizes(operation: Product):
    """Loop sizes of a product: taps of rows and columns, summed elements per tap, and output
    channels."""
    rows, columns, inner, channels = operation.weights.shape
    if operation.runs:
        return rows, 1, columns * inner, channels
    return rows, columns, inner, channels


def cuts(operation: Product, most: int, contexts: int, split: bool) -> list[Cut]:
    """Splits an operation into :class:`Cut` s with at most about ``most`` weights each; ``split``:
    partial sums may be stored in between."""
    rows, columns, inner, channels = _sizes(operation)
    if operation.each:
        return [Cut(0, channels, (0, rows), (0, columns), (0, 1), True, True)]
    fours, blocks = _fours(inner), _fours(channels)
    a_block = rows * columns * fours * 16
    side = max(1, most // a_block)
    wide = (
        min(blocks, max(min(contexts, blocks), side // contexts * contexts))
        if split or side >= contexts
        else min(blocks, side)
    )
    found = []
    for low in range(0, blocks, wide):
        some = min(wide, blocks - low)
        parts = (
            _inner_cuts(rows, columns, fours, max(1, most // (some * 16)))
            if split
            else [((0, rows), (0, columns), (0, fours))]
        )
        for number, (down, across, deep) in enumerate(parts):
            found.append(
                Cut(
                    low=low * TILE,
                    high=min(channels, (low + some) * TILE),
                    down=down,
                    across=across,
                    deep=deep,
                    first=number == 0,
                    last=number == len(parts) - 1,
                )
            )
    return found


def _equal(length, most):
    """Splits ``length`` into nearly equal ranges (first, number) of at most ``most``."""
    parts = -(-length // most)
    edges = [length * k // parts for k in range(parts + 1)]
    return [(low, high - low) for low, high in zip(edges, edges[1:], strict=False)]


def _inner_cuts(rows, columns, fours, most):
    """Splits the taps and groups of four channels of a product into ranges of at most ``most``
    groups, in order: (rows, columns, channel groups) of each."""
    if most >= columns * fours:
        return [
            (part, (0, columns), (0, fours)) for part in _equal(rows, most // (columns * fours))
        ]
    if most >= fours:
        return [
            ((y, 1), part, (0, fours))
            for y in range(rows)
            for part in _equal(columns, most // fours)
        ]
    return [
        ((y, 1), (x, 1), part)
        for y in range(rows)
        for x in range(columns)
        for part in _equal(fours, most)
    ]


def packed_weights(operation: Product, cut: Cut) -> np.ndarray:
    """Weights of a cut in scratchpad order: tiles of four summed by four channels, or channels of
    every tap."""
    rows, columns, inner, channels = _sizes(operation)
    weights = operation.weights.reshape(rows, columns, -1, channels)
    if operation.each:
        return np.pad(weights, [(0, 0)] * 3 + [(0, -channels % TILE)]).ravel()
    weights = np.pad(weights, [(0, 0), (0, 0), (0, -inner % TILE), (0, 0)])
    weights = weights[
        cut.down[0] : sum(cut.down),
        cut.across[0] : sum(cut.across),
        TILE * cut.deep[0] : TILE * sum(cut.deep),
        cut.low : cut.high,
    ]
    weights = np.pad(weights, [(0, 0)] * 3 + [(0, -weights.shape[3] % TILE)])
    taps = weights.shape[:2]
    tiles = weights.reshape(*taps, weights.shape[2] // TILE, TILE, weights.shape[3] // TILE, TILE)
    return tiles.transpose(0, 1, 2, 4, 3, 5).ravel()


class Emitter:
    """Emits operations into :class:`~quintet.tools.compiler.backends.cherry.codegen.nests.Nests`.

    Parameters
    ----------
    nests, costs : as the kernels'
    places : dict, Value -> Place
    """

    def __init__(self, nests: Nests, costs: Costs, places: Mapping[Value, Place]):
        self.nests, self.costs, self.places = nests, costs, places

    def view(self, ref: Ref) -> View:
        """The scratchpad view of a Ref."""
        return self.places[ref.value].view(ref)

    def parts(self, parts: Sequence[str | tuple[str, Ref]]) -> list[str | tuple[str, View]]:
        """Replaces each reference of an instruction chain by its scratchpad view."""
        return [part if isinstance(part, str) else (part[0], self.view(part[1])) for part in parts]

    def within(self, places: Mapping[Value, Place]) -> Emitter:
        """Returns the same emitter with other addresses for some values."""
        return Emitter(self.nests, self.costs, {**self.places, **places})

    def fill(self, views: Iterable[View], filler: Ref) -> None:
        """Fills views with the one-element constant ``filler``."""
        for view in views:
            chain(self.nests, view, [("OUTPUT", self.view(filler))])

    def slide(self, value: Value, before: Place, after: Place, first: int, end: int) -> None:
        """Moves rows [``first``, ``end``) of a value to an earlier address; source and target may
        overlap."""
        shift = (before.lead - after.lead) // before.strides[0]
        count = end - first if end - first <= shift else 1
        for row in range(first, end, count):
            there = Ref.of(value).part((row, 0, 0), (min(count, end - row), *value.shape[1:]))
            chain(self.nests, after.view(there), [("OUTPUT", before.view(there))])

    def operation(
        self, operation: Operation, cut: Cut | None = None, weights: Buffer | None = None
    ) -> None:
        """Emits the loop nest of an operation; for a convolution ``cut`` is the tile and
        ``weights`` the buffer of its weights."""
        if isinstance(operation, Product):
            assert cut is not None
            self._product(operation, cut, weights)
        else:
            _emit(operation, self)

    def _product(self, operation: Product, cut: Cut, weights):
        rows, columns, inner, _ = _sizes(operation)
        channels = cut.high - cut.low
        out = _channels(operation.out, cut.low, channels)
        place, ref = self.places[operation.source.value], operation.source
        row, pixel, step = (
            s * place.strides[axis] for axis, s in zip(ref.axes, ref.step, strict=True)
        )
        origin = (
            place.buffer.address
            + place.lead
            + sum(n * s for n, s in zip(ref.start, place.strides, strict=True))
        )
        (down, across), (stride_y, stride_x) = operation.dilation, operation.stride
        at = (cut.down[0] * down - operation.padding[0]) * row + (
            cut.across[0] * across - operation.padding[1]
        ) * pixel
        if operation.each:
            each = TILE * _fours(channels)
            source = View(
                origin + at, (*out.shape[:2], channels), (stride_y * row, stride_x * pixel, step)
            )
            held = View(weights.address, (1, 1, channels), (0, 0, 1))
            operands = Products(
                source,
                held,
                TILE,
                ((rows, down * row, columns * each), (columns, across * pixel, each)),
            )
        else:
            blocks, (first, fours) = _fours(channels), cut.deep
            deep = 16 * blocks
            source = View(
                origin + at + TILE * first * step,
                (*out.shape[:2], inner),
                (stride_y * row, stride_x * pixel, step),
            )
            held = View(weights.address, (1, inner, channels), (0, TILE, 1))
            operands = Products(
                source,
                held,
                16,
                (
                    (cut.down[1], down * row, cut.across[1] * fours * deep),
                    (cut.across[1], across * pixel, fours * deep),
                ),
                min(TILE * fours, inner - TILE * first),
                deep,
            )
        start = self.view(_channels(operation.start, cut.low, channels) if cut.first else out)
        parts = (
            [
                part if isinstance(part, str) else (part[0], _channels(part[1], cut.low, channels))
                for part in operation.parts
            ]
            if cut.last
            else []
        )
        # Behind the last channel lies nothing but what fills up its tile, if the first begins one.
        ends = (
            out.axes == (0, 1, 2)
            and out.step[2] == 1
            and not out.start[2] % TILE
            and out.start[2] + channels == out.value.shape[2]
        )
        products(
            self.nests,
            self.costs,
            "mulacc" if operation.each else "matmul",
            self.view(out),
            operands,
            start,
            self.parts(parts),
            whole=ends,
        )


def _channels(ref, low, count):
    """Restricts a reference to some channels; a reference that is broadcast along them is
    unchanged."""
    return (
        ref
        if ref.shape[2] == 1 and count != 1
        else ref.part((0, 0, low if ref.shape[2] > 1 else 0), (*ref.shape[:2], count))
    )


@singledispatch
def _emit(operation: Operation, emitter):
    raise TypeError(type(operation).__name__)


@_emit.register
def _(operation: Chain, emitter):
    chain(emitter.nests, emitter.view(operation.out), emitter.parts(operation.parts))


@_emit.register
def _(operation: PairProduct, emitter):
    left, right = emitter.view(operation.left), emitter.view(operation.right)
    count = operation.out.shape[0]
    left, right = (v.over((count, *v.shape[1:])) for v in (left, right))
    operands = Products(
        left, right, TILE * right.strides[2], (), left.shape[2], TILE * right.strides[1]
    )
    ends = operation.out.axes == (0, 1, 2) and operation.out.shape == operation.out.value.shape
    products(
        emitter.nests,
        emitter.costs,
        "matmul",
        emitter.view(operation.out),
        operands,
        emitter.view(operation.start),
        emitter.parts(operation.parts),
        whole=ends and operation.right.shape[2] % TILE == 0,
    )


@_emit.register
def _(operation: Window, emitter):
    place = emitter.places[operation.source]
    origin = (
        place.buffer.address
        + place.lead
        - sum(n * s for n, s in zip(operation.padding, place.strides, strict=True))
    )
    source = View(
        origin,
        operation.out.shape,
        tuple(
            place.strides[axis] * step
            for axis, step in zip(operation.axes, operation.step, strict=True)
        ),
    )
    outer, inner = (
        (length, distance * place.strides[axis])
        for axis, length, distance in (operation.outer, operation.inner)
    )
    reduce(
        emitter.nests,
        operation.function,
        emitter.view(operation.out),
        source,
        outer,
        inner,
        emitter.view(operation.start),
        emitter.parts(operation.parts),
    )
