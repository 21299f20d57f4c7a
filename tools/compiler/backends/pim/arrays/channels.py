# SPDX-License-Identifier: BSD-2-Clause
"""Convolutions that even all arrays together do not hold: several convolutions, each of which reads
some channels of the map in place and has a part of the kernel, in as many programs as they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ....graph import Concat, Conv, Dense, Graph, Node, Reshape, Slice, Tensor
from .matrices import most_rows

__all__ = ["ChannelView", "by_channels", "is_channel_view"]


@dataclass(eq=False, kw_only=True)
class ChannelView(Slice):
    """Some channels of a map or of a part of it, which convolutions alone read, in place. No other
    pass makes one, and none rewrites it."""

    @property
    def kind(self) -> str:
        """As of other slices."""
        return "slice"


def is_channel_view(graph: Graph, name: str) -> bool:
    """Whether a tensor is some channels of a map, read in place."""
    return isinstance(graph.maker(name), ChannelView)


def by_channels(
    graph: Graph,
    node: Node,
    tensors: dict[str, Tensor],
    *,
    params: Mapping[str, Any],
    held: Callable[[Sequence[Node], Graph], bool],
) -> list[Node] | None:
    """Layers that replace a convolution that exceeds the arrays or local memory, with their
    tensors added to ``tensors``; ``None`` if the core holds none that is small enough.

    A convolution by groups becomes several with fewer groups. Another one becomes convolutions of
    some channels, and of parts of the kernel, whose results products with ones add up.
    ``held`` : callable(nodes, graph), whether a core holds a layer.
    """
    if isinstance(node, Dense):
        return _dense(graph, node, tensors, params, held)
    if not isinstance(node, Conv):
        return None
    splitting = _Splitting(graph, node, tensors, params, held)
    if node.groups > 1:
        nodes = splitting.grouped() or splitting.single_groups()
    else:
        nodes = splitting.summed()
    if nodes is not None:
        tensors.update(splitting.tensors)
    return nodes


def _dense(graph, node, tensors, params, held):
    """Layers that replace a dense layer: it is a convolution of a map of one column."""
    known = replace(graph, tensors=tensors)
    (source,), (outputs, features) = node.inputs, node.weights.shape
    steps = known.shape(node.output)[0] if node.steps else 1
    made = {}
    for what, length in (("map", features), ("column", outputs)):
        name = f"{node.name}:{what}"
        made[name] = Tensor(name, (steps, 1, length))
    column, result = made
    conv = Conv(
        name=result,
        inputs=[column],
        output=result,
        origin=node.origin,
        weights=node.weights[:, None, None, :],
        bias=node.bias,
        activation=node.activation,
        weight_scale=node.weight_scale,
    )
    splitting = _Splitting(graph, conv, {**tensors, **made}, params, held)
    layers = splitting.summed()
    if layers is None:
        return None
    tensors.update(made)
    tensors.update(splitting.tensors)

    def reshaped(name, source, output):
        shape = tensors[output].shape
        return Reshape(name=name, inputs=[source], output=output, origin=node.origin, shape=shape)

    return [
        reshaped(column, source, column),
        *layers,
        reshaped(node.name, result, node.output),
    ]


def _shares(total: int, parts: int) -> list[tuple[int, int]]:
    """Splits a number into ``parts`` nearly equal ranges (first, end), the first the longest."""
    cuts = [-(-total * k // parts) for k in range(parts + 1)]
    return list(zip(cuts, cuts[1:], strict=False))


@dataclass(frozen=True)
class _Lines:
    """Rows or columns of a kernel, ``taps``, those of the map that they ``met``, (first, behind
    last) each, and the ``padding`` before and after these."""

    taps: tuple[int, int]
    met: tuple[int, int]
    padding: tuple[int, int]


class _Splitting:
    """Builds the layers that replace a convolution. ``tensors``: the new ones; it reads those of
    ``known`` besides. ``first``: first channel of the map that the convolution reads."""

    def __init__(self, graph, node, known, params, held, first=0):
        self._node, self._params, self._held, self._first = node, params, held, first
        self._most = most_rows(params)
        self._graph = replace(graph, tensors=known)
        self.tensors: dict[str, Tensor] = {}
        self._positions = self._graph.shape(node.inputs[0])[:2]
        self._channels = node.weights.shape[3] * node.groups
        self._out = self._graph.shape(node.output)

    def _tensor(self, what, shape):
        name = f"{self._node.name}:{what}"
        self.tensors[name] = Tensor(name, tuple(shape))
        return name

    def _view(self, first, end, reader="", rows=None, columns=None):
        """The node that takes channels ``first`` to ``end`` - 1 of the source for one reader, so
        that both are in one program; ``rows``, ``columns`` (first, behind last): of the map,
        ``None``: all."""
        top, bottom = rows or (0, self._positions[0])
        left, right = columns or (0, self._positions[1])
        what = f"channels {first} to {end - 1}{reader}"
        name = self._tensor(what, (bottom - top, right - left, end - first))
        return ChannelView(
            name=name,
            inputs=list(self._node.inputs),
            output=name,
            origin=self._node.origin,
            start=(top, left, self._first + first),
            stop=(bottom, right, self._first + end),
            step=(1, 1, 1),
        )

    def _lines(self, axis, parts):
        """Splits rows (``axis`` 0) or columns (1) of the kernel into :class:`_Lines`. Those that
        meet padding alone are left out."""
        node, length = self._node, self._positions[axis]
        before, after = node.padding[axis], node.padding[axis + 2]
        taps = node.weights.shape[1 + axis]
        if parts == 1:
            return [_Lines((0, taps), (0, length), (before, after))]
        found = []
        for begin, end in _shares(taps, parts):
            low = begin * node.dilation[axis] - before
            high = low + (self._out[axis] - 1) * node.stride[axis]
            high += (end - 1 - begin) * node.dilation[axis] + 1
            met = max(low, 0), min(high, length)
            if met[0] < met[1]:
                found.append(_Lines((begin, end), met, (met[0] - low, high - met[1])))
        return found

    def _fits(self, *nodes):
        """Whether a core holds the last of ``nodes``."""
        tensors = {**self._graph.tensors, **self.tensors}
        return self._held([nodes[-1]], replace(self._graph, nodes=list(nodes), tensors=tensors))

    def _layer(self, what, source, outputs, **attributes):
        """A convolution of a map, or of some channels of it."""
        name = self._tensor(what, (*self._out[:2], outputs))
        return replace(self._node, name=name, inputs=[source], output=name, **attributes)

    def _concatenated(self, layers, name, output):
        return Concat(
            name=name,
            inputs=[layer.output for layer in layers],
            output=output,
            origin=self._node.origin,
            axis=2,
        )

    def _some(self, numbers, first, end):
        """A part of numbers that are one for each output."""
        return numbers if np.shape(numbers) != self._out[2:] else numbers[first:end]

    def grouped(self):
        """Convolutions of fewer groups, as few of them as fit."""
        node = self._node
        inner, among = node.weights.shape[3], len(node.weights) // node.groups
        for parts in range(2, node.groups + 1):
            self.tensors.clear()
            nodes: list[Node] = []
            layers = []
            for first, end in _shares(node.groups, parts):
                view = self._view(first * inner, end * inner)
                out = first * among, end * among
                layer = self._layer(
                    f"groups {first} to {end - 1}",
                    view.output,
                    (end - first) * among,
                    weights=node.weights[slice(*out)],
                    bias=None if node.bias is None else node.bias[slice(*out)],
                    weight_scale=self._some(node.weight_scale, *out),
                    groups=end - first,
                )
                # None of the others has more.
                if not layers and not self._fits(view, layer):
                    break
                nodes += [view, layer]
                layers.append(layer)
            else:
                return [*nodes, self._concatenated(layers, node.name, node.output)]
        return None

    def single_groups(self):
        """Each group by itself, as sums of some of its channels; ``None`` if one does not fit."""
        node, nodes, layers = self._node, [], []
        inner, among = node.weights.shape[3], len(node.weights) // node.groups
        self.tensors.clear()
        for group in range(node.groups):
            out = group * among, (group + 1) * among
            layer = self._layer(
                f"group {group}",
                node.inputs[0],
                among,
                weights=node.weights[slice(*out)],
                bias=None if node.bias is None else node.bias[slice(*out)],
                weight_scale=self._some(node.weight_scale, *out),
                groups=1,
            )
            known = {**self._graph.tensors, **self.tensors}
            splitting = _Splitting(
                self._graph, layer, known, self._params, self._held, group * inner
            )
            parts = splitting.summed()
            if parts is None:
                return None
            self.tensors.update(splitting.tensors)
            nodes += parts
            layers.append(layer)
        return [*nodes, self._concatenated(layers, node.name, node.output)]

    def summed(self):
        """Convolutions of some channels and parts of the kernel each, whose results are added up;
        of some outputs, if the sums would have too many operands."""
        _, high, wide, _ = self._node.weights.shape
        # Columns stay together, as runs in memory, as far as one row of one channel allows.
        numbers = range(-(-wide // self._most), wide + 1)
        smallest = ((n, self._partial((self._channels, high, n), 0, 1)) for n in numbers)
        columns = next((n for n, layers in smallest if self._fits(*next(layers))), None)
        if columns is None:
            return None
        # Sums of sums only where a sum has too many operands otherwise.
        for operands in (self._most, self._channels * high * wide * self._out[2]):
            for rows in range(1, high + 1):
                taps = -(-high // rows) * -(-wide // columns)
                fewest = -(-self._channels * taps // self._most)
                for step in self._steps():
                    most = min(self._channels, operands // (step * rows * columns))
                    for parts in range(max(1 + (rows * columns == 1), fewest), most + 1):
                        nodes = self._summed((parts, rows, columns), step)
                        if nodes is not None:
                            return nodes
        return None

    def _steps(self):
        """Numbers of outputs that have layers of their own, the largest first."""
        outputs, wide = self._out[2], self._params["xb_cols"]
        most = -(-outputs // wide)
        for number in (*range(1, most + 1), *range(2 * most, outputs + 1, most)):
            step = -(-outputs // number)
            yield -(-step // wide) * wide if step > wide else step

    def _partial(self, splits, low, high):
        """Iterates over the layers for partial sums of outputs ``low`` to ``high`` - 1: (view,
        layer that reads it); ``splits``: numbers of those of the channels, of the kernel's rows and
        of its columns."""
        node, (parts, *kernel) = self._node, splits
        lines = (self._lines(axis, number) for axis, number in enumerate(kernel))
        for rows, columns, (first, end) in product(*lines, _shares(self._channels, parts)):
            of, reader = f"{low} to {high - 1}", f" for {low} to {high - 1}"
            if max(kernel) > 1:
                taps = f" by taps {rows.taps[0]}, {columns.taps[0]}"
                of, reader = of + taps, reader + taps
            view = self._view(first, end, reader, rows.met, columns.met)
            weights = node.weights[low:high, slice(*rows.taps), slice(*columns.taps), first:end]
            (top, bottom), (left, right) = rows.padding, columns.padding
            layer = self._layer(
                f"outputs {of} of {first} to {end - 1}",
                view.output,
                high - low,
                weights=weights,
                bias=None,
                weight_scale=self._some(node.weight_scale, low, high),
                padding=(top, left, bottom, right),
                activation=None,
            )
            yield view, layer

    def _summed(self, splits, step):
        """The layers for partial sums of ``step`` outputs at a time, with as many ``splits`` as
        :meth:`_partial` has; ``None`` if they do not fit."""
        node, outputs, single = self._node, self._out[2], step >= self._out[2]
        self.tensors.clear()
        nodes: list[Node] = []
        sums = []
        for low in range(0, outputs, step):
            high = min(low + step, outputs)
            layers = []
            for view, layer in self._partial(splits, low, high):
                if not nodes and not self._fits(view, layer):
                    return None
                nodes += [view, layer]
                layers.append(layer)
            output = node.output
            if not single:
                output = self._tensor(f"outputs {low} to {high - 1}", (*self._out[:2], high - low))
            added = self._added(layers, low, high, node.name if single else output, output)
            if not sums and not all(self._fits(n) for n in added if isinstance(n, Conv)):
                return None
            nodes += added
            sums.append(added[-1])
        return nodes if single else [*nodes, self._concatenated(sums, node.name, node.output)]

    def _added(self, layers, low, high, name, output):
        """Products with ones that add up the results of layers, outputs ``low`` to ``high`` - 1 of
        the convolution: as many at a time as a group has rows for. The last one has the bias and
        the activation, ``name`` and ``output``."""
        node, count = self._node, high - low
        most = max(2, self._most // count)
        nodes: list[Node] = []
        while layers:
            shares = _shares(len(layers), -(-len(layers) // most))
            last = len(shares) == 1
            found = []
            for first, end in shares:
                some, what = layers[first:end], f"partial sums {low} to {high - 1}"
                if not last:
                    what += f" from {some[0].name}"
                operands = self._tensor(what, (*self._out[:2], (end - first) * count))
                own = output if last else self._tensor(f"sum of {what}", (*self._out[:2], count))
                total = Conv(
                    name=name if last else own,
                    inputs=[operands],
                    output=own,
                    origin=node.origin,
                    weights=np.tile(np.eye(count), end - first).reshape(count, 1, 1, -1),
                    bias=node.bias[low:high] if last and node.bias is not None else None,
                    activation=node.activation if last else None,
                )
                nodes += [self._concatenated(some, operands, operands), total]
                found.append(total)
            layers = [] if last else found
        return nodes
