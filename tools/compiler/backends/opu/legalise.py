# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for the OPU: channelwise operations with constants become layers with weights, and
clips get scales of their own.

The core clips at the ends of its number range, so a clipped tensor gets a scale of its own and is
rescaled by a product with one where others share a scale with it.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .....gateware.cores.opu.types import SLOT
from ...graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Movement,
    Node,
    Reduce,
    Reshape,
    Tensor,
)
from ..rewriting import join_turned, maxima_in_steps, windows_in_steps
from .form import map_shape
from .layers import MOST_STRIDE
from .schedule.tiling import Target, ifm_channels, ofm_channels
from .support import MOST_POOL, constant_of, is_limit, window_strides

__all__ = ["legalise"]

#: Rows or columns of a map whose average is a single sum, at most.
_MOST_SUMMED = 127

#: Elements of a vector that a matrix of ones turns into another scale, at most.
_MOST = 512


def legalise(graph: Graph, target: Target, unfused_clips: Collection[str] = ()) -> Graph:
    """Legalises a graph for the capacities of a build (returns a new one); tensors keep their
    names. ``unfused_clips``: names of layers whose clip stays unfused."""
    graph = _pools_in_steps(maxima_in_steps(join_turned(graph), MOST_POOL), target)
    graph = _averages_in_steps(graph)
    graph = _with_own_scales(_without_limits(graph), unfused_clips)
    result = Graph(graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors))
    for node in graph.nodes:
        result.nodes += _leaky(result, node) if _sloped(node) else [_node(result, node)]
    return result


def _pools_in_steps(graph, target):
    """Poolings at strides that the core has, and maxima of windows that it and its buffers hold.
    Returns a new graph."""

    def is_held(window, channels):
        ifm, ofm = (of(min(channels, SLOT)) for of in (ifm_channels, ofm_channels))
        return target.holds_ifm((*window, ifm)) and target.holds_ofm((*window, ofm))

    nodes: list[Node] = [
        replace(node, stride=window_strides(graph, node))
        if isinstance(node, AveragePool | MaxPool)
        else node
        for node in graph.nodes
    ]
    return windows_in_steps(replace(graph, nodes=nodes), MOST_POOL, MOST_STRIDE, is_held)


