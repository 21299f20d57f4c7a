# SPDX-License-Identifier: BSD-2-Clause
"""Compensation for the offset of a tensor in its readers: their biases absorb it."""

from dataclasses import replace

import numpy as np

from ..graph import (
    Affine,
    AveragePool,
    Conv,
    Dense,
    Graph,
    Gru,
    Lstm,
    MaxPool,
    Node,
    Reshape,
    Slice,
    Transpose,
)

__all__ = ["Held", "without"]


class Held(Exception):
    """Error of a layer that cannot absorb an offset: its name and the reason."""


def without(
    graph: Graph, tensor: str, offset: np.ndarray
) -> tuple[dict[str, Node], dict[str, np.ndarray]]:
    """Changes to the readers of a tensor after ``offset`` [channels] is subtracted from it.

    Returns
    -------
    (dict, dict): name -> node of each layer whose bias makes up for it, and name -> offset of each
    tensor that holds less

    Raises
    ------
    Held
        A layer that reads it cannot make up for it.
    """
    nodes: dict[str, Node] = {}
    offsets = {tensor: offset}
    for node in graph.nodes:
        known = [offsets.get(name) for name in node.inputs]
        if all(one is None for one in known):
            continue
        if len(known) > 1:
            raise Held(f"{node.name} reads it beside another tensor")
        if isinstance(node, MaxPool | AveragePool | Reshape | Slice | Transpose):
            offsets[node.output] = _through(graph, node, known[0])
        else:
            nodes[node.name] = _taken(node, known[0])
    if graph.kept() & offsets.keys():
        raise Held("it is an output as well")
    return nodes, offsets


def _through(graph, node, offset):
    """Offset of the result of a node that only moves or pools elements."""
    if isinstance(node, MaxPool):
        return offset
    if isinstance(node, AveragePool):
        if any(node.padding) and node.include_padding:
            raise Held(f"{node.name} pads with zeros")
        return offset
    if isinstance(node, Slice):
        return offset[node.start[-1] : node.stop[-1] : node.step[-1]]
    channels = graph.shape(node.output)[-1:]
    if np.all(offset == offset[0]):
        return np.broadcast_to(offset[0], channels)
    if isinstance(node, Reshape) and len(node.shape) == 1:
        return np.resize(offset, channels)
    if isinstance(node, Transpose) and node.order[-1] == len(node.order) - 1:
        return offset
    raise Held(f"{node.name} mixes channels of different means")


def _taken(node, offset):
    """Returns a layer that gives the same results when ``offset`` is subtracted from its
    operand."""
    if isinstance(node, Affine):
        return replace(node, shift=node.shift + node.scale * offset)
    if isinstance(node, Lstm):
        return replace(node, bias=node.bias + node.weights @ offset)
    if isinstance(node, Gru):
        bias = np.array(node.bias, np.float64)
        bias[0] += node.weights @ offset
        return replace(node, bias=bias)
    if isinstance(node, Conv):
        if any(node.padding):
            raise Held(f"{node.name} pads with zeros")
        inner = offset.reshape(node.groups, 1, 1, 1, -1)
        kernels = node.weights.reshape(node.groups, -1, *node.weights.shape[1:])
        added = (kernels * inner).sum(axis=(2, 3, 4)).ravel()
    elif isinstance(node, Dense):
        added = node.weights @ np.resize(offset, node.weights.shape[1])
    else:
        raise Held(f"{node.name} ({node.origin or node.kind}) has no bias that could take it")
    return replace(node, bias=added if node.bias is None else node.bias + added)
