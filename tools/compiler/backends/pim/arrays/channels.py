# SPDX-License-Identifier: BSD-2-Clause
"""Convolutions that even all arrays together do not hold: several convolutions, each of which reads
some channels of the map in place, in as many programs as they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....graph import Concat, Conv, Dense, Graph, Node, Reshape, Slice, Tensor
from .matrices import most_rows

__all__ = ["ChannelView", "by_channels", "is_channel_view"]


@dataclass(eq=False, kw_only=True)
class ChannelView(Slice):
    """Some channels of a map, which convolutions alone read, in place. No other pass makes one, and
    none rewrites it."""

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
    tensors added to ``tensors``; ``None`` if one channel is too much already.

    A convolution by groups becomes several with fewer groups. Another one becomes convolutions of
    some channels, whose results a product with ones adds up. ``held`` : callable(nodes, graph),
    whether a core holds a layer.
    """
    if isinstance(node, Dense):
        return _dense(graph, node, tensors, params, held)
    if not isinstance(node, Conv):
        return None
    splitting = _Splitting(graph, node, tensors, held)
    if node.groups > 1:
        nodes = splitting.grouped() or splitting.single_groups(params)
    else:
        nodes = splitting.summed(params)
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
    splitting = _Splitting(graph, conv, {**tensors, **made}, held)
    layers = splitting.summed(params)
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


class _Splitting:
    """Builds the layers that replace a convolution. ``tensors``: the new ones; it reads those of
    ``known`` besides. ``first``: first channel of the map that the convolution reads."""

    def __init__(self, graph, node, known, held, first=0):
        self._node, self._held, self._first = node, held, first
        self._graph = replace(graph, tensors=known)
        self.tensors: dict[str, Tensor] = {}
        self._positions = self._graph.shape(node.inputs[0])[:2]
        self._channels = node.weights.shape[3] * node.groups
        self._out = self._graph.shape(node.output)

    def _tensor(self, what, shape):
        name = f"{self._node.name}:{what}"
        self.tensors[name] = Tensor(name, tuple(shape))
        return name

    def _view(self, first, end, reader=""):
        """The node that takes channels ``first`` to ``end`` - 1 of the source for one reader, so
        that both are in one program."""
        what = f"channels {first} to {end - 1}{reader}"
        name = self._tensor(what, (*self._positions, end - first))
        return ChannelView(
            name=name,
            inputs=list(self._node.inputs),
            output=name,
            origin=self._node.origin,
            start=(0, 0, self._first + first),
            stop=(*self._positions, self._first + end),
            step=(1, 1, 1),
        )

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
        return numbers if np.size(numbers) != self._out[2] else numbers[first:end]

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

    def single_groups(self, params):
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
            splitting = _Splitting(self._graph, layer, known, self._held, group * inner)
            parts = splitting.summed(params)
            if parts is None:
                return None
            self.tensors.update(splitting.tensors)
            nodes += parts
            layers.append(layer)
        return [*nodes, self._concatenated(layers, node.name, node.output)]

    def summed(self, params):
        """Convolutions of some channels each, whose results are added up; of some outputs, if the
        sums would have too many operands."""
        node, most, wide = self._node, most_rows(params), params["xb_cols"]
        taps, outputs = node.weights.shape[1] * node.weights.shape[2], self._out[2]
        fewest = -(-self._channels * taps // most)
        counts = range(1, -(-outputs // wide) + 1)
        for number in (*counts, *range(2 * counts[-1], outputs + 1, counts[-1])):
            step = -(-outputs // number)
            step = -(-step // wide) * wide if step > wide else step
            for parts in range(max(2, fewest), min(self._channels, most // step) + 1):
                nodes = self._summed(parts, step)
                if nodes is not None:
                    return nodes
        return None

    def _summed(self, parts, step):
        """The layers for ``parts`` partial sums of ``step`` outputs at a time, ``None`` if they do
        not fit."""
        node, outputs, single = self._node, self._out[2], step >= self._out[2]
        self.tensors.clear()
        nodes: list[Node] = []
        sums = []
        for low in range(0, outputs, step):
            high = min(low + step, outputs)
            layers = []
            for first, end in _shares(self._channels, parts):
                of = f"{low} to {high - 1} of {first} to {end - 1}"
                view = self._view(first, end, f" for {low} to {high - 1}")
                layer = self._layer(
                    f"outputs {of}",
                    view.output,
                    high - low,
                    weights=node.weights[low:high, ..., first:end],
                    bias=None,
                    weight_scale=self._some(node.weight_scale, low, high),
                    activation=None,
                )
                if not nodes and not self._fits(view, layer):
                    return None
                nodes += [view, layer]
                layers.append(layer)
            part = f"partial sums {low} to {high - 1}"
            name = self._tensor(part, (*self._out[:2], parts * (high - low)))
            output = node.output
            if not single:
                output = self._tensor(f"outputs {low} to {high - 1}", (*self._out[:2], high - low))
            total = Conv(
                name=node.name if single else output,
                inputs=[name],
                output=output,
                origin=node.origin,
                weights=np.tile(np.eye(high - low), parts).reshape(high - low, 1, 1, -1),
                bias=None if node.bias is None else node.bias[low:high],
                activation=node.activation,
            )
            if not sums and not self._fits(total):
                return None
            nodes += [self._concatenated(layers, name, name), total]
            sums.append(total)
        return nodes if single else [*nodes, self._concatenated(sums, node.name, node.output)]
