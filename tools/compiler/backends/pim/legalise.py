# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that PIM computes as convolutions: scale and shift by channel, slices, and activations that
its vector unit lacks."""

from dataclasses import replace
from math import prod

import numpy as np

from ...graph import Activation, Affine, Binary, Conv, Graph, Node, Reshape, Slice, Tensor
from ..base import DECOMPOSED, HOST, Support

__all__ = ["as_convolutions", "support_of_rewritten"]

#: Most taps of the kernel with a single nonzero weight that computes a slice.
_MOST_TAPS = 64
_FUNCTIONS = {
    "leaky": "alpha x + (1 - alpha) relu(x)",
    "neg": "a convolution of each channel by itself",
    "abs": "relu(x) + relu(-x)",
}


def support_of_rewritten(graph: Graph, node: Node) -> Support | None:
    """Support check of a node that is rewritten as convolutions; ``None`` for any other node."""
    if isinstance(node, Activation):
        how = _FUNCTIONS.get(node.function)
    elif isinstance(node, Affine):
        how = "a convolution of each channel by itself"
    elif isinstance(node, Slice) and len(node.start) > 1:
        # Slices of vectors are left: splits of dense layers are read in place.
        how = "a convolution with a single one"
    else:
        return None
    if how is None:
        return None
    shapes = [graph.shape(name) for name in (*node.inputs, node.output)]
    if not all(1 <= len(shape) <= 3 for shape in shapes):
        return Support(HOST, f"{len(shapes[0])} axes: expected at most 3")
    if isinstance(node, Slice):
        if min(node.step) < 1:
            return Support(HOST, f"steps {node.step}: expected positive ones")
        size, _, _ = _window(graph, node)
        if prod(size) > _MOST_TAPS:
            return Support(
                HOST,
                f"slice that leaves out {size[0] - 1} rows and {size[1] - 1} columns at its ends: "
                f"expected at most {_MOST_TAPS} of (rows + 1) * (columns + 1)",
            )
    return Support(DECOMPOSED, how)


def _map(shape):
    """Interprets a tensor's axes as rows, columns and channels."""
    return (*(1,) * (3 - len(shape)), *shape)


def _window(graph, node):
    """Kernel (rows, columns), single tap and strides of a convolution that computes a slice; the
    kernel is large enough to leave exactly the slice's rows and columns."""
    (rows, columns, _), (high, wide, _) = (
        _map(graph.shape(name)) for name in (node.inputs[0], node.output)
    )
    fill = 3 - len(node.start)
    start, step = (*(0,) * fill, *node.start), (*(1,) * fill, *node.step)
    stride = tuple(s if count > 1 else 1 for s, count in zip(step, (high, wide), strict=False))
    size = rows - (high - 1) * stride[0], columns - (wide - 1) * stride[1]
    return size, start[:2], stride


class _Writer:
    """A graph under construction, in which new nodes replace the rewritten ones."""

    def __init__(self, graph: Graph):
        self.graph = Graph(graph.name, graph.inputs, graph.outputs, [], dict(graph.tensors))

    def put(self, node: Node, shape) -> str:
        """Adds a node and its result tensor."""
        self.graph.nodes.append(node)
        if node.output not in self.graph.tensors:
            self.graph.tensors[node.output] = Tensor(node.output, tuple(shape))
        return node.output

    def reshaped(self, name, source, output, shape):
        """Reshapes ``source``; returns it unchanged if it has that shape and needs no other
        name."""
        if self.graph.shape(source) == tuple(shape) and output is None:
            return source
        node = Reshape(name=name, inputs=[source], output=output or f"{name}:0", shape=tuple(shape))
        return self.put(node, shape)

    def convolved(self, node, part, source, output, **attributes):
        """Adds a convolution of a tensor with any number of axes; ``output``: name of the result,
        which has the node's own shape."""
        name = f"{node.name}:{part}" if part else node.name
        taken = self.reshaped(f"{name}:map", source, None, _map(self.graph.shape(source)))
        shape = self.graph.shape(node.output)
        result = _map(shape)
        plain = result == tuple(shape)
        conv = Conv(
            name=name,
            inputs=[taken],
            output=output if plain else f"{name}:map_out",
            origin=node.origin,
            **attributes,
        )
        made = self.put(conv, result)
        return made if plain else self.reshaped(f"{name}:shape", made, output, shape)

    def scaled(self, node, part, source, output, scale, shift=None, activation=None):
        """Adds a convolution that multiplies each channel by ``scale`` and adds ``shift``."""
        channels = self.graph.shape(source)[-1]
        return self.convolved(
            node,
            part,
            source,
            output,
            weights=np.broadcast_to(np.asarray(scale, np.float64), (channels,)).reshape(
                channels, 1, 1, 1
            ),
            bias=shift,
            groups=channels,
            activation=activation,
        )

    def acted(self, node, part, source):
        """Adds a ReLU of a tensor."""
        name = f"{node.name}:{part}"
        act = Activation(name=name, inputs=[source], output=f"{name}:0", function="relu")
        return self.put(act, self.graph.shape(source))

    def added(self, node, first, second):
        """Adds the sum that is the node's result."""
        total = Binary(
            name=node.name,
            inputs=[first, second],
            output=node.output,
            origin=node.origin,
            function="add",
        )
        return self.put(total, self.graph.shape(node.output))


def _affine(writer, node):
    channels = writer.graph.shape(node.inputs[0])[-1]
    shift = np.array(np.broadcast_to(np.asarray(node.shift, np.float64), (channels,)))
    writer.scaled(
        node, "", node.inputs[0], node.output, node.scale, shift, activation=node.activation
    )


def _slice(writer, node):
    graph = writer.graph
    size, (row, column), stride = _window(graph, node)
    channels = graph.shape(node.inputs[0])[-1]
    chosen = np.arange(channels)[node.start[-1] : node.stop[-1] : node.step[-1]]
    whole = len(chosen) == channels
    weights = np.zeros((len(chosen), *size, 1 if whole else channels))
    weights[np.arange(len(chosen)), row, column, 0 if whole else chosen] = 1.0
    writer.convolved(
        node,
        "",
        node.inputs[0],
        node.output,
        weights=weights,
        stride=stride,
        groups=channels if whole else 1,
    )


def _activation(writer, node):
    source = node.inputs[0]
    if node.function == "neg":
        writer.scaled(node, "", source, node.output, -1.0)
    elif node.function == "abs":
        turned = writer.scaled(node, "turned", source, f"{node.output}:turned", -1.0)
        low, high = writer.acted(node, "low", turned), writer.acted(node, "high", source)
        writer.added(node, high, low)
    else:
        high = writer.acted(node, "high", source)
        rest = writer.scaled(node, "rest", high, f"{node.output}:rest", 1 - node.alpha)
        bent = writer.scaled(node, "bent", source, f"{node.output}:bent", node.alpha)
        writer.added(node, bent, rest)


def as_convolutions(graph: Graph) -> Graph:
    """Rewrites the nodes that :func:`support_of_rewritten` accepts."""
    if not any(support_of_rewritten(graph, node) for node in graph.nodes):
        return graph
    writer = _Writer(graph)
    for node in graph.nodes:
        if support_of_rewritten(graph, node) is None:
            writer.graph.nodes.append(replace(node))
        elif isinstance(node, Affine):
            _affine(writer, node)
        elif isinstance(node, Slice):
            _slice(writer, node)
        else:
            _activation(writer, node)
    return writer.graph
