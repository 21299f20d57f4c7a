# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for PIM: averages of parts of a map, scale and shift by channel, slices, and
activations that its vector unit lacks become convolutions; sigmoid and tanh get the scales that
their tables require."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from math import isqrt, prod
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
    Lstm,
    MaxPool,
    Node,
    Reshape,
    Slice,
    Tensor,
)
from ..base import DECOMPOSED, HOST, Support
from ..rewriting import join_turned
from .arithmetic import TABLES
from .arrays.channels import by_channels
from .arrays.matrices import split_layers
from .maps import PoolRows
from .recurrent import projected, spread_of

__all__ = [
    "is_whole",
    "legalise",
    "most_averaged",
    "shared_scales",
    "support_of_rewritten",
]

#: Elements that one ``vavg`` takes (docs/isa/pim.md, 3.1).
_MOST_AVERAGED = 2047
#: Elements of a vector that a matrix of ones turns into other units, at most. Longer ones are maps.
_MOST_UNITS = 256
#: Most taps of the kernel with a single nonzero weight that computes a slice.
_MOST_TAPS = 64
_FUNCTIONS = {
    "leaky": "alpha x + (1 - alpha) relu(x)",
    "neg": "a convolution of each channel by itself",
    "abs": "relu(x) + relu(-x)",
}


def legalise(
    graph: Graph, params: Mapping[str, Any], fits: Callable[[Sequence[Node], Graph], bool]
) -> Graph:
    """Legalises a graph: averages of parts of a map, scales by channel and slices become
    convolutions; sigmoid and tanh get the scales that their tables require; layers that exceed
    the arrays are split until ``fits`` takes them."""
    graph, nodes = _as_convolutions(join_turned(graph)), []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        if isinstance(node, AveragePool):
            rows, columns, channels = graph.shape(node.inputs[0])
            if not is_whole(graph, node):
                node = _depthwise_average(
                    node,
                    node.output,
                    node.name,
                    channels,
                    node.window,
                    node.stride,
                    node.padding,
                    1 / (node.window[0] * node.window[1]),
                )
            elif rows * columns > (most := most_averaged(params)):
                part, first, node = _in_two_steps(graph, node, most)
                tensors[part.name] = part
                nodes.append(first)
        if isinstance(node, MaxPool):
            nodes += _maxima(node, graph.shape(node.inputs[0]), params, tensors)
        else:
            nodes.append(node)
    graph = _with_projections(replace(graph, nodes=nodes, tensors=tensors), params)
    return split_layers(
        _with_rescaling(graph), params, fits, partial(by_channels, params=params, held=fits)
    )


def _with_projections(graph, params):
    """Makes the input's sums of recurrent layers that exceed the arrays by dense layers, if the
    arrays then hold them; returns a new graph."""
    nodes, tensors = [], dict(graph.tensors)
    for node in graph.nodes:
        if isinstance(node, Lstm | Gru) and spread_of(node, params).tiling is not None:
            between, dense, cell = projected(graph, node)
            if spread_of(cell, params).tiling is None:
                nodes += [dense, cell]
                tensors[between.name] = between
                continue
        nodes.append(node)
    return replace(graph, nodes=nodes, tensors=tensors)


