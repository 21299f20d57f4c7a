# SPDX-License-Identifier: BSD-2-Clause
"""Use of a core's whole number range at the edges of a network. Centring: the host subtracts the
mean of an input and adds that of an output, and biases compensate for it. Rescaling: branches that
an output concatenates have a factor each, and the host multiplies by the inverse."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..evaluate import run_graph
from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MaxPool,
    Reshape,
    Transpose,
)
from ..quantise.calibration import evenly
from ..values import to_graph
from .folding import Held, without

__all__ = ["branches_scaled", "centred", "few_inputs", "results_centred"]


#: An input is centred if its greatest size falls below this share: by more than one bit.
_SHARE = 0.5
#: The same of an output, which costs nothing but the host's addition.
_OUTPUT_SHARE = 0.8
#: Elements that a mean is taken of, at least.
_FEWEST = 16
#: Inputs, and elements of all tensors together, that outputs are computed of.
_MOST_INPUTS, _MOST_ELEMENTS = 64, 1 << 25


def centred(
    graph: Graph, calibration: Mapping[str, np.ndarray], fixed: Collection[str] = ()
) -> tuple[Graph, dict[str, str]]:
    """Adds offsets to input ports whose values are far from zero, and compensates for them in the
    layers that read them.

    Parameters
    ----------
    graph : Graph, simplified
    calibration : dict, name of every input -> array in the user's layout
    fixed : names of ports that stay as they are

    Returns
    -------
    (Graph, dict): port name -> why an input far from zero has no offset
    """
    held: dict[str, str] = {}
    for port in graph.inputs:
        if port.name in fixed:
            continue
        values = to_graph(port, calibration[port.name])
        own = port.scale is not None or graph.tensors[port.tensor].scale is not None
        for offset in [] if own or values.ndim < 2 else _offsets(values):
            try:
                graph = _moved(graph, port, offset)
            except Held as error:
                held.setdefault(port.name, str(error))
                continue
            held.pop(port.name, None)
            break
    return graph, held


def results_centred(
    graph: Graph, calibration: Mapping[str, np.ndarray], fixed: Collection[str] = ()
) -> Graph:
    """Adds offsets to output ports whose values are far from zero, and subtracts them in the layers
    that compute them; arguments as in :func:`centred`."""
    own = [
        port
        for port in graph.outputs
        if port.scale is None and port.order and port.name not in fixed
    ]
    able = []
    for port in own:
        try:
            _left_out(graph, port.tensor, np.ones(graph.shape(port.tensor)[-1]), last=True)
        except Held:
            continue
        able.append(port)
    if not able:
        return graph
    inputs = few_inputs(graph, calibration)
    results = run_graph(
        graph, {port.tensor: to_graph(port, inputs[port.name]) for port in graph.inputs}
    )
    for port in able:
        for offset in _offsets(results[port.tensor], _OUTPUT_SHARE):
            try:
                changed = _left_out(graph, port.tensor, offset, last=True)
            except Held:
                continue
            if np.all(results[port.tensor] == offset):
                break  # a constant holds nothing that could be distinguished
            nodes = [changed.get(node.name, node) for node in graph.nodes]
            outputs = [
                replace(one, offset=tuple(map(float, offset))) if one is port else one
                for one in graph.outputs
            ]
            graph = Graph(graph.name, graph.inputs, outputs, nodes, graph.tensors)
            break
    return graph


def few_inputs(graph: Graph, calibration: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Selects as many of the calibration inputs as memory and time allow for a run of the whole
    network."""
    size = sum(tensor.size for tensor in graph.tensors.values() if tensor.data is None)
    count = max(2, min(_MOST_INPUTS, _MOST_ELEMENTS // max(size, 1)))
    return evenly({name: np.asarray(array) for name, array in calibration.items()}, count)


def _left_out(graph, tensor, offset, last=False):
    """Layers with ``offset`` [channels] subtracted from a tensor: name -> node. ``last``: the
    tensor is an output without readers, else a single node reads it. Raises :class:`Held`."""
    node = graph.maker(tensor)
    ports = [port for port in graph.outputs if port.tensor == tensor]
    if len(ports) != last or len(graph.readers(tensor)) != (not last):
        raise Held(f"{tensor} is read elsewhere")
    if graph.tensors[tensor].scale is not None:
        raise Held(f"{tensor} has a scale of its own")
    if isinstance(node, Affine | Conv | Dense) and node.activation is None:
        if isinstance(node, Affine):
            return {node.name: replace(node, shift=node.shift - offset)}
        bias = 0 if node.bias is None else node.bias
        return {node.name: replace(node, bias=bias - offset)}
    if isinstance(node, Concat):
        return _left_out_of_parts(graph, node, offset)
    same = isinstance(node, Transpose) and node.order[-1] == len(node.order) - 1
    if isinstance(node, Reshape | Transpose):
        channels = graph.shape(node.inputs[0])[-1:]
        if np.all(offset == offset[0]):
            offset, same = np.broadcast_to(offset[0], channels), True
        same |= isinstance(node, Reshape) and channels == graph.shape(tensor)[-1:]
    pool = isinstance(node, AveragePool) and not (any(node.padding) and node.include_padding)
    added = isinstance(node, Binary) and node.function == "add" and node.activation is None
    added = added and graph.shape(node.inputs[0]) == graph.shape(tensor)
    if same or pool or added or isinstance(node, MaxPool):
        return _left_out(graph, node.inputs[0], offset)
    raise Held(f"no layer makes {tensor} that could leave an offset out")


def _left_out_of_parts(graph, node, offset):
    """Layers with ``offset`` subtracted from the result of a Concat, in the form of
    :func:`_left_out`."""
    changed, begin = {}, 0
    apart = node.axis % len(graph.shape(node.output)) == len(graph.shape(node.output)) - 1
    for name in node.inputs:
        end = begin + graph.shape(name)[-1] if apart else len(offset)
        changed |= _left_out(graph, name, offset[begin:end])
        begin = end if apart else 0
    return changed


def _offsets(values, share=_SHARE):
    """Candidate offsets [channels], the best first: one per channel, then one for all.

    Values seen that lie next to the mean, so that numbers on a grid stay on it.
    """
    channels = values.shape[-1]
    by_channel = values.reshape(-1, channels)
    together = np.broadcast_to(_next_to_mean(values.reshape(-1, 1)), channels)
    tried = [together] if values.size >= _FEWEST else []
    if len(by_channel) >= _FEWEST and channels > 1:
        tried.insert(0, _next_to_mean(by_channel))
    most = np.abs(values).max()
    return [offset for offset in tried if np.abs(values - offset).max() < share * most]


def _next_to_mean(values):
    """Element of each column of ``values`` that is nearest to the column's mean."""
    nearest = np.abs(values - values.mean(axis=0)).argmin(axis=0)
    return np.take_along_axis(values, nearest[None], axis=0)[0]


def _moved(graph, port, offset):
    """Returns the graph with ``offset`` subtracted from an input. Raises :class:`Held`."""
    changed, _ = without(graph, port.tensor, offset)
    inputs = [
        replace(one, offset=tuple(map(float, offset))) if one is port else one
        for one in graph.inputs
    ]
    nodes = [changed.get(node.name, node) for node in graph.nodes]
    return Graph(graph.name, inputs, graph.outputs, nodes, graph.tensors)


#: Branches are scaled if the range of one is less than this share of another's.
_BRANCH_SHARE = 0.5
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
    """Returns the graph with rescaled branches, for outputs that concatenate branches of very
    different ranges on their last axis. The port holds the factors; the branches' last layers are
    divided by them.

    Parameters
    ----------
    graph : Graph, simplified
    calibration : dict, name of every input -> array in the user's layout
    fixed : names of ports that stay as they are
    """
    found = {}
    for port in graph.outputs:
        if port.scale is not None or port.name in fixed:
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
        if not 0 < min(ranges) < _BRANCH_SHARE * max(ranges):
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
    if (
        len(ports) != is_output
        or len(graph.readers(tensor)) != (not is_output)
        or graph.tensors[tensor].scale is not None
    ):
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
        # Channels change their places, so all need the same factor.
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
