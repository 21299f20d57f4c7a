# SPDX-License-Identifier: BSD-2-Clause
"""Machines that exist nowhere, each with one arithmetic, to try the quantiser on: exact sums,
saturating partial sums, 16-bit maps, 16-bit fractions."""

from dataclasses import replace

import numpy as np

from quintet.tools.compiler import graph as g
from quintet.tools.compiler import reference as r
from quintet.tools.compiler.backends import Backend
from quintet.tools.compiler.backends.base import NATIVE, Support
from quintet.tools.compiler.graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Conv,
    Dense,
    MaxPool,
)
from quintet.tools.compiler.quantise.calibration import copy_of
from quintet.tools.compiler.quantised import Arithmetic
from tests.tools.compiler.networks import NETWORKS, Builder


class Exact(Backend):
    """8 bits, exact sums, one shift for ``group`` channels, operands of an addition of one
    scale."""

    isa = "exact"
    rounding, wide, group, result_bits = "half_up", 8, None, (8,)

    def __init__(self, **changes):
        super().__init__(params={}, memory_size=1 << 24)
        vars(self).update(changes)

    def check_support(self, graph, node):
        return Support(NATIVE)

    def arithmetic(self, graph, node):
        if isinstance(node, Affine | Conv | Dense):
            return Arithmetic(
                reads=self.result_bits,
                out_bits=self.result_bits,
                weight_bits=self.wide,
                shift_group=self.group,
                equal_scales=True,
            )
        if isinstance(node, AveragePool):
            return Arithmetic(
                reads=self.result_bits, out_bits=self.result_bits, weight_bits=None, same_scale=True
            )
        return Arithmetic(
            reads=self.result_bits, out_bits=self.result_bits, weight_bits=None, equal_scales=True
        )

    def reference(self, quantised, inputs, keep=False):
        graph, values = (
            quantised.graph,
            {name: np.asarray(array, np.int64) for name, array in inputs.items()},
        )
        for name, tensor in graph.tensors.items():
            if tensor.data is not None:
                values[name] = quantised.scales[name].quantise(tensor.data)[None]
        for node in graph.nodes:
            values[node.output] = self.node(
                quantised, node, *(values[name] for name in node.inputs)
            )
        return values if keep else {name: values[name] for name in graph.kept()}

    def sums(self, node, weights, x):
        if isinstance(node, Affine):
            return x * weights
        if isinstance(node, Dense):
            return r.dense(x, weights, steps=node.steps)
        return r.conv(
            x,
            weights,
            stride=node.stride,
            padding=node.padding,
            dilation=node.dilation,
            groups=node.groups,
        )

    def node(self, quantised, node, x, *others):
        bits = quantised.scales[node.output].bits
        if isinstance(node, Affine | Conv | Dense):
            return self.layer(quantised.layers[node.name], node, bits, x, *others)
        if isinstance(node, Binary) and node.function == "add":
            return r.add(x, *others, bits, activation=node.activation)
        if isinstance(node, AveragePool):
            return r.average_pool(
                x,
                node.window,
                stride=node.stride,
                padding=node.padding,
                include_padding=node.include_padding,
            )
        if isinstance(node, MaxPool):
            return r.max_pool(
                x, node.window, stride=node.stride, padding=node.padding, dilation=node.dilation
            )
        real = node.run(
            *(
                quantised.scales[name].value(value)
                for name, value in zip(node.inputs, (x, *others), strict=True)
            ),
        )
        return quantised.scales[node.output].quantise(real)

    def layer(self, integer, node, bits, x, *residual):
        sums = self.sums(node, integer.weights, x)
        if not residual:
            return r.finish(sums, integer, bits, activation=node.activation, rounding=self.rounding)
        value = r.finish(sums, integer, bits, rounding=self.rounding)
        return r.add(value, *residual, bits, activation=node.activation)

    def lower(self, quantised, *, keep=False):
        raise AssertionError("expected arithmetic only: an ideal machine has no programs")


def fused(graph):
    """Relu, leaky relu and clip joined to the layer or sum that they alone follow, as the passes
    do."""
    graph = copy_of(graph)
    for node in [
        n for n in graph.nodes if isinstance(n, Activation) and n.function in ("relu", "clip")
    ]:
        maker, source = graph.maker(node.inputs[0]), node.inputs[0]
        alone = len(graph.readers(source)) == 1 and source not in graph.kept()
        if isinstance(maker, Affine | Binary | Conv | Dense) and maker.activation is None and alone:
            graph.nodes[graph.nodes.index(maker)] = replace(
                maker, output=node.output, activation=node
            )
            graph.nodes.remove(node)
            del graph.tensors[source]
    return graph


def small(name):
    """A small network as the passes leave it: no softmax, activations with their layers."""
    network = NETWORKS[name][1]()
    if isinstance(network.nodes[-1], g.Softmax):
        last = network.nodes.pop()
        network.outputs = [g.Port("out", last.inputs[0], (0,), network.shape(last.inputs[0]))]
        del network.tensors[last.output]
    return fused(network)