def _averages_in_steps(graph):
    """Replaces averages of whole maps of more than :data:`_MOST_SUMMED` rows or columns by averages
    of parts and of these: a sum of so many products would be lost in its rounding. Returns a new
    graph."""
    nodes, tensors = [], dict(graph.tensors)

    def made(kind, source, name, **attributes):
        node = kind(name=name, inputs=[source], output=name, origin=node_of.origin, **attributes)
        tensors[name] = Tensor(name, node.shape_of(tensors[source].shape))
        nodes.append(node)
        return name

    for node_of in graph.nodes:
        sides = _averaged(graph, node_of)
        if max(sides, default=0) <= _MOST_SUMMED:
            nodes.append(node_of)
            continue
        source, name = node_of.inputs[0], node_of.name
        channels = graph.shape(source)[-1]
        if isinstance(node_of, Reduce):
            source = made(Reshape, source, f"{name}:map", shape=(*sides, channels))
        counts = [-(-length // _MOST_SUMMED) for length in sides]
        window = [-(-length // count) for length, count in zip(sides, counts, strict=True)]
        # The last part is filled up with zeros.
        behind = [k * n - length for k, n, length in zip(window, counts, sides, strict=True)]
        source = made(
            AveragePool,
            source,
            f"{name}:parts",
            window=tuple(window),
            stride=tuple(window),
            padding=(0, 0, *behind),
        )
        share = window[0] * window[1] / (sides[0] * sides[1])
        source = made(
            Conv,
            source,
            f"{name}:whole",
            weights=np.full((channels, *counts, 1), share),
            groups=channels,
        )
        shape = graph.shape(node_of.output)
        nodes.append(
            Reshape(
                name=name,
                inputs=[source],
                output=node_of.output,
                origin=node_of.origin,
                shape=shape,
            )
        )
    return replace(graph, nodes=nodes, tensors=tensors)


def _averaged(graph, node):
    """Rows and columns of the map that a node is the average of; empty for other nodes."""
    if not isinstance(node, AveragePool | Reduce):
        return ()
    sides = map_shape(graph.shape(node.inputs[0]))[:2]
    whole = isinstance(node, Reduce) or (tuple(node.window) == sides and not any(node.padding))
    return sides if whole else ()


def _without_limits(graph):
    """Replaces each minimum of x and a constant c by c - relu(c - x), also after a layer; returns a
    new graph."""
    nodes, tensors = [], dict(graph.tensors)

    def tensor(node, part):
        made = Tensor(f"{node.output}:{part}", graph.shape(node.output))
        tensors[made.name] = made
        return made.name

    for node in graph.nodes:
        alone = isinstance(node, Activation)
        limit = node if alone else getattr(node, "activation", None)
        if not is_limit(limit):
            nodes.append(node)
            continue
        source, name = node.inputs[0], node.name
        if not alone:
            source, name = tensor(node, "unlimited"), f"{node.name}:limit"
            nodes.append(replace(node, output=source, activation=None))
        below = tensor(node, "below")
        minus = {"origin": node.origin, "scale": -np.ones(1), "shift": np.full(1, limit.high)}
        relu = Activation(name=f"{node.name}:relu", inputs=[], output="", function="relu")
        nodes += [
            Affine(name=f"{name}:below", inputs=[source], output=below, activation=relu, **minus),
            Affine(name=name, inputs=[below], output=node.output, **minus),
        ]
    return replace(graph, nodes=nodes, tensors=tensors)


def _sloped(node):
    """Whether a node is a leaky ReLU whose slope the core does not have."""
    return isinstance(node, Activation) and node.function == "leaky" and node.alpha != 0.125


def _leaky(graph, node):
    """Replaces a leaky ReLU by alpha x + relu((1 - alpha) x)."""
    source, parts = node.inputs[0], []
    for part, scale, activation in (
        (
            "positive",
            1 - node.alpha,
            Activation(name=f"{node.name}:relu", inputs=[], output="", function="relu"),
        ),
        ("sloped", node.alpha, None),
    ):
        name = f"{node.output}:{part}"
        graph.tensors[name] = Tensor(name, graph.shape(node.output))
        one = Affine(
            name=f"{node.name}:{part}",
            inputs=[source],
            output=name,
            origin=node.origin,
            scale=np.ones(1),
            shift=np.zeros(1),
            activation=activation,
        )
        parts.append(_each_channel(graph, one, source, scale, 0.0))
    return [
        *parts,
        Binary(
            name=node.name,
            inputs=[parts[1].output, parts[0].output],
            output=node.output,
            origin=node.origin,
            function="add",
        ),
    ]


def _node(graph, node):
    if isinstance(node, Affine):
        return _each_channel(graph, node, node.inputs[0], node.scale, node.shift)
    found = constant_of(graph, node) if isinstance(node, Binary) else None
    if found is None:
        return replace(node, inputs=list(node.inputs))
    flowing, values = found
    scale, shift = {
        "add": (1.0, values),
        "sub": (1.0, -values) if flowing == 0 else (-1.0, values),
        "mul": (values, 0.0),
        "div": (1 / values, 0.0),
    }[node.function]
    return _each_channel(graph, node, node.inputs[flowing], scale, shift)


def _each_channel(graph, node, source, scale, shift):
    """Replaces ``scale`` * x + ``shift`` by a depthwise convolution, or for a vector or sequence by
    a dense layer."""
    shape = graph.shape(source)
    channels = shape[-1] if shape else 1
    scale, shift = (
        np.broadcast_to(np.asarray(values, np.float64).reshape(-1), (channels,)).copy()
        for values in (scale, shift)
    )
    common = {
        "name": node.name,
        "inputs": [source],
        "output": node.output,
        "origin": node.origin,
        "bias": shift,
        "activation": node.activation,
    }
    if len(shape) == 3:
        return Conv(weights=scale.reshape(-1, 1, 1, 1), groups=channels, **common)
    return Dense(weights=np.diag(scale), steps=len(shape) == 2, **common)


# Clips with scales of their own


def _bound(node):
    """Upper bound of a node's clip, or ``None``."""
    activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
    return (
        activation.high
        if activation is not None and activation.function == "clip" and np.isfinite(activation.high)
        else None
    )


def _flowing(graph, node):
    return [name for name in node.inputs if graph.tensors[name].data is None]


def _one(node, name, source, output, activation=None):
    """Builds a product with one that converts a tensor from one scale to another."""
    return Affine(
        name=name,
        inputs=[source],
        output=output,
        origin=node.origin,
        scale=np.ones(1),
        shift=np.zeros(1),
        activation=activation,
    )


def _is_unfused(graph, node, unfused_clips):
    """Whether a node's clip needs its own product with one. A sum of tensors does, since it has the
    scale of its operands. So does a layer in ``unfused_clips``, whose partial sums would need
    another range than its result."""
    if isinstance(node, Binary):
        return len(_flowing(graph, node)) > 1
    # A vector's product with one is a matrix. Such a product itself already has the clip after it.
    return (
        node.name in unfused_clips
        and f"{node.output}:sum" not in node.inputs
        and (len(graph.shape(node.output)) == 3 or graph.shape(node.output)[-1] <= _MOST)
    )


def _with_own_scales(graph, unfused_clips):
    """Returns a new graph in which clipped results have their own scale, and additions or
    concatenations with tensors of a larger range read them through a product with one.
    ``unfused_clips``: names of layers whose clip stays unfused and is done by such a product."""
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        if _bound(node) is not None and isinstance(node, Activation):
            node = _one(node, node.name, node.inputs[0], node.output, node)
        elif (
            isinstance(node, Conv | Dense | Binary | Affine)
            and node.activation is not None
            and _bound(node) is not None
            and _is_unfused(graph, node, unfused_clips)
        ):
            total = f"{node.output}:sum"
            tensors[total] = Tensor(total, graph.shape(node.output))
            nodes.append(replace(node, name=f"{node.name}:sum", output=total, activation=None))
            node = _one(node, node.name, total, node.output, node.activation)
        nodes.append(node)
    made, units, result = {node.output: node for node in nodes}, {}, []

    def bound(name):
        maker = made.get(name)
        while (
            isinstance(maker, Movement | MaxPool)
            and not isinstance(maker, Concat)
            or isinstance(maker, Activation)
            and maker.function == "relu"
        ):
            maker = made.get(maker.inputs[0])
        return None if maker is None else _bound(maker)

    for node in nodes:
        several = (
            isinstance(node, Binary) and len(_flowing(graph, node)) > 1 or isinstance(node, Concat)
        )
        bounds = {name: bound(name) for name in node.inputs} if several else {}
        if isinstance(node, Concat) and len(set(bounds.values())) == 1:
            bounds = {}
        for name in [name for name, high in bounds.items() if high is not None]:
            if name not in units:
                units[name] = f"{name}:unit"
                tensors[units[name]] = Tensor(units[name], tensors[name].shape)
                result.append(_one(node, f"{made[name].name}:unit", name, units[name]))
        if any(high is not None for high in bounds.values()):
            node = replace(
                node,
                inputs=[name if bounds.get(name) is None else units[name] for name in node.inputs],
            )
        result.append(node)
    return replace(graph, nodes=result, tensors=tensors)
