# SPDX-License-Identifier: BSD-2-Clause
"""Lowering of a quantised graph to the core's layers (:mod:`.layers`): one layer per node, or, with
``fuse``, sums and poolings in the ``store`` of the convolution before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Transpose,
)
from ..base import LoweringError
from ..rewriting import joins_rows
from .layers import MOST_STRIDE, Network

if TYPE_CHECKING:
    from ...quantised import Quantised
    from .form import Form
    from .layers import Tensor

__all__ = ["Lowering", "core_weights"]


def _act(node):
    """Maps an activation to the name that the layers give it if ``@post`` applies it; ``None`` for
    others."""
    if node is None or (node.function == "clip" and node.low < 0):
        return None
    return "leaky" if node.function == "leaky" else "relu"


def core_weights(
    form: Form, node: Conv | Dense, weights: np.ndarray, shape: tuple[int, int, int]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Weights of a node as the core has them, [out, in / groups, rows, columns], and the options of
    :meth:`~.layers.Network.conv` that say where they are multiplied; ``shape``: of the source."""
    if isinstance(node, Dense):
        rows, columns, _ = (1, 1, None) if node.steps else shape
        return weights.reshape(len(weights), rows, columns, -1).transpose(0, 3, 1, 2), {}
    regular = form.regular(node)
    if regular is not None:
        options: dict[str, Any] = {"stride": regular.stride, "padding": regular.padding}
        return regular.weights(weights, node.groups), options
    options = {"stride": node.stride, "dilation": node.dilation, "groups": node.groups}
    return weights.transpose(0, 3, 1, 2), {**options, "padding": _sides(node)}


def _sides(node):
    """Padding of a node in the core's order: top, bottom, left, right."""
    top, left, bottom, right = node.padding
    return top, bottom, left, right


class _FusedSum(NamedTuple):
    """A sum fused into the ``store`` of the convolution ``main``; ``other``: name of the addend;
    ``order``: number of the order in ``@post``."""

    main: Conv
    other: str
    order: int


class _Fusing:
    """Fusion decisions for a graph: which sums and poolings are fused, and into which convolution.

    Attributes
    ----------
    sums : dict, name of a Binary -> _FusedSum
    pools : dict, name of a MaxPool -> the Conv or Binary before it
    within : names of the nodes that run within another node's layer
    """

    def __init__(self, graph: Graph, form: Form):
        self._graph, self._form, kept = graph, form, graph.kept()
        makers = {node.output: node for node in graph.nodes}
        # Tensors that only the next node reads.
        counts: dict[str, int] = {}
        for node in graph.nodes:
            for name in node.inputs:
                counts[name] = counts.get(name, 0) + 1
        self._single = {
            name: makers[name]
            for name, count in counts.items()
            if count == 1 and name in makers and name not in kept
        }
        self.sums, self.pools = {}, {}
        for node in graph.nodes:
            if isinstance(node, Binary) and (fused := self._fused_sum(node)) is not None:
                self.sums[node.name] = fused
            elif isinstance(node, MaxPool) and (maker := self._pooled(node)) is not None:
                self.pools[node.name] = maker
        self.within = {fused.main.name for fused in self.sums.values()} | {
            maker.name for maker in self.pools.values()
        }

    def _fused_sum(self, node: Binary):
        if node.function != "add":
            return None
        found = []
        for name, other in (node.inputs, node.inputs[::-1]):
            main = self._single.get(name)
            if (
                isinstance(main, Conv)
                and len(main.inputs) == 1
                and (main.activation is None or node.activation is None)
            ):
                found.append(_FusedSum(main, other, 1 if main.activation is None else 0))
        # The longer one: its convolutions then hide the load of the residual.
        return max(found, key=lambda fused: self._graph.macs(fused.main), default=None)

    def _pooled(self, node: MaxPool) -> Node | None:
        maker = self._single.get(node.inputs[0])
        # Several long rows are pooled by a layer of its own.
        if any(node.padding) or max(node.stride) > MOST_STRIDE or self._form.has_long_rows:
            return None
        if isinstance(maker, Conv):
            # A line of results has no windows of several rows and columns.
            stride = (self._form.regular(maker) or maker).stride
            return maker if len(maker.inputs) == 1 and max(stride) <= MOST_STRIDE else None
        # A sum with a constant is a layer with weights by now.
        return maker if isinstance(maker, Binary) else None