def one_layer(weights, bias, **attributes):
    b = Builder("one", (weights.shape[1],))
    b.add(g.Dense, weights=np.asarray(weights, float), bias=bias, **attributes)
    return b.finish()


def joined(graph):
    """Additions joined to the convolution that makes their second or first operand, where nothing
    else reads it."""
    graph = copy_of(graph)
    for add in [
        node for node in graph.nodes if isinstance(node, Binary) and node.function == "add"
    ]:
        for name, other in (add.inputs, add.inputs[::-1]):
            maker = graph.maker(name)
            earlier = (
                [node.output for node in graph.nodes[: graph.nodes.index(maker)]] if maker else []
            )
            if (
                isinstance(maker, Conv)
                and len(maker.inputs) == 1
                and maker.activation is None
                and len(graph.readers(name)) == 1
                and other in earlier
            ):
                at = graph.nodes.index(maker)
                graph.nodes[at] = replace(
                    maker,
                    inputs=[*maker.inputs, other],
                    output=add.output,
                    activation=add.activation,
                )
                graph.nodes.remove(add)
                break
    return graph


class Saturating(Exact):
    """Sums of 16 bits that are rounded and saturated at every tap, in units of 2^-8 of the result;
    bias of 16 bits with a shift of its own."""

    isa = "saturating"
    partial, below = 16, 8

    def legalise(self, graph):
        return joined(graph)

    def arithmetic(self, graph, node):
        numbers = super().arithmetic(graph, node)
        if isinstance(node, Affine | Conv | Dense):
            return replace(
                numbers,
                bias_bits=16,
                bias_shifts=(-20, 40),
                partial_bits=self.partial,
                partial_shifted=self.below,
                shifts=(-8, 28),
            )
        return numbers

    def taps(self, node, weights, x):
        """Products of every tap in turn, maps of 64 channels one after the other."""
        if isinstance(node, Affine):
            yield x * weights
            return
        if isinstance(node, Dense) and (node.steps or x.ndim != 4):
            x = x if node.steps else x.reshape(len(x), -1)
            for at in range(0, x.shape[-1], 64):
                yield x[..., at : at + 64] @ weights[:, at : at + 64].T
            return
        if isinstance(node, Dense):
            high, wide, channels = x.shape[1:]
            weights = weights.reshape(-1, high, wide, channels)
            node = Conv(name="", inputs=[], output="", weights=weights)
        size, inner = weights.shape[1:3], weights.shape[3]
        for at in range(0, inner, 64):
            some = x[..., at : at + 64] if node.groups == 1 else x
            for (row, column), seen in r.taps(
                some, size, stride=node.stride, padding=node.padding, dilation=node.dilation
            ):
                out = r._tap(
                    seen, weights[:, row, column, at : at + 64], node.groups, min(inner - at, 64)
                )
                yield out

    def partial_sums(self, graph, node, values):
        bias, weights = (
            (node.shift, node.scale) if isinstance(node, Affine) else (node.bias, node.weights)
        )
        total = 0.0 if bias is None else bias
        for part in self.taps(node, weights, values):
            total = total + (
                part.reshape(len(values), -1)
                if isinstance(node, Dense) and not node.steps
                else part
            )
            yield total

    def layer(self, integer, node, bits, x, *residual):
        sums, down = None, integer.shift - self.below
        for part in self.taps(node, integer.weights, x):
            part = part.reshape(len(x), -1) if isinstance(node, Dense) and not node.steps else part
            if sums is None:
                # One rounding of the exact sum: both terms in units of 2^-20 products.
                bias = (
                    0
                    if integer.bias is None
                    else r.scale_down(integer.bias, -integer.bias_shift - 20)
                )
                sums = r.scale_down((part << 20) + bias, down + 20)
            else:
                sums = sums + r.scale_down(part, down)
            sums = r.saturate(sums, self.partial)
        for other in residual:
            sums = r.saturate(sums + (other << self.below), self.partial)
        return r.saturate(
            r.activate(r.saturate(r.scale_down(sums, self.below), bits), node.activation), bits
        )


class Wide(Exact):
    """Maps of 16 bits, weights of 8, a shift for 32 channels."""

    isa, result_bits, group = "wide", (16, 8), 32


class Fractions(Exact):
    """16 bits throughout, every product rounded down to the unit of the result, results that wrap,
    the bias in the result's unit."""

    isa, wide, result_bits = "fractions", 16, (16,)

    def arithmetic(self, graph, node):
        return replace(
            super().arithmetic(graph, node),
            wraps=True,
            bias_in_result=True,
            bias_bits=16,
            shifts=(0, 16),
        )

    def layer(self, integer, node, bits, x, *residual):
        assert isinstance(node, Dense), f"expected a dense layer, found {type(node).__name__}"
        x = x.reshape(len(x), -1)
        total = np.stack(
            [(integer.weights * one >> integer.shift[:, None]).sum(axis=1) for one in x]
        )
        total = total + (0 if integer.bias is None else integer.bias)
        total = (total + (1 << 15)) % (1 << 16) - (1 << 15)
        return r.activate(total, node.activation)
