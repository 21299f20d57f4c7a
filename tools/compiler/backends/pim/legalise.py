# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that PIM computes by other means: scale and shift by channel, slices, and activations that
its vector unit lacks, as convolutions; sigmoid and tanh by table lookup, which requires certain
scales of source and result (docs/isa/pim.md, section 4.3)."""

from dataclasses import replace
from math import prod

import numpy as np

from ...graph import (
    Activation,
    Affine,
    Binary,
    Conv,
    Dense,
    Graph,
    Gru,
    Lstm,
    Node,
    Reshape,
    Slice,
    Tensor,
)
from ..base import DECOMPOSED, HOST, Support

__all__ = [
    "TABLES",
    "as_convolutions",
    "run_table",
    "support_of_rewritten",
    "table_steps",
    "wants_too_much",
    "with_rescaling",
]


#: Function -> instruction.
TABLES = {"sigmoid": "vsigm", "tanh": "vtanh"}
#: Elements of a vector that a matrix of ones turns into other units, at most.
_MOST = 256
_TANH = np.floor(np.tanh(np.arange(514) / 64) * 65536 + 0.5).astype(np.int64)


def table_steps(bits: int) -> tuple[float, float]:
    """Scales that the table instructions require for tensors of ``bits``, which select the number
    formats: (scale of the source, scale of the result)."""
    return 2.0 ** -max(bits - 4, 0), 2.0 ** -(bits - 1)


def run_table(function: str, x: np.ndarray, bits: int) -> np.ndarray:
    """Integer reference of the table instruction for ``x`` of ``bits``, int64."""
    read, given = max(bits - 4, 0), bits - 1
    x = np.asarray(x, np.int64)
    places = (16 if function == "tanh" else 15) - read
    u = np.abs(x) << places if places >= 0 else np.abs(x) >> -places
    at = np.minimum(u >> 10, 512)
    t = np.where(
        u >= 1 << 19, 65536, _TANH[at] + ((_TANH[at + 1] - _TANH[at]) * (u & 1023) + 512 >> 10)
    )
    if function == "tanh":
        size = t << given - 16 if given >= 16 else t + (1 << 15 - given) >> 16 - given
        y = np.where(x < 0, -size, size)
    else:
        y = (65536 + np.where(x < 0, -t, t) << given) + 65536 >> 17
    return np.clip(y, -(1 << bits - 1), (1 << bits - 1) - 1)


def _is_table(node):
    """Whether a table lookup computes the node; a recurrent layer is excluded, since it reads its
    own sums."""
    return isinstance(node, Lstm | Gru) or isinstance(node, Activation) and node.function in TABLES


def _shared_scales(graph, node):
    """Whether the source and the result of a table lookup share their scales with other tensors;
    each that does needs a product with one in between."""
    source, outputs = node.inputs[0], {port.tensor for port in graph.outputs}
    maker = graph.maker(source)
    before = not isinstance(node, Lstm | Gru) and (
        len(graph.readers(source)) > 1
        or source in outputs
        or not (maker is None or isinstance(maker, Conv | Dense))
    )
    after = any(
        not isinstance(reader, Conv | Dense | Lstm | Gru) for reader in graph.readers(node.output)
    )
    return before, after


def wants_too_much(graph: Graph, node: Node) -> bool:
    """Whether a vector is too long to be rescaled by a product with one."""
    shape = graph.shape(node.output)
    return any(_shared_scales(graph, node)) and len(shape) < 3 and shape[-1] > _MOST


def with_rescaling(graph: Graph) -> Graph:
    """Inserts products with one as rescaling beside each table lookup whose neighbours cannot have
    the required scales; returns a new graph. A tensor of more than three axes is rescaled as a map
    of one row."""
    nodes, tensors = [], dict(graph.tensors)

    def add(node, shape):
        if node.output not in tensors:
            tensors[node.output] = Tensor(node.output, shape)
        nodes.append(node)
        return node.output

    def unit(name, source, output, shape, origin):
        common = {"name": name, "inputs": [source], "output": output, "origin": origin}
        if len(shape) == 3:
            one = Conv(**common, weights=np.ones((shape[2], 1, 1, 1)), groups=shape[2])
        else:
            one = Dense(**common, weights=np.eye(shape[-1]), steps=len(shape) == 2)
        return add(one, shape)

    for node in graph.nodes:
        if not _is_table(node):
            nodes.append(node)
            continue
        before, after = _shared_scales(graph, node)
        name, source, output = node.name, node.inputs[0], node.output
        shape, whole = graph.shape(output), graph.shape(output)
        mapped = len(whole) > 3 and (before or after)
        if mapped:
            # Rescaling stands directly beside the table: no view of another shape comes between.
            before = after = True
            shape = (1, prod(whole[:-1]), whole[-1])
            view = Reshape(name=f"{name}:map", inputs=[source], output=f"{name}:map:0", shape=shape)
            source, output = add(view, shape), f"{name}:map_out"
        if before:
            given = shape if mapped else graph.shape(source)
            source = unit(f"{name}:unit", source, f"{name}:in", given, node.origin)
        table = f"{name}:out" if after else output
        add(replace(node, inputs=[source], output=table), shape)
        if after:
            unit(f"{name}:result", table, output, shape, node.origin)
        if mapped:
            view = Reshape(name=f"{name}:shape", inputs=[output], output=node.output, shape=whole)
            add(view, whole)
    return replace(graph, nodes=nodes, tensors=tensors)


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
