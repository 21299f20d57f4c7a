# SPDX-License-Identifier: BSD-2-Clause
"""Translation of a quantised graph into the core's layers: one layer per node, or, with ``fuse``,
sums and poolings fused into the preceding convolution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import (
    Activation,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
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
from .codegen import KernelError, Network
from .fusing import Fusing
from .support import slice_kernel, window_strides

if TYPE_CHECKING:
    from ...quantised import Quantised
    from .codegen.layers import Tensor as LibraryTensor
    from .form import Form

__all__ = ["Builder"]


def _act(node):
    """Maps an activation to the name that the layers give it if ``@post`` applies it; ``None`` for
    others."""
    if node is None or (node.function == "clip" and node.low < 0):
        return None
    return "leaky" if node.function == "leaky" else "relu"


class Builder:
    """Builds the kernel-library network of a quantised graph.

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
    values : dict, name of a tensor -> the library's Tensor
    nodes : dict, name of a layer -> names of the nodes that it does, or of the input that it writes
        for the next run
    kept : names of these inputs

    Raises
    ------
    LoweringError
        Scales that differ where the core wants one, numbers that a layer does not take.
    """

    def __init__(self, quantised: Quantised, form: Form, types: str, fuse: bool, images: int = 1):
        self.graph, self.form, self.quantised = quantised.graph, form, quantised
        self.network = Network(types=types, batch=images)
        self.values: dict[str, LibraryTensor] = {}
        self.nodes: dict[str, tuple[str, ...]] = {}
        self.kept: list[str] = []
        self._fusing = Fusing(self.graph) if fuse else None
        for index, port in enumerate(self.graph.inputs):
            self._input(port.tensor, index)
        for node in self.graph.nodes:
            if self._fusing is None or node.name not in self._fusing.within:
                try:
                    self.values[node.output] = self._make(node)
                except KernelError as error:
                    raise LoweringError(error.reason, node.name) from None
        kept = dict.fromkeys(
            self.values if not fuse else [port.tensor for port in self.graph.outputs]
        )
        self.network.output(*dict.fromkeys(self.values[name] for name in kept))

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
            f"input_{index}", shape, fraction=0, split=name in self.form.split
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

    def _shifts(self, node):
        integer = self.quantised.layers[node.name]
        shift = np.asarray(integer.shift, np.int64)
        found = {"weight_fraction": shift, "fraction": 0, "split": node.output in self.form.split}
        if integer.bias is not None:
            found.update(
                bias=integer.bias, bias_fraction=shift - np.asarray(integer.bias_shift, np.int64)
            )
        return integer.weights, found

    def _convolve(self, node, name, **post):
        """Adds a convolution with its fused operations ``post``."""
        weights, options = self._shifts(node)
        options.update(post)
        top, left, bottom, right = node.padding
        regular = self.form.regular(node)
        if regular is not None:
            weights = regular.weights(weights, node.groups)
            options.update(stride=regular.stride, padding=regular.padding)
            for key in {"bias", "weight_fraction", "bias_fraction"} & set(options):
                options[key] = np.tile(options[key], regular.columns.result)
        else:
            weights = weights.transpose(0, 3, 1, 2)
            options.update(
                stride=node.stride,
                padding=(top, bottom, left, right),
                groups=node.groups,
                dilation=node.dilation,
            )
        return self.network.conv(name, self.values[node.inputs[0]], weights, **options)

    @_make.register
    def _(self, node: Conv):
        post = {"act": _act(node.activation)}
        if len(node.inputs) > 1:
            post.update(residual=self.values[node.inputs[1]], order=1)
        return self._convolve(node, self._name(node), **post)

    @_make.register
    def _(self, node: Dense):
        weights, options = self._shifts(node)
        source, options["act"] = self.values[node.inputs[0]], _act(node.activation)
        if node.steps:
            return self.network.conv(self._name(node), source, weights[:, :, None, None], **options)
        return self.network.dense(self._name(node), source, weights, **options)

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
        pool: dict[str, Any] = {
            "pool": node.window,
            "pool_stride": window_strides(self.graph, node),
        }
        maker = None if self._fusing is None else self._fusing.pools.get(node.name)
        if isinstance(maker, Conv):
            return self._convolve(
                maker, self._name(node, (maker.name, node.name)), act=_act(maker.activation), **pool
            )
        if maker is not None:
            self._equal(maker)
            return self._sum(maker, (node.name,), **pool)
        top, left, bottom, right = node.padding
        return self.network.identity(
            self._name(node),
            self.values[node.inputs[0]],
            padding=(top, bottom, left, right),
            **pool,
        )

    @_make.register
    def _(self, node: AveragePool):
        top, left, bottom, right = node.padding
        return self._average(
            node,
            tuple(node.window),
            stride=window_strides(self.graph, node),
            padding=(top, bottom, left, right),
        )

    @_make.register
    def _(self, node: Reduce):
        return self._average(node, self.values[node.inputs[0]].shape[:2])

    def _average(self, node, window, **how):
        """Adds an average, scaled by the quantiser's factor if it chose one, else at the scale of
        its source."""
        integer = self.quantised.layers.get(node.name)
        if integer is None:
            self._equal(node)
        else:
            how |= {"weight": int(integer.weights[0]), "weight_fraction": int(integer.shift[0])}
        return self.network.average(self._name(node), self.values[node.inputs[0]], window, **how)

    # Products of two tensors

    @_make.register
    def _(self, node: MatMul):
        batched, second = len(self.graph.shape(node.output)) == 3, self.values[node.inputs[1]]
        if not node.turned:
            second = self._turned(node, node.inputs[1], batched)
        # A kernel of slots whose other channels are zero.
        ones = np.eye(second.channels, dtype=np.int64)[:, :, None, None]
        kernel = self.network.conv(
            self._name(node), second, ones, weight_fraction=0, fraction=0, full=True
        )
        places = int(self.quantised.layers[node.name].shift[0])
        return self.network.product(
            self._name(node),
            self.values[node.inputs[0]],
            kernel,
            fraction=0,
            places=places,
            batched=batched,
        )

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
        return isinstance(node, Conv | MaxPool | AveragePool) and any(node.padding)

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

    def _ones(self, node, places, taps=(1, 1), tap=(0, 0), **options):
        """Adds a convolution that selects channels: each result channel is a source channel, or
        zero. ``places``: (of the result, of the source)."""
        source = options.pop("source", None) or self.values[node.inputs[0]]
        weights = np.zeros((self.form.map_shape(node.output)[2], source.channels, *taps), np.int64)
        weight = (*places, *tap)
        weights[weight] = 1
        return self.network.conv(
            self._name(node),
            source,
            weights,
            weight_fraction=0,
            fraction=0,
            split=node.output in self.form.split,
            **options,
        )

    @_make.register
    def _(self, node: Concat):
        self._equal(node)
        if node.name in self.form.interleaved:
            return self._interleave(node)
        axes = len(self.graph.shape(node.output))
        if node.axis % axes != axes - 1:
            raise LoweringError(
                f"concat along axis {node.axis % axes} without the reshape behind it: expected "
                "both in one program",
                node.name,
            )
        at, result = 0, None
        for name in node.inputs:
            each = np.arange(self.values[name].channels)
            options: dict[str, Any] = {} if result is None else {"residual": result, "order": 0}
            result = self._ones(node, (at + each, each), source=self.values[name], **options)
            at += len(each)
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
        taps, tap, stride = slice_kernel(self.graph, node)
        each = np.arange(self.form.map_shape(node.output)[2])
        return self._ones(
            node, (each, node.start[-1] + each * node.step[-1]), taps, tap, stride=stride
        )
