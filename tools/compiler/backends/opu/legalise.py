# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for the OPU: channelwise operations with constants become layers with weights."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ...graph import Activation, Affine, Binary, Conv, Dense, Graph, Tensor
from ..rewriting import join_turned
from .clips import with_own_scales
from .support import constant_of, is_limit

__all__ = ["legalise"]


def legalise(graph: Graph, unfused_clips: Collection[str] = ()) -> Graph:
    """Legalises a graph (returns a new one); tensors keep their names. ``unfused_clips``: names of
    layers whose clip stays unfused."""
    graph = with_own_scales(_without_limits(join_turned(graph)), unfused_clips)
    result = Graph(graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors))
    for node in graph.nodes:
        result.nodes += _leaky(result, node) if _sloped(node) else [_node(result, node)]
    return result


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
