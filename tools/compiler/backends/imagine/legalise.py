# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for IMAGine: matrix-vector products run on the core, all other nodes on the host."""

from collections.abc import Callable

import numpy as np

from ...graph import (
    Activation,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Lstm,
    Node,
    Pad,
    Reshape,
    Slice,
    Tensor,
)

__all__ = ["legalised"]


class _Writer:
    """Collects the nodes of the new graph; names of new tensors begin with the name of the node
    that they replace."""

    def __init__(self, graph):
        self.old = graph
        self.graph = Graph(
            graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors)
        )

    def add(self, kind, node, suffix, inputs, result, output=None, /, **attributes):
        """Adds a node ``node.suffix`` with a result of shape ``result`` and returns the name of the
        result."""
        name = f"{node.name}.{suffix}"
        output = output or f"{node.output}.{suffix}"
        self.graph.tensors[output] = self.graph.tensors.get(output) or Tensor(
            output, tuple(int(n) for n in result)
        )
        self.graph.nodes.append(
            kind(name=name, inputs=list(inputs), output=output, origin=node.origin, **attributes)
        )
        return output

    def constant(self, node, suffix, values):
        name = f"{node.output}.{suffix}"
        self.graph.tensors[name] = Tensor(name, values.shape, values)
        return name


def legalised(graph: Graph, runs: Callable[[Node], bool]) -> Graph:
    """Legalises a graph (returns a new one): separate activations, convolutions as im2col products,
    LSTM cells unrolled. Nodes for which ``runs`` is false stay as they are, for the host."""
    writer = _Writer(graph)
    for node in graph.nodes:
        if not runs(node):
            writer.graph.nodes.append(node)
        elif isinstance(node, Conv):
            _conv(writer, node)
        elif isinstance(node, Lstm):
            _lstm(writer, node)
        elif isinstance(node, Dense) and node.activation is not None:
            _dense(writer, node, node.inputs[0], graph.shape(node.output), node.weights)
        else:
            writer.graph.nodes.append(node)
    return writer.graph


def _dense(writer, node, source, shape, weights, reshape=None, steps=None):
    """Replaces a dense node by the product, a host node for its activation, and a reshape."""
    last = node.output
    behind = [("reshape", reshape)] if reshape is not None else []
    behind += [("act", node.activation)] if node.activation is not None else []
    out = None if behind else last
    made = writer.add(
        Dense,
        node,
        "product",
        [source],
        shape,
        out,
        weights=weights,
        bias=node.bias,
        steps=node.steps if isinstance(node, Dense) else steps,
    )
    for number, (what, value) in enumerate(behind):
        out = last if number == len(behind) - 1 else None
        if what == "reshape":
            made = writer.add(Reshape, node, what, [made], value, out, shape=value)
        else:
            made = writer.add(
                Activation,
                node,
                what,
                [made],
                writer.graph.shape(made),
                out,
                function=value.function,
                alpha=value.alpha,
                beta=value.beta,
                low=value.low,
                high=value.high,
            )
    return made


def _conv(writer, node):
    """Replaces a convolution by im2col on the host and a dense layer that runs once per
    position."""
    source, (rows, columns, out) = node.inputs[0], writer.old.shape(node.output)
    height, width, channels = writer.old.shape(source)
    top, left, bottom, right = node.padding
    if any(node.padding):
        height, width = height + top + bottom, width + left + right
        source = writer.add(
            Pad,
            node,
            "pad",
            [source],
            (height, width, channels),
            before=(top, left, 0),
            after=(bottom, right, 0),
        )
    kh, kw = node.weights.shape[1:3]
    taps = []
    for r in range(kh):
        for c in range(kw):
            start = (r * node.dilation[0], c * node.dilation[1], 0)
            stop = (
                start[0] + (rows - 1) * node.stride[0] + 1,
                start[1] + (columns - 1) * node.stride[1] + 1,
                channels,
            )
            taps.append(
                writer.add(
                    Slice,
                    node,
                    f"tap_{r}_{c}",
                    [source],
                    (rows, columns, channels),
                    start=start,
                    stop=stop,
                    step=(*node.stride, 1),
                )
            )
    if len(taps) > 1:
        source = writer.add(Concat, node, "taps", taps, (rows, columns, kh * kw * channels), axis=2)
    else:
        source = taps[0]
    steps = (rows * columns, kh * kw * channels)
    source = writer.add(Reshape, node, "positions", [source], steps, shape=steps)
    _dense(
        writer,
        node,
        source,
        (rows * columns, out),
        node.weights.reshape(out, -1),
        (rows, columns, out),
        steps=True,
    )


def _lstm(writer, node):
    """Replaces an LSTM by one dense layer per time step, on the features and the previous state,
    followed by the gates' functions on the host."""
    steps, features = writer.old.shape(node.inputs[0])
    hidden = node.recurrent.shape[1]
    weights = np.concatenate([node.weights, node.recurrent], axis=1)
    state, cell = (
        writer.constant(node, what, values)
        for what, values in (("h", node.initial), ("c", node.cell))
    )
    states = [None] * steps
    for number in reversed(range(steps)) if node.reverse else range(steps):

        def add(kind, suffix, inputs, result, /, number=number, **attributes):
            return writer.add(kind, node, f"{number}.{suffix}", inputs, result, **attributes)

        def gate(place, function, sums, add=add):
            part = add(
                Slice,
                f"gate_{place}",
                [sums],
                (hidden,),
                start=(place * hidden,),
                stop=((place + 1) * hidden,),
                step=(1,),
            )
            return add(Activation, f"{function}_{place}", [part], (hidden,), function=function)

        x = add(
            Slice,
            "x",
            [node.inputs[0]],
            (1, features),
            start=(number, 0),
            stop=(number + 1, features),
            step=(1, 1),
        )
        x = add(Reshape, "features", [x], (features,), shape=(features,))
        joined = add(Concat, "joined", [x, state], (features + hidden,), axis=0)
        sums = add(Dense, "sums", [joined], (4 * hidden,), weights=weights, bias=node.bias)
        i, o, f = (gate(place, "sigmoid", sums) for place in range(3))
        c = gate(3, "tanh", sums)
        kept = add(Binary, "keep", [f, cell], (hidden,), function="mul")
        new = add(Binary, "new", [i, c], (hidden,), function="mul")
        cell = add(Binary, "cell", [kept, new], (hidden,), function="add")
        shown = add(Activation, "shown", [cell], (hidden,), function="tanh")
        state = states[number] = add(Binary, "state", [o, shown], (hidden,), function="mul")
    if node.last:
        writer.add(Reshape, node, "last", [state], (hidden,), node.output, shape=(hidden,))
        return
    rows = [
        writer.add(Reshape, node, f"{step}.row", [state], (1, hidden), shape=(1, hidden))
        for step, state in enumerate(states)
    ]
    writer.add(Concat, node, "states", rows, (steps, hidden), node.output, axis=0)
