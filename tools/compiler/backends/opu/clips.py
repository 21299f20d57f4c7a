# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation of clips: the core clips at the ends of its number range, so a clipped tensor gets a
scale of its own and is rescaled by a product with one where others share a scale with it."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ...graph import (
    Activation,
    Affine,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Slice,
    Tensor,
    Transpose,
)

__all__ = ["with_own_scales"]

#: Elements of a vector that a matrix of ones turns into another scale, at most.
_MOST = 512
_KEEPING = (MaxPool, Pad, Reshape, Slice, Transpose)


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


def with_own_scales(graph: Graph, unfused_clips: Collection[str] = ()) -> Graph:
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
            isinstance(maker, _KEEPING)
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
