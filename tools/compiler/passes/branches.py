# SPDX-License-Identifier: BSD-2-Clause
"""Rescaling of branches that an output concatenates: each uses the core's full number range,
however different their ranges are, and the host multiplies by the inverse factors."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..evaluate import run_graph
from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Reshape,
    Transpose,
)
from ..ports import to_graph
from .centring import few_inputs

__all__ = ["branches_scaled"]

#: Branches are scaled if the range of one is less than this share of another's.
_SHARE = 0.5
#: Functions that a positive factor goes through.
_HOMOGENEOUS = ("relu", "leaky")


class _Held(Exception):
    """Raised if a branch cannot be rescaled by a factor."""


@dataclass
class _Branch:
    """Channels ``begin`` to ``end`` of an output, and the layer that computes them."""

    begin: int
    end: int
    layer: Affine | Conv | Dense


def branches_scaled(
    graph: Graph, calibration: Mapping[str, np.ndarray], fixed: Collection[str] = ()
) -> Graph:
    """The graph with factors in those of its output ports that join branches of ranges far apart
    on their last axis, and without these factors in the branches' last layers.

    Parameters
    ----------
    graph : Graph, simplified
    calibration : dict, name of every input -> array as the user has it
    fixed : names of ports that stay as they are
    """
    found = {}
    for port in graph.outputs:
        own = port.scale is not None or graph.tensors[port.tensor].scale is not None
        if own or port.name in fixed:
            continue
        try:
            branches = _branches(graph, port.tensor, is_output=True)
        except _Held:
            continue
        # A layer that makes several of them has one factor alone.
        if len({id(branch.layer) for branch in branches}) == len(branches) > 1:
            found[port.tensor] = branches
    if not found:
        return graph
    inputs = few_inputs(graph, calibration)
    results = run_graph(
        graph, {port.tensor: to_graph(port, inputs[port.name]) for port in graph.inputs}
    )
    changed, factors = {}, {}
    for tensor, branches in found.items():
        ranges = [np.abs(results[tensor][..., one.begin : one.end]).max() for one in branches]
        if not 0 < min(ranges) < _SHARE * max(ranges):
            continue
        factors[tensor] = np.ones(graph.shape(tensor)[-1])
        for branch, size in zip(branches, ranges, strict=True):
            factor = size / max(ranges)
            factors[tensor][branch.begin : branch.end] = factor
            changed[branch.layer.name] = _divided(branch.layer, factor)
    outputs = [
        replace(port, factor=tuple(map(float, factors[port.tensor])))
        if port.tensor in factors
        else port
        for port in graph.outputs
    ]
    nodes = [changed.get(node.name, node) for node in graph.nodes]
    return Graph(graph.name, graph.inputs, outputs, nodes, graph.tensors)


def _branches(graph, tensor, is_output=False):
    """Branches of a tensor, a list of :class:`_Branch`; ``is_output``: the tensor is an output of
    the network and has no other reader. Raises :class:`_Held`."""
    ports = [port for port in graph.outputs if port.tensor == tensor]
    if len(ports) != is_output or len(graph.readers(tensor)) != (not is_output):
        raise _Held
    node, shape = graph.maker(tensor), graph.shape(tensor)
    if isinstance(node, Concat):
        if node.axis % len(shape) != len(shape) - 1:
            raise _Held
        found, begin = [], 0
        for name in node.inputs:
            found += [
                replace(one, begin=one.begin + begin, end=one.end + begin)
                for one in _branches(graph, name)
            ]
            begin += graph.shape(name)[-1]
        return found
    if isinstance(node, Affine | Conv | Dense):
        activation = node.activation
        if len(node.inputs) > 1 or activation and activation.function not in _HOMOGENEOUS:
            raise _Held
        return [_Branch(0, shape[-1], node)]
    passes = (
        isinstance(node, AveragePool | MaxPool)
        or isinstance(node, Activation)
        and node.function in _HOMOGENEOUS
        or isinstance(node, Transpose)
        and node.order[-1] == len(node.order) - 1
        or isinstance(node, Reshape)
        and graph.shape(node.inputs[0])[-1:] == shape[-1:]
    )
    if passes:
        return _branches(graph, node.inputs[0])
    if isinstance(node, Reshape | Transpose):
        # Channels come elsewhere, all of which have to have one factor.
        (only,) = _one(_branches(graph, node.inputs[0]))
        return [_Branch(0, shape[-1], only.layer)]
    raise _Held


def _one(branches):
    """Checks that ``branches`` has a single element. Raises :class:`_Held` if there are several."""
    if len(branches) > 1:
        raise _Held
    return branches


def _divided(layer, factor):
    """Returns a layer whose results are divided by a positive number."""
    if isinstance(layer, Affine):
        return replace(layer, scale=layer.scale / factor, shift=layer.shift / factor)
    return replace(
        layer,
        weights=layer.weights / factor,
        bias=None if layer.bias is None else layer.bias / factor,
        weight_scale=None if layer.weight_scale is None else layer.weight_scale / factor,
    )
