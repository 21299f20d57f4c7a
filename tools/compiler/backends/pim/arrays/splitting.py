# SPDX-License-Identifier: BSD-2-Clause
"""Splitting of layers whose weights exceed the arrays, by outputs and by summed inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from ....graph import Concat, Conv, Dense, Graph, Node, Reshape, Slice, Tensor
from .matrices import most_rows

__all__ = ["split_layers"]


def split_layers(
    graph: Graph, params: Mapping[str, Any], held: Callable[[Sequence[Node], Graph], bool]
) -> Graph:
    """Splits layers that exceed the arrays into several that fit; returns a new graph.

    Outputs are shared out among layers, whose results a Concat joins. A sum of more products than a
    group has rows becomes a sum of partial sums, which are a tensor like others: a convolution's
    groups are splits of the channels, and a product with ones adds up their results. A vector is a
    place of a map; one that is too long even for that is read in turns.

    Parameters
    ----------
    graph : Graph
    params : dict, the build's parameters
    held : callable(nodes, graph), whether the arrays hold these nodes' weights at once

    Returns
    -------
    Graph
        A layer without small enough splits is left as it is.
    """
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        large = isinstance(node, Conv | Dense) and not held([node], graph)
        nodes += (_cut(graph, node, params, held, tensors) if large else None) or [node]
    return replace(graph, nodes=nodes, tensors=tensors)


def _cut(graph, node, params, held, tensors):
    """Layers that replace ``node``, with their tensors added to ``tensors``; ``None`` if it cannot
    be split."""
    (outputs, *_, summed), wide, most = node.weights.shape, params["xb_cols"], most_rows(params)
    counts = 1 if isinstance(node, Conv) and node.groups > 1 else -(-outputs // wide)
    turns = 1 if isinstance(node, Conv) or node.steps else -(-summed // most)
    tried = [(number, 1) for number in range(1, counts + 1)] + [
        (counts, turn) for turn in range(2, turns + 1)
    ]
    for again in (False, True):
        for number, turn in tried:
            splitting = _Splitting(
                replace(graph, tensors=tensors), node, most, -(-summed // turn // most) * most
            )
            splitting.make(-(-outputs // number // wide) * wide if number > 1 else outputs)
            more, nodes = {**tensors, **splitting.tensors}, []
            for layer in splitting.nodes:
                # There may be more partial sums than can be added up at once, but they are fewer
                # than what they were made of.
                inside, cut = replace(graph, nodes=splitting.nodes, tensors=more), [layer]
                if isinstance(layer, Conv | Dense) and not held([layer], inside):
                    cut = (
                        _cut(inside, layer, params, held, more)
                        if again and layer.weights.shape[-1] < summed
                        else None
                    )
                if cut is None:
                    break
                nodes += cut
            else:
                tensors.update(more)
                return nodes
    return None


def _parts(summed, most):
    """The least number of equal splits of at most ``most``; ``None`` if no number gives much
    smaller ones."""
    return next(
        (n for n in range(-(-summed // most), 2 * -(-summed // most)) if summed % n == 0), None
    )


class _Splitting:
    """Builds the layers and tensors that replace one node. ``most``: greatest number of rows of
    a group; ``turn``: number of elements of a vector that are read at a time, a multiple of
    ``most``."""

    def __init__(self, graph, node, most, turn):
        self.graph, self.node, self._most, self._turn = graph, node, most, turn
        self._first, self._sums, self._sources, self._flat, self.tensors = [], [], {}, None, {}

    @property
    def nodes(self):
        """The new nodes in order: all partial sums precede their reader, so that the arrays are
        filled once even if each split fills them."""
        return self._first + self._sums

    def make(self, step):
        """Builds the layers for splits of ``step`` outputs."""
        node, outputs, results = self.node, len(self.node.weights), []
        if step >= outputs:
            self._layer(node)
            return
        for begin in range(0, outputs, step):
            some = slice(begin, min(begin + step, outputs))
            scale = (
                node.weight_scale
                if node.weight_scale is None or np.size(node.weight_scale) != outputs
                else node.weight_scale[some]
            )
            name = self._tensor((*self.graph.shape(node.output)[:-1], some.stop - some.start))
            self._layer(
                replace(
                    node,
                    name=name,
                    output=name,
                    weights=node.weights[some],
                    bias=None if node.bias is None else node.bias[some],
                    weight_scale=scale,
                )
            )
            results.append(name)
        self._sums.append(
            self._concatenated(
                results, len(self.graph.shape(node.output)) - 1, node.name, node.output
            )
        )

    def _tensor(self, shape):
        name = next(
            name
            for n in count()
            if (name := f"{self.node.name}:{n}") not in self.tensors
            and name not in self.graph.tensors
        )
        self.tensors[name] = Tensor(name, tuple(shape))
        return name

    def _concatenated(self, names, axis, name, output):
        return Concat(name=name, inputs=names, output=output, origin=self.node.origin, axis=axis)

    def _layer(self, node):
        """Builds ``node`` as one layer, or from partial sums."""
        summed = node.weights.shape[-1]
        if isinstance(node, Dense):
            parts = summed > self._most and self._parts_of_vector(summed, node.steps)
            (self._summed_vector(node, parts) if parts else self._first.append(node))
            return
        most = self._most // (node.weights.shape[1] * node.weights.shape[2])
        parts = summed > most > 0 and _parts(summed, most)
        (self._summed_map(node, parts) if parts else self._first.append(node))

    def _parts_of_vector(self, summed, steps):
        """Splits of a vector, or of every step of a sequence: (first element, elements, splits)
        that are read at a time; empty if there is no way."""
        parts = _parts(summed, self._most)
        if parts and summed <= self._turn:
            return [(0, summed, parts)]
        if steps:
            return []
        # Whole turns, the whole parts that are left, the rest.
        found, begin = [], 0
        while begin < summed:
            left = summed - begin
            some = min(self._turn, left // self._most * self._most) or left
            found.append((begin, some, -(-some // self._most)))
            begin += some
        return found

    def _partial(self, node, source, weights, parts, shape, **window):
        """A convolution with ``parts`` partial sums per output, ordered by channel split and,
        within each, by group."""
        output, outputs = self._tensor((*shape, parts * len(weights))), len(weights)
        groups = window.pop("groups", 1)
        own = weights.reshape(groups, outputs // groups, *weights.shape[1:3], parts, -1)
        own = np.moveaxis(own, 4, 1).reshape(parts * outputs, *weights.shape[1:3], -1)
        self._first.append(
            Conv(
                name=output,
                inputs=[source],
                output=output,
                origin=node.origin,
                weights=np.ascontiguousarray(own),
                groups=parts * groups,
                **window,
            )
        )
        return output

    def _summed_map(self, node, parts):
        sums = self._partial(
            node,
            node.inputs[0],
            node.weights,
            parts,
            self.graph.shape(self.node.output)[:2],
            groups=node.groups,
            stride=node.stride,
            padding=node.padding,
            dilation=node.dilation,
        )
        each = len(node.weights) // node.groups
        ones = np.tile(np.eye(each), (node.groups, parts)).reshape(
            len(node.weights), 1, 1, parts * each
        )
        self._sums.append(
            Conv(
                name=node.name,
                inputs=[sums],
                output=node.output,
                origin=node.origin,
                weights=ones,
                bias=node.bias,
                groups=node.groups,
                activation=node.activation,
            )
        )

    def _summed_vector(self, node, turns):
        steps, outputs = self.graph.shape(node.output)[0] if node.steps else 1, len(node.weights)
        sums = []
        for begin, some, parts in turns:
            source = self._place(node.inputs[0], steps, begin, some)
            sums.append(
                self._partial(
                    node,
                    source,
                    node.weights[:, None, None, begin : begin + some],
                    parts,
                    (steps, 1),
                )
            )
        together = sum(parts for _, _, parts in turns)
        if len(sums) > 1:
            name = self._tensor((1, 1, together * outputs))
            self._sums.append(self._concatenated(sums, 2, name, name))
            sums = [name]
        if node.steps:
            sums = [self._same(Reshape, sums[0], (steps, together * outputs), self._sums)]
        self._sums.append(
            Dense(
                name=node.name,
                inputs=sums,
                output=node.output,
                origin=node.origin,
                weights=np.tile(np.eye(outputs), together),
                bias=node.bias,
                activation=node.activation,
                steps=node.steps,
            )
        )

    def _place(self, source, steps, begin, some):
        """Selects elements of a vector, or of every step of a sequence, as a map of one column; all
        outputs share the result."""
        key = begin, some
        if key not in self._sources:
            size = self.graph.tensors[source].size
            if steps * some != size:
                if len(self.graph.shape(source)) > 1:
                    source = self._flat = self._flat or self._same(Reshape, source, (size,))
                source = self._same(
                    Slice, source, (some,), start=(begin,), stop=(begin + some,), step=(1,)
                )
            self._sources[key] = self._same(Reshape, source, (steps, 1, some))
        return self._sources[key]

    def _same(self, kind, source, shape, into=None, **attributes):
        """Adds a reshape or slice, which changes addresses but moves no elements."""
        output = self._tensor(shape)
        attributes = attributes or {"shape": tuple(shape)}
        (self._first if into is None else into).append(
            kind(name=output, inputs=[source], output=output, origin=self.node.origin, **attributes)
        )
        return output