class Lowering:
    """The core's layers of a quantised graph.

    Parameters
    ----------
    quantised : Quantised
    form : Form of its graph
    types : str, type set
    fuse : whether a sum or a pooling may be one layer with the convolution before it,
        whose own result then has no place
    images : inputs that one run works on

    Attributes
    ----------
    network : Network of layers
    values : dict, name of a tensor -> Tensor of the network
    nodes : dict, name of a layer -> names of the nodes that it does, or of the input that it writes
        for the next run
    kept : names of these inputs

    Raises
    ------
    LoweringError
        Scales that differ where the core wants one.
    """

    def __init__(self, quantised: Quantised, form: Form, types: str, fuse: bool, images: int = 1):
        self.graph, self.form, self.quantised = quantised.graph, form, quantised
        self.network = Network(types=types, batch=images)
        self.values: dict[str, Tensor] = {}
        self.nodes: dict[str, tuple[str, ...]] = {}
        self.kept: list[str] = []
        self._fusing = _Fusing(self.graph, form) if fuse else None
        for index, port in enumerate(self.graph.inputs):
            self._input(port.tensor, index)
        for node in self.graph.nodes:
            if self._fusing is None or node.name not in self._fusing.within:
                self.values[node.output] = self._make(node)
        if form.exchanged:
            self.network, made = self.network.exchanged()
            self.values = {name: made[tensor] for name, tensor in self.values.items()}
        kept = dict.fromkeys(
            self.values if not fuse else [port.tensor for port in self.graph.outputs]
        )
        self.network.outputs = [*dict.fromkeys(self.values[name] for name in kept)]

    def keep_states(self, states: Sequence[tuple[str, str]]) -> None:
        """Adds layers that copy outputs to the tensors of inputs, for pairs (input, output) of
        ``states`` with equal layouts on the core; their names become :attr:`kept`."""
        for source, output in states:
            if source not in self.values or output not in self.values:
                continue
            target, result = self.values[source], self.values[output]
            same = (target.shape, target.split, target.full) == (
                result.shape,
                result.split,
                result.full,
            )
            if (
                not same
                or result in self.network.inputs
                or self.form.grids.get(source) != self.form.grids.get(output)
            ):
                continue
            name = self._name(self.graph.maker(output), (source,))
            self.network.identity(name, result)
            self.network.layers[-1] = replace(self.network.layers[-1], result=target)
            self.kept.append(source)

    def _input(self, name, index):
        grid = self.form.grids.get(name)
        shape = self.form.place(name)[1] if grid is None else grid.shape
        self.values[name] = self.network.input(
            f"input_{index}", shape, split=name in self.form.split
        )

    def _name(self, node, nodes=()):
        """Unique name of a layer."""
        name = re.sub(r"[^\w.+-]", "_", node.name)
        name = name if re.match(r"\w", name) else f"_{name}"
        while name in self.nodes or name == "constants" or re.fullmatch(r"input_\d+", name):
            name += "_"
        self.nodes[name] = tuple(nodes) or (node.name,)
        return name

    def _equal(self, node):
        """Raises an error if the tensors of a node have different scales but need one."""
        names = [
            name for name in (*node.inputs, node.output) if self.graph.tensors[name].data is None
        ]
        steps = [self.quantised.scales[name].step for name in names]
        if not np.allclose(steps, steps[0], rtol=1e-9, atol=0):
            each = ", ".join(f"{n} has steps of {s:g}" for n, s in zip(names, steps, strict=True))
            raise LoweringError(f"{each}; this core wants one step for all", node.name)

    @singledispatchmethod
    def _make(self, node: Node):
        raise LoweringError(f"{node.kind} does not run on this core", node.name)

    # Layers with weights

    def _convolve(self, node, name, **post):
        """Adds a convolution with its fused operations ``post``."""
        source, integer = self.values[node.inputs[0]], self.quantised.layers[node.name]
        weights, options = core_weights(self.form, node, integer.weights, source.shape)
        shifts = {"shift": integer.shift}
        if integer.bias is not None:
            shifts.update(bias=integer.bias, bias_shift=integer.bias_shift)
        # Columns that share a slot lie one behind the other.
        columns = len(weights) // len(integer.weights)
        shifts = {key: np.tile(values, columns) for key, values in shifts.items()}
        split = node.output in self.form.split
        return self.network.conv(name, source, weights, split=split, **shifts, **options, **post)

    @_make.register
    def _(self, node: Conv):
        post = {"act": _act(node.activation)}
        if len(node.inputs) > 1:
            post.update(residual=self.values[node.inputs[1]])
        return self._convolve(node, self._name(node), **post)

    @_make.register
    def _(self, node: Dense):
        return self._convolve(node, self._name(node), act=_act(node.activation))

    # Element by element

    @_make.register
    def _(self, node: Activation):
        self._equal(node)
        source = self.values[node.inputs[0]]
        if node.function == "neg":
            return self.network.identity(self._name(node), source, factor=-1)
        if node.function == "abs":
            minus = self.network.identity(self._name(node), source, factor=-1, act="relu")
            return self.network.identity(
                self._name(node), source, act="relu", residual=minus, order=0
            )
        return self.network.identity(self._name(node), source, act=_act(node))

    @_make.register
    def _(self, node: Binary):
        self._equal(node)
        return self._sum(node)

    def _sum(self, node, nodes=(), **pool):
        fused = None if self._fusing is None else self._fusing.sums.get(node.name)
        if fused is not None:
            act = _act(fused.main.activation if fused.order == 0 else node.activation)
            return self._convolve(
                fused.main,
                self._name(node, (fused.main.name, node.name, *nodes)),
                act=act,
                order=fused.order,
                residual=self.values[fused.other],
                **pool,
            )
        first, second = (self.values[name] for name in node.inputs)
        if node.function == "sub":
            first, second = second, first
        return self.network.identity(
            self._name(node, (node.name, *nodes)),
            first,
            factor=-1 if node.function == "sub" else 1,
            residual=second,
            act=_act(node.activation),
            **pool,
        )

    # Windows

    @_make.register
    def _(self, node: MaxPool):
        self._equal(node)
        pool: dict[str, Any] = {"pool": (*node.window, *node.stride)}
        maker = None if self._fusing is None else self._fusing.pools.get(node.name)
        if isinstance(maker, Conv):
            return self._convolve(
                maker, self._name(node, (maker.name, node.name)), act=_act(maker.activation), **pool
            )
        if maker is not None:
            self._equal(maker)
            return self._sum(maker, (node.name,), **pool)
        source = self.values[node.inputs[0]]
        if max(node.stride) > MOST_STRIDE:  # of windows of a single element
            pool = {"stride": node.stride}
        return self.network.identity(self._name(node), source, padding=_sides(node), **pool)

    @_make.register
    def _(self, node: AveragePool):
        window, stride = tuple(node.window), tuple(node.stride)
        return self._average(node, window, stride=stride, padding=_sides(node))

    @_make.register
    def _(self, node: Reduce):
        return self._average(node, self.values[node.inputs[0]].shape[:2])

    def _average(self, node, window, **how):
        """Adds an average, scaled by the quantiser's factor if it chose one. Else it has the scale
        of its source: exact for a window of 2^k values, by the nearest weight for another size."""
        integer, count = self.quantised.layers.get(node.name), window[0] * window[1]
        weight, shift = 1, count.bit_length() - 1
        source = self.values[node.inputs[0]]
        if integer is not None:
            weight, shift = int(integer.weights[0]), int(integer.shift[0])
            if integer.bias is not None:
                columns = source.channels // len(integer.bias)
                how.update(
                    bias=np.tile(integer.bias, columns),
                    bias_shift=np.tile(integer.bias_shift, columns),
                )
        else:
            self._equal(node)
            if count != 1 << shift:
                shift += self.network.set.ker - 2
                weight = round((1 << shift) / count)
        return self.network.conv(
            self._name(node), source, None, taps=window, identity=weight, shift=shift, **how
        )

    # Products of two tensors

    @_make.register
    def _(self, node: MatMul):
        batched, second = len(self.graph.shape(node.output)) == 3, self.values[node.inputs[1]]
        if not node.turned:
            second = self._turned(node, node.inputs[1], batched)
        # A kernel of slots whose other channels are zero.
        ones = np.eye(second.channels, dtype=np.int64)[:, :, None, None]
        kernel = self.network.conv(self._name(node), second, ones, shift=0, full=True)
        shift = int(self.quantised.layers[node.name].shift[0])
        source = self.values[node.inputs[0]]
        return self.network.product(self._name(node), source, kernel, shift=shift, batched=batched)

    @_make.register
    def _(self, node: Transpose):
        self._equal(node)
        return self._turned(node, node.inputs[0], len(self.graph.shape(node.output)) == 3)

    def _turned(self, node, name, batched):
        """Swaps rows and columns of the tensor ``name``. A product needs positions without a
        border: if another layer pads the tensor, a copy is transposed."""
        source = self.values[name]
        if any(
            self.form.place(other)[0] == self.form.place(name)[0] and self._pads(reader)
            for other in self.values
            for reader in self.form.readers(other)
        ):
            source = self.network.identity(self._name(node), source)
        return self.network.turned(self._name(node), source, batched=batched)

    def _pads(self, node):
        """Whether a node reads the border of its source."""
        if isinstance(node, Pad):
            return any((*node.before, *node.after))
        return joins_rows(self.form.graph, node) or (
            isinstance(node, Conv | MaxPool | AveragePool) and any(node.padding)
        )

    # By address, and channels put elsewhere

    @_make.register
    def _(self, node: Reshape):
        self._equal(node)
        if node.name in self.form.interleaved:
            return self._interleave(node)
        return self.values[node.inputs[0]]

    def _interleave(self, node):
        """Adds the layers that make the interleaved map of a Concat or Reshape. That of a Concat is
        the map of the Reshape behind it, whose elements have the same order."""
        found = self.form.interleaved[node.name]
        phases = [[(self.values[name], at) for name, at in row] for row in found.phases]
        names = [
            self._name(node) for row in phases for _ in dict.fromkeys(source for source, _ in row)
        ]
        return self.network.interleave(names, phases, found.shape[2])

    def _ones(self, node, places, **options):
        """Adds a convolution that selects channels: each result channel is a source channel, or
        zero. ``places``: (of the result, of the source)."""
        source = options.pop("source", None) or self.values[node.inputs[0]]
        weights = np.zeros((self.form.map_shape(node.output)[2], source.channels, 1, 1), np.int64)
        weights[places] = 1
        return self.network.conv(
            self._name(node),
            source,
            weights,
            shift=0,
            split=node.output in self.form.split,
            **options,
        )

    @_make.register
    def _(self, node: Concat):
        self._equal(node)
        if node.name in self.form.interleaved:
            return self._interleave(node)
        if joins_rows(self.graph, node):
            return self._join_rows(node)
        at, result = 0, None
        for name in node.inputs:
            each = np.arange(self.values[name].channels)
            options: dict[str, Any] = {} if result is None else {"residual": result, "order": 0}
            result = self._ones(node, (at + each, each), source=self.values[name], **options)
            at += len(each)
        return result

    def _join_rows(self, node):
        """Adds the layers of a Concat of rows or columns: each part, with zeros where the others
        are, is added to those before it."""
        axis = node.axis % len(self.graph.shape(node.output))
        result, at = None, 0
        total = self.graph.shape(node.output)[axis]
        for name in node.inputs:
            source, length = self.values[name], self.graph.shape(name)[axis]
            each = np.arange(source.channels)
            options: dict[str, Any] = {} if result is None else {"residual": result, "order": 0}
            result = self._ones(
                node,
                (each, each),
                source=source,
                padding=_along(axis, (at, total - at - length)),
                **options,
            )
            at += length
        return result

    @_make.register
    def _(self, node: Pad):
        self._equal(node)
        axes = len(node.before)
        sides = [(node.before[a], node.after[a]) for a in range(axes - 1)] + [(0, 0)] * (3 - axes)
        each = np.arange(self.values[node.inputs[0]].channels)
        return self._ones(
            node, ((node.before[-1] if axes else 0) + each, each), padding=(*sides[0], *sides[1])
        )

    @_make.register
    def _(self, node: Slice):
        self._equal(node)
        *results, channels = self.form.map_shape(node.output)
        starts, steps = (
            (*of[:-1], *ends)[:2] for of, ends in ((node.start, (0, 0)), (node.step, (1, 1)))
        )
        padding = []
        for length, count, start, step in zip(
            self.form.map_shape(node.inputs[0])[:2], results, starts, steps, strict=True
        ):
            # What lies outside of the slice is left out.
            padding += [-start, start + (count - 1) * step + 1 - length]
        each = np.arange(channels)
        places = each, node.start[-1] + each * node.step[-1]
        return self._ones(node, places, stride=steps, padding=tuple(padding))


def _along(axis, padding):
    """Padding (rows before, behind, columns before, behind) along one axis."""
    return (*padding, 0, 0) if axis == 0 else (0, 0, *padding)
