# SPDX-License-Identifier: BSD-2-Clause
"""Decomposition of a network's graph into operations of Cherry's kernels."""

from collections.abc import Mapping
from functools import singledispatchmethod
from typing import Any

import numpy as np

from ...graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    LayerNorm,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    Transpose,
)
from . import recurrent
from .arithmetic import to_element
from .kernel_graph import (
    KernelGraph,
    PairProduct,
    Product,
    Ref,
    Regroup,
    Window,
    fuse,
    made_closely,
    three,
)
from .operations import Operations, affine, function

__all__ = ["Decomposer", "kernel_graph_of"]


def kernel_graph_of(graph: Graph, params: Mapping[str, Any], *, keep: bool = False) -> KernelGraph:
    """Decomposes a graph into operations; with ``keep``, every tensor of the graph becomes a
    value."""
    maker = Decomposer(graph, params)
    for node in graph.nodes:
        maker.node = node.name
        maker.lower(node)
    return made_closely(fuse(maker.kernel_graph, keep), params["macs"])


class Decomposer(Operations):
    """Builds a :class:`~.kernel_graph.KernelGraph` node by node."""

    @classmethod
    def takes(cls, node: Node) -> bool:
        """Whether the decomposer supports this kind of node."""
        lowering = cls.__dict__["lower"].dispatcher
        return lowering.dispatch(type(node)) is not lowering.dispatch(Node)

    @singledispatchmethod
    def lower(self, node: Node) -> None:
        """Adds the operations that compute a node."""
        raise TypeError(f"no back end's node: {node.kind}")

    @lower.register
    def _(self, node: Activation):
        self.chain(self.result(node), function(node, self.ref(node.inputs[0]), self.constant))

    @lower.register
    def _(self, node: Affine):
        x = self.ref(node.inputs[0])
        self.activated(
            node,
            lambda out: self.chain(
                out,
                affine(
                    lambda register: (register, x), self.held(node.scale), self.held(node.shift)
                ),
            ),
        )

    @lower.register
    def _(self, node: Binary):
        x, y = (self.ref(name) for name in node.inputs)
        self.activated(node, lambda out: self.binary(node.function, x, y, out))

    @lower.register
    def _(self, node: Conv):
        residual = [self.ref(name) for name in node.inputs[1:]]

        def make(out):
            sums = self.fresh(out.shape) if residual else out
            self._convolve(node, sums)
            if residual:
                self.binary("add", sums, residual[0], out)

        self.activated(node, make)

    def _convolve(self, node, out):
        rows, columns, channels = self.graph.shape(node.inputs[0])
        filters = node.weights.shape[0]
        source = Ref.of(self.plain(self.ref(node.inputs[0]), node.padding))
        weights = node.weights.transpose(1, 2, 3, 0)
        results = out.shape[0] * out.shape[1]
        common = {
            "stride": tuple(node.stride),
            "dilation": tuple(node.dilation),
            "padding": tuple(node.padding[:2]),
        }
        bias = np.zeros(filters) if node.bias is None else np.asarray(node.bias, np.float64) + 0.0
        each, among = channels // node.groups, filters // node.groups
        if node.groups > 1 and each == 1:
            # Result number k of every channel is a depthwise convolution of its own.
            for k in range(among):
                some = slice(k, None, among)
                self.add(
                    Product,
                    source=source,
                    weights=to_element(weights[:, :, :, some]),
                    each=True,
                    parts=[],
                    **common,
                    start=self.held(bias[some].reshape(1, 1, -1)),
                    out=out.part((0, 0, k), (*out.shape[:2], channels), (1, 1, among)),
                )
            return
        if node.groups > 1 and (each % 4 or among % 4):
            # Groups that do not begin with tiles: one convolution with zeros between them.
            spread = np.zeros((*weights.shape[:2], channels, filters))
            for group in range(node.groups):
                there = slice(group * among, (group + 1) * among)
                spread[:, :, group * each : (group + 1) * each, there] = weights[:, :, :, there]
            weights, each, among = spread, channels, filters
        for group in range(channels // each):
            there = slice(group * among, (group + 1) * among)
            self.add(
                Product,
                source=source.part((0, 0, group * each), (rows, columns, each)),
                weights=self.rounded(weights[..., there], results),
                start=self.held(bias[there].reshape(1, 1, -1)),
                parts=[],
                **common,
                out=out.part((0, 0, group * among), (*out.shape[:2], among)),
            )

    @lower.register
    def _(self, node: Dense):
        source = self.ref(node.inputs[0])
        filters = node.weights.shape[0]

        def make(out):
            if node.steps:
                self.dense(source, node.weights, node.bias, out)
                return
            # A map is flattened by a window of its size.
            whole = Ref.of(self.plain(source)) if source.shape[0] * source.shape[1] > 1 else source
            weights = np.asarray(node.weights, np.float64).T.reshape(*whole.shape, filters)
            self.add(
                Product,
                source=whole,
                weights=self.rounded(weights, 1),
                start=self.bias(node.bias, filters),
                parts=[],
                out=Ref.of(out.value),
            )

        self.activated(node, make)

    def dense(
        self,
        source: Ref,
        weights: np.ndarray,
        bias: np.ndarray | None,
        out: Ref,
        start: Ref | None = None,
    ) -> Ref:
        """Adds the product of ``source`` (1, steps, features) and ``weights`` [out, in]; ``start``:
        initial value of the sums instead of a bias."""
        key = id(weights), source.shape
        if key not in self._rounded:
            # A recurrent layer takes the same weights at every step.
            self._rounded[key] = (
                weights,
                self.rounded(
                    np.asarray(weights, np.float64).T[None, None], source.shape[0] * source.shape[1]
                ),
            )
        weights = self._rounded[key][1]
        self.add(
            Product,
            source=source,
            weights=weights,
            parts=[],
            out=out,
            start=self.bias(bias, weights.shape[3]) if start is None else start,
        )
        return out

    @lower.register
    def _(self, node: MatMul):
        left, right = (self.ref(name) for name in node.inputs)
        rank = len(self.graph.shape(node.output))
        ranks = [len(self.graph.shape(name)) for name in node.inputs]
        out = self.result(node)
        if ranks[1] == 1:
            # A vector on the right is a column: the result's last axis is the left one's rows.
            right, out = right.ordered((0, 2, 1)), out.ordered((0, 2, 1) if rank < 2 else (1, 2, 0))
        elif ranks[0] == 1 and rank == 2:
            out = out.ordered((1, 0, 2))
        self.add(PairProduct, left=left, right=right, start=self.constant(0.0), parts=[], out=out)

    @lower.register
    def _(self, node: MaxPool):
        top, left, bottom, right = node.padding
        value = self.plain(self.ref(node.inputs[0]), node.padding, -np.inf)
        self.add(
            Window,
            out=self.result(node),
            function="max",
            source=value,
            axes=(0, 1, 2),
            step=(*node.stride, 1),
            padding=(top, left, 0),
            outer=(0, node.window[0], node.dilation[0]),
            inner=(1, node.window[1], node.dilation[1]),
            start=self.constant(-np.inf),
            parts=[],
        )

    @lower.register
    def _(self, node: AveragePool):
        source, out = self.ref(node.inputs[0]), self.result(node)
        if node.include_padding or not any(node.padding):
            share = self.constant(1 / (node.window[0] * node.window[1]))
        else:
            share = self.held(1 / self._counts(node, source.shape, out.shape))
        parts: list[str | tuple[str, Ref]] = ["copy INPUT, ACC", ("WEIGHTS", share), "mul"]
        self.window_sum(source, node.window, node.stride, node.padding, out, parts)

    @staticmethod
    def _counts(node, source, shape):
        """Number of map elements under each window, [rows, columns, 1]; an average divides by
        it."""
        found = []
        for axis in range(2):
            begin = np.arange(shape[axis]) * node.stride[axis] - node.padding[axis]
            found.append(np.minimum(begin + node.window[axis], source[axis]) - np.maximum(begin, 0))
        return np.maximum(found[0][:, None, None] * found[1][None, :, None], 1)

    def _axes(self, node, axes):
        """Maps the axes of a graph tensor to the three axes of a value."""
        rank = len(self.graph.shape(node.inputs[0]))
        return [axis % rank + 3 - rank for axis in axes]

    @lower.register
    def _(self, node: Reduce):
        source, axes = self.ref(node.inputs[0]), self._axes(node, node.axes)
        out = self.result(node)
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(source.shape))
        count = int(np.prod([source.shape[axis] for axis in axes]))
        parts: list[str | tuple[str, Ref]] = (
            ["copy INPUT, ACC", ("WEIGHTS", self.constant(1 / count)), "mul"]
            if node.function == "mean"
            else []
        )
        self.reduced(
            "max" if node.function == "max" else "sum", source, axes, parts, ones_moved(out, kept)
        )

    @lower.register
    def _(self, node: Softmax):
        x, (axis,) = self.ref(node.inputs[0]), self._axes(node, (node.axis,))
        out = self.result(node)
        top = self.reduced("max", x, [axis])
        if node.log:
            centred = self.binary("sub", x, top, self.fresh(x.shape))
            powers = self.chain(self.fresh(x.shape), [("INPUT", centred), "exp"])
            total = self.reduced(
                "sum",
                powers,
                [axis],
                [
                    "copy INPUT, ACC",
                    "log",
                    "copy INPUT, OUTPUT",
                    ("WEIGHTS", self.constant(np.log(2))),
                    "mul",
                ],
            )
            self.binary("sub", centred, total, out)
            return
        powers = self.chain(
            self.fresh(x.shape),
            [("INPUT", x), ("WEIGHTS", top), "sub", "copy INPUT, OUTPUT", "exp"],
        )
        self.binary("div", powers, self.reduced("sum", powers, [axis]), out)

    @lower.register
    def _(self, node: LayerNorm):
        x, out = self.ref(node.inputs[0]), self.result(node)
        share: list[str | tuple[str, Ref]] = [
            "copy INPUT, ACC",
            ("WEIGHTS", self.constant(1 / x.shape[2])),
            "mul",
        ]
        centred = self.binary("sub", x, self.reduced("sum", x, [2], share), self.fresh(x.shape))
        squares = self.binary("mul", centred, centred, self.fresh(x.shape))
        scale = self.reduced(
            "sum",
            squares,
            [2],
            [
                *share,
                "copy INPUT, OUTPUT",
                ("WEIGHTS", self.constant(node.epsilon)),
                "add",
                "copy INPUT, OUTPUT",
                ("WEIGHTS", self.constant(-0.5)),
                "pow",
            ],
        )
        self.chain(
            out,
            [
                ("INPUT", centred),
                ("WEIGHTS", scale),
                "mul",
                "copy INPUT, OUTPUT",
                ("ACC", self.held(node.shift)),
                ("WEIGHTS", self.held(node.scale)),
                "mulacc",
                "copy OUTPUT, ACC",
            ],
        )

    # The same elements elsewhere

    @lower.register
    def _(self, node: Reshape):
        source, shape = self.ref(node.inputs[0]), three(self.graph.shape(node.output))
        if [n for n in source.shape if n > 1] == [n for n in shape if n > 1]:
            self.kernel_graph.values[node.output] = ones_moved(source, shape)
        else:
            self.add(Regroup, out=self.result(node), source=source)

    @lower.register
    def _(self, node: Transpose):
        rank = len(node.order)
        order = (*range(3 - rank), *(axis + 3 - rank for axis in node.order))
        self.kernel_graph.values[node.output] = self.ref(node.inputs[0]).ordered(order)

    @lower.register
    def _(self, node: Slice):
        source, shape = self.ref(node.inputs[0]), three(self.graph.shape(node.output))
        ones = (0,) * (3 - len(node.start)), (1,) * (3 - len(node.step))
        self.kernel_graph.values[node.output] = source.part(
            (*ones[0], *node.start), shape, (*ones[1], *node.step)
        )

    @lower.register
    def _(self, node: Concat):
        out, (axis,) = self.result(node), self._axes(node, (node.axis,))
        begin = 0
        for name in node.inputs:
            source = self.ref(name)
            start = tuple(begin if a == axis else 0 for a in range(3))
            self.copy(source, out.part(start, source.shape))
            begin += source.shape[axis]

    @lower.register
    def _(self, node: Pad):
        source, out = self.ref(node.inputs[0]), self.result(node)
        before = (*(0,) * (3 - len(node.before)), *node.before)
        self.copy(self.constant(node.value), out)
        self.copy(source, out.part(before, source.shape))

    @lower.register
    def _(self, node: Lstm):
        recurrent.lstm(self, node)

    @lower.register
    def _(self, node: Gru):
        recurrent.gru(self, node)


def ones_moved(ref: Ref, shape: tuple[int, ...]) -> Ref:
    """Moves the axes of length one of ``ref`` so that it has ``shape``."""
    longer = [axis for axis in range(3) if ref.shape[axis] > 1]
    ones = [axis for axis in range(3) if ref.shape[axis] == 1]
    return ref.ordered(tuple(longer.pop(0) if n > 1 else ones.pop(0) for n in shape))
