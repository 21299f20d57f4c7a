# SPDX-License-Identifier: BSD-2-Clause
"""Tiling through main memory: operations are split into tiles of their results, so that values
larger than the scratchpad stay in main memory and only the current tiles are loaded.

The rewritten network gives the same numbers: every element is computed by the same instructions in
the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from ...base import LoweringError
from ..kernel_graph import (
    Box,
    Chain,
    KernelGraph,
    Operation,
    PairProduct,
    Product,
    Ref,
    Regroup,
    Value,
    Window,
)
from .steps import TILE, geometry
from .transfers import whole

__all__ = ["Limits", "tiled"]

#: Rows, columns and channels of the smallest box of a result.
_UNITS = (1, 1, TILE)
#: A box of a tensor: (first, end) of each axis.
Span = tuple[int, int]


@dataclass(frozen=True)
class Limits:
    """Scratchpad limits of a tiled network, in elements.

    Attributes
    ----------
    elements : of the scratchpad
    resident : values of at most this size stay in the scratchpad whole
    box : of all boxes of one operation together
    spread : pixels lie at pitches that spread tiles over the banks
    partial : whether partial sums may be stored in between, without a change of results
    """

    elements: int
    resident: int
    box: int
    spread: bool
    partial: bool


def tiled(kernel_graph: KernelGraph, limits: Limits, keep: bool) -> KernelGraph:
    """Returns the network with its large values in main memory; with ``keep``, every tensor of the
    graph is stored there. Raises :class:`~...base.LoweringError` if even the smallest tile of a
    result exceeds the scratchpad."""
    return _Tiler(kernel_graph, limits, keep).tiled()


@dataclass
class _Taps:
    """Range of a product's sum: taps of rows and columns, and summed elements per tap, as spans."""

    down: Span
    across: Span
    deep: Span


def _size(value: Value, spread: bool) -> int:
    """Scratchpad size of a value, in elements."""
    return geometry(value, spread)[2] + 2 * TILE