def _maxima(node, shape, params, tensors):
    """Maxima that stand for one whose window local memory does not hold: of columns, then of rows;
    a line as long as the map in equal parts. The tensors in between are added to ``tensors``."""
    rows = shape[0]
    # Elements of a map have up to 16 bits.
    size, most = 2 if params["x_bits"] >= 16 else 1, params["lmem_bytes"]
    if PoolRows.least(node, rows, size) <= most:
        return [node]
    if 1 not in node.window:
        along = [_along(node, axis) for axis in (1, 0)]
    else:
        axis = int(node.window[1] > 1)
        length = shape[axis]
        if node.window[axis] != length or any(node.padding) or length < 4:
            return [node]
        part = isqrt(length)
        last = [0, 0, 0, 0]
        last[axis + 2] = -length % part
        first = tuple(part if a == axis else 1 for a in range(2))
        second = tuple(-(-length // part) if a == axis else 1 for a in range(2))
        along = [
            replace(node, window=first, stride=first, padding=tuple(last)),
            replace(node, window=second, stride=(1, 1)),
        ]
    between = next(f"{node.output}:{n}" for n in count() if f"{node.output}:{n}" not in tensors)
    first = replace(along[0], name=between, output=between)
    tensors[between] = Tensor(between, first.shape_of(shape))
    second = replace(along[1], inputs=[between])
    return [
        *_maxima(first, shape, params, tensors),
        *_maxima(second, tensors[between].shape, params, tensors),
    ]


def _along(node, axis):
    """A maximum along one axis alone."""
    window, stride, dilation = (
        tuple(n if a == axis else 1 for a, n in enumerate(numbers))
        for numbers in (node.window, node.stride, node.dilation)
    )
    padding = tuple(n if k % 2 == axis else 0 for k, n in enumerate(node.padding))
    return replace(node, window=window, stride=stride, dilation=dilation, padding=padding)


def most_averaged(params: Mapping[str, Any]) -> int:
    """Greatest number of elements that one ``vavg`` averages: 16 bits each, held in local memory
    with the result."""
    return min(_MOST_AVERAGED, params["lmem_bytes"] // 2 - 4)


def is_whole(graph: Graph, node: AveragePool) -> bool:
    """Whether an average covers the whole map and has no other operations fused."""
    return tuple(node.window) == graph.shape(node.inputs[0])[:2] and not any(node.padding)


def _first_window(rows, columns, limit):
    """First window of an average over more positions than ``limit``: the smallest whose results can
    be averaged at once. Of equal sizes, the window that exceeds the map's edges least."""
    sizes = []
    for h in range(1, rows + 1):
        most = limit // -(-rows // h)  # windows side by side
        if most:
            sizes.append((h, -(-columns // most)))
    return min(sizes, key=lambda size: (size[0] * size[1], -rows % size[0] + -columns % size[1]))


def _in_two_steps(graph, node, limit):
    """Splits a global average over more positions than ``limit`` into a depthwise convolution and
    an average of its results. The map is padded with zeros if no window divides it."""
    rows, columns, channels = graph.shape(node.inputs[0])
    window = _first_window(rows, columns, limit)
    left = (-(-rows // window[0]), -(-columns // window[1]))
    part = Tensor(f"{node.name}:part", (*left, channels))
    first = _depthwise_average(
        node,
        part.name,
        part.name,
        channels,
        window,
        window,
        padding=(0, 0, left[0] * window[0] - rows, left[1] * window[1] - columns),
        # Of all places: the average that follows divides by its own number.
        weight=left[0] * left[1] / (rows * columns),
    )
    return part, first, replace(node, inputs=[part.name], window=left, stride=left)


def _depthwise_average(node, output, name, channels, window, stride, padding, weight):
    """An average as a depthwise convolution with equal weights."""
    return Conv(
        name=name,
        inputs=list(node.inputs),
        output=output,
        origin=node.origin,
        weights=np.full((channels, *window, 1), weight),
        stride=stride,
        padding=padding,
        groups=channels,
    )


def _is_table(node):
    """Whether a table lookup computes the node; a recurrent layer is excluded, since it reads its
    own sums."""
    return isinstance(node, Lstm | Gru) or isinstance(node, Activation) and node.function in TABLES


def shared_scales(graph: Graph, node: Node) -> tuple[bool, bool]:
    """Whether the source and the result of a table lookup share their scales with other tensors;
    each that does needs a product with one in between."""
    source, outputs = node.inputs[0], {port.tensor for port in graph.outputs}
    maker = graph.maker(source)
    before = not isinstance(node, Lstm | Gru) and (
        len(graph.readers(source)) > 1
        or source in outputs
        or not (maker is None or isinstance(maker, Conv | Dense))
    )
    readers = graph.readers(node.output)
    if graph.shape(node.output)[-1] > _MOST_UNITS:
        # Parts of a split layer's source have the scale of the whole.
        while any(isinstance(reader, Slice | Reshape) for reader in readers):
            readers = [
                last
                for reader in readers
                for last in (
                    graph.readers(reader.output)
                    if isinstance(reader, Slice | Reshape)
                    else [reader]
                )
            ]
    after = any(not isinstance(reader, Conv | Dense | Lstm | Gru) for reader in readers)
    return before, after


def _with_rescaling(graph):
    """Inserts products with one as rescaling beside each table lookup whose neighbours cannot have
    the required scales; returns a new graph. A tensor of more than three axes, or of long vectors,
    is rescaled as a map of one row."""
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

    def view(name, source, output, shape):
        return add(Reshape(name=name, inputs=[source], output=output, shape=shape), shape)

    for node in graph.nodes:
        if not _is_table(node):
            nodes.append(node)
            continue
        before, after = shared_scales(graph, node)
        name, source, output = node.name, node.inputs[0], node.output
        # A graph that was legalised before has them, if in parts.
        before, after = before and source != f"{name}:in", after and output != f"{name}:out"
        shape, whole = graph.shape(output), graph.shape(output)
        long = len(whole) < 3 and whole[-1] > _MOST_UNITS
        mapped = (len(whole) > 3 or long) and (before or after)
        # A recurrent layer has rescaling behind it alone, and its own shape.
        recurrent = isinstance(node, Lstm | Gru)
        if mapped:
            # Rescaling stands directly beside the table: no view of another shape comes between.
            before, after = not recurrent, True
            shape = (1, prod(whole[:-1]), whole[-1])
            if not recurrent:
                source = view(f"{name}:map", source, f"{name}:map:0", shape)
            output = f"{name}:map_out"
        if before:
            given = shape if mapped else graph.shape(source)
            source = unit(f"{name}:unit", source, f"{name}:in", given, node.origin)
        table = f"{name}:out" if after else output
        add(replace(node, inputs=[source], output=table), whole if recurrent else shape)
        if mapped and recurrent:
            table = view(f"{name}:map", table, f"{name}:map:0", shape)
        if after:
            unit(f"{name}:result", table, output, shape, node.origin)
        if mapped:
            view(f"{name}:shape", output, node.output, whole)
    return replace(graph, nodes=nodes, tensors=tensors)


def _map(shape):
    """Interprets a tensor's axes as rows, columns and channels."""
    return (*(1,) * (3 - len(shape)), *shape)


def _window(graph: Graph, node: Slice) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
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


def _constants(graph, node):
    """Names of a node's constant operands."""
    return [name for name in node.inputs if graph.tensors[name].data is not None]


def _support_with_constants(graph, node):
    """Support check of a Binary or Concat some of whose operands are constants; ``None`` if it has
    none, or is no such node that is rewritten."""
    constants = _constants(graph, node)
    if not constants or len(constants) == len(node.inputs):
        return None
    if isinstance(node, Binary):
        flowing = next(name for name in node.inputs if name not in constants)
        whole = graph.shape(flowing) == graph.shape(node.output)
        if node.function not in ("add", "sub", "mul") or not whole:
            return None
    return Support(DECOMPOSED, "layers whose biases are the constants")


def _with_constants(writer, node):
    """A node whose constant operands become the biases of dense layers without products, which read
    one element of another operand."""
    graph, names = writer.graph, []
    constants = _constants(graph, node)
    first = next(name for name in node.inputs if name not in constants)
    for number, name in enumerate(node.inputs):
        if name not in constants:
            names.append(name)
            continue
        part, data = f"{node.name}:constant{number}", np.asarray(graph.tensors[name].data)
        if isinstance(node, Binary):
            data = np.broadcast_to(data, graph.shape(node.output))
        flat = writer.reshaped(f"{part}:flat", first, None, (graph.tensors[first].size,))
        one = Slice(
            name=f"{part}:one", inputs=[flat], output=f"{part}:one", start=[0], stop=[1], step=[1]
        )
        dense = Dense(
            name=part,
            inputs=[writer.put(one, (1,))],
            output=f"{part}:0",
            origin=node.origin,
            weights=np.zeros((data.size, 1)),
            bias=np.array(data, np.float64).ravel(),
        )
        made = writer.put(dense, (data.size,))
        names.append(writer.reshaped(f"{part}:shape", made, None, data.shape))
    writer.put(replace(node, inputs=names), graph.shape(node.output))


def _activation_support(graph, node):
    how = _FUNCTIONS.get(node.function)
    return None if how is None else Support(DECOMPOSED, how)


def _slice_support(graph, node):
    if len(node.start) < 2:
        # Splits of dense layers are read in place.
        return None
    if len(node.start) > 3:
        return Support(HOST, f"{len(node.start)} axes: expected at most 3")
    if min(node.step) < 1:
        return Support(HOST, f"steps {node.step}: expected positive ones")
    size, _, _ = _window(graph, node)
    if prod(size) > _MOST_TAPS:
        return Support(
            HOST,
            f"slice that leaves out {size[0] - 1} rows and {size[1] - 1} columns at its ends: "
            f"expected at most {_MOST_TAPS} of (rows + 1) * (columns + 1)",
        )
    return Support(DECOMPOSED, "a convolution with a single one")


#: Kind -> (support check or ``None`` for a node that stays, writer of the nodes instead). A kind
#: that is added here needs no other place of this back end.
_REWRITINGS: dict[type[Node], tuple[Callable[..., Support | None], Callable[..., None]]] = {
    Activation: (_activation_support, _activation),
    Affine: (
        lambda *_: Support(DECOMPOSED, "a convolution of each channel by itself"),
        _affine,
    ),
    Slice: (_slice_support, _slice),
    Binary: (_support_with_constants, _with_constants),
    Concat: (_support_with_constants, _with_constants),
}


def support_of_rewritten(graph: Graph, node: Node) -> Support | None:
    """Support check of a node that is rewritten as convolutions; ``None`` for any other node."""
    if type(node) not in _REWRITINGS:
        return None
    answer = _REWRITINGS[type(node)][0](graph, node)
    shapes = [graph.shape(name) for name in (*node.inputs, node.output)]
    if answer is not None and not all(1 <= len(shape) <= 3 for shape in shapes):
        return Support(HOST, f"{len(shapes[0])} axes: expected at most 3")
    return answer


def _as_convolutions(graph):
    """Rewrites the nodes that :func:`support_of_rewritten` accepts."""
    if not any(support_of_rewritten(graph, node) for node in graph.nodes):
        return graph
    writer = _Writer(graph)
    for node in graph.nodes:
        if support_of_rewritten(graph, node) is None:
            writer.graph.nodes.append(replace(node))
        else:
            _REWRITINGS[type(node)][1](writer, node)
    return writer.graph
