# SPDX-License-Identifier: BSD-2-Clause
"""Input centring: the host subtracts the mean of inputs far from zero, and the first layers' biases
compensate for it."""

from collections.abc import Mapping
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
    Reshape,
    Slice,
    Transpose,
)
from ..ports import to_graph

__all__ = ["centred"]

#: An input is centred if its greatest size falls below this share: by more than one bit.
_SHARE = 0.5
#: Elements that a mean is taken of, at least.
_FEWEST = 16


class _Held(Exception):
    """A layer that cannot take an offset: its name and why."""


def centred(graph: Graph, calibration: Mapping[str, np.ndarray]) -> tuple[Graph, dict[str, str]]:
    """Adds offsets to input ports whose values are far from zero, and compensates for them in the
    layers that read them.

    Parameters
    ----------
    graph : Graph, simplified
    calibration : dict, name of every input -> array as the user has it

    Returns
    -------
    (Graph, dict): port name -> why an input far from zero has no offset
    """
    held: dict[str, str] = {}
    for port in graph.inputs:
        values = to_graph(port, calibration[port.name])
        own = port.scale is not None or graph.tensors[port.tensor].scale is not None
        for offset in [] if own or values.ndim < 2 else _offsets(values):
            try:
                graph = _moved(graph, port, offset)
            except _Held as error:
                held.setdefault(port.name, str(error))
                continue
            held.pop(port.name, None)
            break
    return graph, held


def _offsets(values):
    """Offsets [channels] worth a try, the best first: of each channel its own, one for all.

    Values seen that lie next to the mean, so that numbers on a grid stay on it.
    """
    channels = values.shape[-1]
    by_channel = values.reshape(-1, channels)
    together = np.broadcast_to(_next_to_mean(values.reshape(-1, 1)), channels)
    tried = [together] if values.size >= _FEWEST else []
    if len(by_channel) >= _FEWEST and channels > 1:
        tried.insert(0, _next_to_mean(by_channel))
    most = np.abs(values).max()
    return [offset for offset in tried if np.abs(values - offset).max() < _SHARE * most]


def _next_to_mean(values):
    """Of each column of ``values`` the element nearest to the column's mean."""
    nearest = np.abs(values - values.mean(axis=0)).argmin(axis=0)
    return np.take_along_axis(values, nearest[None], axis=0)[0]


def _moved(graph, port, offset):
    """The graph with ``offset`` taken out of an input. Raises :class:`_Held`."""
    nodes, offsets = {node.name: node for node in graph.nodes}, {port.tensor: offset}
    for node in graph.nodes:
        known = [offsets.get(name) for name in node.inputs]
        if all(one is None for one in known):
            continue
        if len(known) > 1:
            raise _Held(f"{node.name} reads it beside another tensor")
        if isinstance(node, MaxPool | AveragePool | Reshape | Slice | Transpose):
            offsets[node.output] = _through(graph, node, known[0])
        else:
            nodes[node.name] = _taken(node, known[0])
    if graph.kept() & offsets.keys():
        raise _Held("it is an output as well")
    inputs = [
        replace(one, offset=tuple(map(float, offset))) if one is port else one
        for one in graph.inputs
    ]
    return Graph(graph.name, inputs, graph.outputs, list(nodes.values()), graph.tensors)


def _through(graph, node, offset):
    """Offset of the result of a node that only moves or gathers elements."""
    if isinstance(node, MaxPool):
        return offset
    if isinstance(node, AveragePool):
        if any(node.padding) and node.include_padding:
            raise _Held(f"{node.name} pads with zeros")
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
    raise _Held(f"{node.name} mixes channels of different means")


def _taken(node, offset):
    """A layer that reads its operand without ``offset`` and gives the same."""
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
            raise _Held(f"{node.name} pads with zeros")
        inner = offset.reshape(node.groups, 1, 1, 1, -1)
        kernels = node.weights.reshape(node.groups, -1, *node.weights.shape[1:])
        added = (kernels * inner).sum(axis=(2, 3, 4)).ravel()
    elif isinstance(node, Dense):
        added = node.weights @ np.resize(offset, node.weights.shape[1])
    else:
        raise _Held(f"{node.name} ({node.origin or node.kind}) has no bias that could take it")
    return replace(node, bias=added if node.bias is None else node.bias + added)