def _equal(length: int, most: int, unit: int = 1) -> list[Span]:
    """Splits a length into spans of at most ``most`` elements, multiples of ``unit`` and as equal
    as possible."""
    units = ceil(length / unit)
    parts = ceil(units / max(1, most // unit))
    edges = [min(length, units * k // parts * unit) for k in range(parts + 1)]
    return list(zip(edges, edges[1:], strict=False))


def _lengths(spans: Iterable[Span]) -> tuple[int, ...]:
    return tuple(end - first for first, end in spans)


class _Tile:
    """One tile of an operation's result, with the tiles of its operands."""

    def __init__(self, tiler: _Tiler):
        self._tiler = tiler
        self._brought: dict[Any, Value] = {}
        #: Values of the scratchpad that are filled or stored for this box.
        self.values: list[Value] = []

    def ref(self, ref: Ref, spans: Sequence[Span], border: Sequence[int] = (0, 0, 0, 0)) -> Ref:
        """Restricts an operand to a tile; broadcast axes are unchanged."""
        first, shape = [], []
        for length, (low, end) in zip(ref.shape, spans, strict=True):
            first.append(low if length > 1 else 0)
            shape.append(end - low if length > 1 else 1)
        part = ref.part(tuple(first), tuple(shape))
        value = ref.value
        if not self._tiler.is_outside(value):
            return part
        low, extent = _extent(part)
        key = id(value), low, extent, tuple(border)
        if key not in self._brought:
            self._brought[key] = self._held(value, low, extent, border)
        return Ref(self._brought[key], part.shape, part.axes, (0, 0, 0), part.step)

    def _held(self, value, low, extent, border):
        if value.data is not None:
            there = tuple(slice(n, n + length) for n, length in zip(low, extent, strict=True))
            made = Value(extent, data=np.ascontiguousarray(value.data[there]))
        else:
            made = Value(
                extent,
                tight=value.tight,
                border=list(border),
                around=value.around,
                box=Box(value, low, comes=True),
            )
        self.values.append(made)
        return made

    def out(self, ref: Ref, spans: Sequence[Span]) -> Ref:
        """Target of a tile of the result. Elements that the operation does not write are loaded
        from main memory first."""
        part = ref.part(tuple(first for first, _ in spans), _lengths(spans))
        if not self._tiler.is_outside(ref.value):
            return part
        low, extent = _extent(part)
        between = any(n > 1 and step > 1 for n, step in zip(part.shape, part.step, strict=True))
        made = Value(extent, box=Box(ref.value, low, comes=between, leaves=True))
        self.values.append(made)
        return Ref(made, part.shape, part.axes, (0, 0, 0), part.step)

    def parts(self, parts: Sequence[Any], spans: Sequence[Span]) -> list[Any]:
        """The instructions of a chain, restricted to a tile of the result."""
        return [
            part if isinstance(part, str) else (part[0], self.ref(part[1], spans)) for part in parts
        ]


def _extent(ref):
    """Bounding box of a reference in its value: (first element, length of each axis)."""
    extent = [1, 1, 1]
    for axis, length, step in zip(ref.axes, ref.shape, ref.step, strict=True):
        extent[axis] = (length - 1) * step + 1
    return tuple(ref.start), tuple(extent)


def _window_span(span: Span, step: int, padding: int, effective_size: int, length: int):
    """Source span that windows of ``effective_size`` elements read: (span within ``length``
    elements, missing elements before it, missing elements after it). The second number is negative
    if the windows begin inside the span."""
    low, high = span[0] * step - padding, (span[1] - 1) * step - padding + effective_size
    first = min(max(low, 0), length - 1)
    end = max(min(high, length), first + 1)
    return (first, end), first - low, max(0, high - end)


class _Tiler:
    def __init__(self, kernel_graph, limits, keep):
        self._kernel_graph, self._limits, self._keep = kernel_graph, limits, keep
        self._outside: dict[Value, bool] = {}
        self._weights: dict[Any, np.ndarray] = {}
        self._operations: list[Operation] = []

    def tiled(self):
        """Rewrites the network with tiled operations."""
        for operation in self._kernel_graph.operations:
            if isinstance(operation, Regroup):
                self._regroup(operation)
            elif any(self.is_outside(ref.value) for ref in (*operation.refs(), operation.out)):
                self._cut(operation)
            else:
                self._operations.append(operation)
        found = KernelGraph(
            inputs=dict(self._kernel_graph.inputs),
            outputs=dict(self._kernel_graph.outputs),
            values=dict(self._kernel_graph.values),
            operations=self._operations,
        )
        self._views(found)
        found.outside = {
            value for value, away in self._outside.items() if away and value.data is None
        }
        return found

    def is_outside(self, value: Value) -> bool:
        """Whether a value lies in main memory."""
        if value not in self._outside:
            limits = self._limits
            most = limits.resident if value.data is None else max(limits.box // 4, 64)
            self._outside[value] = value.size > 1 and _size(value, limits.spread) > most
        return self._outside[value]

    def _regroup(self, operation):
        """Reshapes a value; this is free if source and result both lie in main memory."""
        source = operation.source
        if self.is_outside(source.value) and not whole(source):
            source = self._copied(operation.node, operation.fused, source)
        self._operations.append(replace(operation, source=source))

    def _copied(self, node, fused, ref):
        copied = Ref.of(Value(ref.shape))
        self._cut(Chain(node=node, fused=fused, out=copied, parts=[("OUTPUT", ref)]))
        return copied

    def _views(self, found):
        """Copies the tensors that main memory needs in another layout than their values have, and
        those that are an input under another name or shape: the numbers of an input are not
        rounded to elements, a copy of them is."""
        given = set(found.inputs.values())
        for operation in self._operations:
            if isinstance(operation, Regroup) and operation.source.value in given:
                if self.is_outside(operation.source.value):
                    given.add(operation.out.value)
        last = [one for one in self._operations if not isinstance(one, Regroup)][-1:]
        for name in list(found.values if self._keep else found.outputs):
            ref = found.values[name]
            if not self.is_outside(ref.value):
                continue
            # A network that only moves elements has an operation that copies its result.
            lies = whole(ref) and (name in found.inputs or ref.value not in given)
            if lies and last:
                continue
            node, fused = (last[0].node, last[0].fused) if last else (name, ())
            copied = self._copied(node, fused, ref)
            found.values[name] = copied
            if name in found.outputs:
                found.outputs[name] = copied

    # Boxes

    def _cut(self, operation):
        if isinstance(operation, Window) and self._lines(operation):
            return
        shape = operation.out.shape
        make = self._make(operation)
        most = list(shape)
        for axis, unit in enumerate(_UNITS):
            most[axis] = self._most(shape, most, axis, unit, make)
        axes = [_equal(*sides) for sides in zip(shape, most, _UNITS, strict=True)]
        smallest = [spans[0] for spans in axes]
        taps = self._taps(operation, smallest)
        taken = 0 if taps else self._taken(make, smallest)
        if taken > self._limits.elements:
            raise LoweringError(
                f"{operation.node}: a box of its result takes {taken:,} elements of the "
                f"scratchpad, there are {self._limits.elements:,}",
                operation.node,
            )
        for spans in product(*axes):
            self._operations += (
                self._sums(operation, list(spans), taps) if taps else make(_Tile(self), list(spans))
            )

    def _taken(self, make, spans):
        tile = _Tile(self)
        make(tile, spans)
        return sum(_size(value, self._limits.spread) for value in tile.values)

    def _fits(self, make, spans, beside=0):
        return self._taken(make, spans) + beside <= self._limits.box

    def _most(self, shape, most, axis, unit, make):
        """Greatest tile length along an axis that fits; earlier axes keep the lengths ``most``."""
        if self._fits(make, [(0, n) for n in most]):
            return most[axis]
        low, high = 1, ceil(shape[axis] / unit)
        while low < high:
            middle = (low + high + 1) // 2
            spans = [(0, n) for n in most]
            spans[axis] = (0, min(shape[axis], middle * unit))
            # A box inside the map takes more than one at its edge.
            inside = [
                (n // 2, n // 2 + end) if n >= end + n // 2 else (n - end, n)
                for n, (_, end) in zip(shape, spans, strict=True)
            ]
            if self._fits(make, spans) and self._fits(make, inside):
                low = middle
            else:
                high = middle - 1
        return min(shape[axis], low * unit)

    def _make(self, operation) -> Callable[[_Tile, list[Span]], list[Operation]]:
        """Returns the function that builds a tile of an operation."""
        kinds: dict[type, Any] = {
            Chain: self._chain,
            Product: self._product,
            PairProduct: self._pair,
            Window: self._window,
        }
        made = kinds[type(operation)]
        return lambda tile, spans: [made(operation, tile, spans)]

    def _chain(self, operation, tile, spans):
        parts = tile.parts(operation.parts, spans)
        return replace(operation, out=tile.out(operation.out, spans), parts=parts)

    def _pair(self, operation, tile, spans, inner=None, start=None, last=True):
        batch, rows, columns = spans
        inner = inner or (0, operation.left.shape[2])
        return replace(
            operation,
            left=tile.ref(operation.left, (batch, rows, inner)),
            right=tile.ref(operation.right, (batch, inner, columns)),
            start=start or tile.ref(operation.start, spans),
            parts=tile.parts(operation.parts, spans) if last else [],
            out=tile.out(operation.out, spans),
        )

    def _window(self, operation, tile, spans, taps=None, start=None, last=True):
        value, padding = operation.source, list(operation.padding)
        outer, inner = operation.outer, operation.inner
        if taps is not None:
            for (axis, _, distance), (first, _) in zip((outer, inner), taps, strict=True):
                padding[axis] -= first * distance
            outer, inner = (
                (axis, end - first, distance)
                for (axis, _, distance), (first, end) in zip((outer, inner), taps, strict=True)
            )
        effective_size = [1, 1, 1]
        for axis, length, distance in (outer, inner):
            effective_size[axis] += (length - 1) * distance
        taken: list[Span] = [(0, n) for n in value.shape]
        before, behind = [0, 0, 0], [0, 0, 0]
        for span, axis, step in zip(spans, operation.axes, operation.step, strict=True):
            found = _window_span(span, step, padding[axis], effective_size[axis], value.shape[axis])
            if self.is_outside(value):
                taken[axis], padding[axis], behind[axis] = found
                before[axis] = max(0, padding[axis])
            else:
                padding[axis] -= span[0] * step
        if self.is_outside(value):
            border = (before[0], before[1], behind[0], behind[1])
            value = tile.ref(Ref.of(value), taken, border).value
        return replace(
            operation,
            source=value,
            padding=tuple(padding),
            outer=outer,
            inner=inner,
            start=start or operation.start,
            parts=tile.parts(operation.parts, spans) if last else [],
            out=tile.out(operation.out, spans),
        )

    def _lines(self, operation):
        """Splits a maximum over windows that exceed the scratchpad into one along rows and one
        along columns; returns whether it did."""
        outer, inner = operation.outer, operation.inner
        if operation.function != "max" or outer[0] == inner[0] or 1 in (outer[1], inner[1]):
            return False
        spans = [(0, min(n, unit)) for n, unit in zip(operation.out.shape, _UNITS, strict=True)]
        if self._fits(self._make(operation), spans):
            return False
        axis = inner[0]
        at = operation.axes.index(axis)
        shape = list(operation.source.shape)
        shape[axis] = operation.out.shape[at]
        padding, step = list(operation.padding), list(operation.step)
        step = [s if k == at else 1 for k, s in enumerate(step)]
        made = Value(tuple(shape), border=list(operation.source.border), around=-np.inf)
        made.border[axis], made.border[axis + 2] = 0, 0
        first = replace(
            operation,
            out=Ref.of(made).ordered(operation.axes),
            outer=(outer[0], 1, 1),
            padding=tuple(p if k == axis else 0 for k, p in enumerate(padding)),
            step=tuple(step),
            parts=[],
        )
        second = replace(
            operation,
            source=made,
            inner=(inner[0], 1, 1),
            padding=tuple(0 if k == axis else p for k, p in enumerate(padding)),
            step=tuple(1 if k == at else s for k, s in enumerate(operation.step)),
        )
        self._cut(first)
        self._cut(second)
        return True

    # Sums of products

    def _product(self, operation, tile, spans, taps=None, start=None, last=True):
        rows, columns, inner = operation.weights.shape[:3]
        if operation.each:
            inner = operation.source.shape[2]
        taps = taps or _Taps((0, rows), (0, columns), (0, inner))
        source, (top, left) = operation.source, operation.padding
        padding = [top - taps.down[0] * operation.dilation[0]]
        padding.append(left - taps.across[0] * operation.dilation[1])
        taken, before, behind = [], [0, 0], [0, 0]
        outside = self.is_outside(source.value)
        for axis, span in enumerate((taps.down, taps.across)):
            effective_size = (span[1] - span[0] - 1) * operation.dilation[axis] + 1
            stride = operation.stride[axis]
            found = _window_span(
                spans[axis], stride, padding[axis], effective_size, source.shape[axis]
            )
            if outside:
                part, padding[axis], behind[axis] = found
                taken.append(part)
                before[axis] = max(0, padding[axis])
            else:
                padding[axis] -= spans[axis][0] * stride
                taken.append((0, source.shape[axis]))
        taken.append(spans[2] if operation.each else taps.deep)
        source = tile.ref(source, taken, (before[0], before[1], behind[0], behind[1]))
        weights = self._part_of_weights(operation, taps, spans[2])
        return replace(
            operation,
            source=source,
            weights=weights,
            padding=(padding[0], padding[1]),
            start=start or tile.ref(operation.start, spans),
            parts=tile.parts(operation.parts, spans) if last else [],
            out=tile.out(operation.out, spans),
            results=operation.out.shape[0] * operation.out.shape[1],
            passing=operation.each and weights.size < operation.weights[..., slice(*spans[2])].size,
        )

    def _part_of_weights(self, operation, taps, channels):
        """Weights of some taps and channels; all tiles that need them share one array."""
        key = id(operation), taps.down, taps.across, taps.deep, channels
        if key not in self._weights:
            down, across, deep, some = (
                slice(*span) for span in (taps.down, taps.across, taps.deep, channels)
            )
            weights = operation.weights[down, across]
            weights = weights[..., some] if operation.each else weights[:, :, deep, some]
            self._weights[key] = (
                operation.weights if weights.shape == operation.weights.shape else weights
            )
        return self._weights[key]

    def _taps(self, operation, spans):
        """Splits a product's sum into ranges if its operands exceed the scratchpad even for one
        result; ``None`` if they fit, or if the build cannot store partial sums."""
        if isinstance(operation, Chain) or self._fits(self._make(operation), spans):
            return None
        # A maximum is an element itself.
        exact = isinstance(operation, Window) and operation.function == "max"
        if not self._limits.partial and not exact:
            return None
        if isinstance(operation, Window):
            return self._parts_of_window(operation, spans)
        if isinstance(operation, PairProduct):
            return self._parts_of_pair(operation, spans)
        if not self.is_outside(operation.source.value):
            return None
        rows, columns, inner = operation.weights.shape[:3]

        def fits(taps):
            beside = 0
            if operation.each:
                # Its weights are as many as the elements that they multiply.
                lengths = _lengths((taps.down, taps.across, spans[2]))
                beside = lengths[0] * lengths[1] * -(-lengths[2] // TILE) * TILE
            return self._fits(
                lambda tile, box: self._product(operation, tile, box, taps), spans, beside
            )

        downs = _longest(rows, 1, lambda n: fits(_Taps((0, n), (0, columns), (0, inner))))
        if downs:
            return [_Taps(down, (0, columns), (0, inner)) for down in _equal(rows, downs)]
        if operation.runs:
            return None
        every = [(row, row + 1) for row in range(rows)]
        wide = _longest(columns, 1, lambda n: fits(_Taps((0, 1), (0, n), (0, inner))))
        if wide:
            return [
                _Taps(down, across, (0, inner))
                for down, across in product(every, _equal(columns, wide))
            ]
        if operation.each:
            return None
        deep = _longest(inner, TILE, lambda n: fits(_Taps((0, 1), (0, 1), (0, n))))
        return [
            _Taps(down, (column, column + 1), part)
            for down, column, part in product(
                every, range(columns), _equal(inner, max(TILE, deep), TILE)
            )
        ]

    def _parts_of_window(self, operation, spans):
        """Splits a window into ranges (of its outer axis, of its inner one); ``None`` if not even
        four elements fit."""
        outer, inner = operation.outer[1], operation.inner[1]

        def fits(taps):
            return self._fits(lambda tile, box: self._window(operation, tile, box, taps), spans)

        tall = _longest(outer, 1, lambda n: fits(((0, n), (0, inner))))
        if tall:
            return [(part, (0, inner)) for part in _equal(outer, tall)]
        wide = _longest(inner, TILE, lambda n: fits(((0, 1), (0, n))))
        if not wide:
            return None
        rows = [(row, row + 1) for row in range(outer)]
        return list(product(rows, _equal(inner, wide, TILE)))

    def _parts_of_pair(self, operation, spans):
        """Splits the summed elements of a product of two tensors into ranges."""
        inner = operation.left.shape[2]

        def fits(count):
            return self._fits(lambda tile, box: self._pair(operation, tile, box, (0, count)), spans)

        deep = _longest(inner, TILE, fits)
        return _equal(inner, deep, TILE) if deep else None

    def _sums(self, operation, spans, taps):
        """Builds a tile of an operation from ranges of its sum or window, in order; all but the
        last leave partial results in the scratchpad."""
        makers: dict[type, Any] = {
            Product: self._product,
            PairProduct: self._pair,
            Window: self._window,
        }
        make = makers[type(operation)]
        sums = Ref.of(Value(_lengths(spans)))
        found = []
        for number, part in enumerate(taps):
            tile, last = _Tile(self), number == len(taps) - 1
            made = make(operation, tile, spans, part, start=sums if number else None, last=last)
            found.append(made if last else replace(made, out=sums))
        return found


def _longest(length: int, unit: int, fits: Callable[[int], bool]) -> int:
    """Greatest multiple of ``unit`` (or ``length`` itself) that fits; 0 if none does."""
    low, high = 0, ceil(length / unit)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(min(length, middle * unit)):
            low = middle
        else:
            high = middle - 1
    return min(length, low * unit)
