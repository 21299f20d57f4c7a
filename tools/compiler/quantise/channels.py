# SPDX-License-Identifier: BSD-2-Clause
"""Channel classes: tensors whose channels can be rescaled together, with the factors compensated in
the layers that write and read them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from ..graph import Activation, AveragePool, Binary, Concat, Dense, Graph, MaxPool, Reduce, Reshape
from .groups import UnionFind
from .rows import weighted

__all__ = ["ChannelClass", "channel_classes"]

#: Functions that a positive factor goes through.
_HOMOGENEOUS = ("relu", "leaky")


@dataclass(eq=False)
class ChannelClass:
    """Tensors that share channels; each channel can have one factor in all of them.

    Attributes
    ----------
    tensors : dict, name -> int64 array, which of the class's channels its own are
    channels : how many
    held : bool [channels], whether the factor is 1 whatever the others are
    writers : names of the layers whose results they are
    readers : (name of a layer that reads them, tensor of the class that it reads)
    vectors : dict, name -> name of the one of them that it is, flattened
    """

    tensors: dict[str, np.ndarray]
    channels: int
    held: np.ndarray
    writers: list[str] = field(default_factory=list)
    readers: list[tuple[str, str]] = field(default_factory=list)
    vectors: dict[str, str] = field(default_factory=dict)


def _homogeneous(node):
    activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
    return activation is None or activation.function in _HOMOGENEOUS


def _passes(graph, node):
    """Whether a per-channel factor passes through the node unchanged, with the same channels in its
    operands and result."""
    if not _homogeneous(node):
        return False
    if isinstance(node, Reduce):
        rank = len(graph.shape(node.inputs[0]))
        return node.function in ("mean", "sum", "max") and rank - 1 not in {
            axis % rank for axis in node.axes
        }
    if isinstance(node, Binary):
        shapes = {tuple(graph.shape(name)) for name in [*node.inputs, node.output]}
        return (
            node.function in ("add", "sub")
            and len(shapes) == 1
            and all(graph.tensors[name].data is None for name in node.inputs)
        )
    return isinstance(node, Activation | AveragePool | MaxPool)


def _flattened(graph, node):
    """Whether the node only flattens a map for fully connected layers."""
    readers = graph.readers(node.output)
    return (
        isinstance(node, Reshape)
        and len(node.shape) == 1
        and node.output not in graph.kept()
        and readers
        and all(isinstance(reader, Dense) and not reader.steps for reader in readers)
    )


def channel_classes(graph: Graph, fixed: Collection[str] = ()) -> list[ChannelClass]:
    """Finds every :class:`ChannelClass` of a graph in which factors can be chosen.

    Parameters
    ----------
    fixed : names of tensors that must stay as they are, beside the network's inputs and outputs
    """
    flowing = {
        name: tensor.shape[-1]
        for name, tensor in graph.tensors.items()
        if tensor.data is None and tensor.shape
    }
    united = UnionFind(
        (name, channel) for name, count in flowing.items() for channel in range(count)
    )
    held, flat = {*fixed, *graph.kept(), *(port.tensor for port in graph.inputs)}, {}
    for node in graph.nodes:
        if weighted(node):
            _join(united, flowing, [*node.inputs[1:], node.output])
            held |= set() if _homogeneous(node) else {node.output}
        elif _flattened(graph, node):
            flat[node.output] = node.inputs[0]
        elif isinstance(node, Concat) and all(name in flowing for name in node.inputs):
            _join_parts(united, flowing, graph, node)
        elif _passes(graph, node):
            _join(united, flowing, [*node.inputs, node.output])
        else:
            held |= {*node.inputs, node.output}
    found = _classes(united, flowing, held)
    for vector, source in flat.items():
        if source in found:
            found[source].vectors[vector] = source
    for node in filter(weighted, graph.nodes):
        if node.output in found:
            found[node.output].writers.append(node.name)
        source = flat.get(node.inputs[0], node.inputs[0])
        if source in found:
            found[source].readers.append((node.name, source))
    distinct = {id(one): one for one in found.values()}
    return [one for one in distinct.values() if one.writers and one.readers]


def _join(united, flowing, names):
    """Merges the channels of tensors with equally many channels."""
    for channel in range(flowing[names[0]]):
        united.join((name, channel) for name in names)


def _join_parts(united, flowing, graph, node):
    """Merges the channels of a Concat's operands with those of its result."""
    begin, rank = 0, len(graph.shape(node.output))
    for name in node.inputs:
        for channel in range(flowing[name]):
            united.join([(name, channel), (node.output, begin + channel)])
        begin += flowing[name] if node.axis % rank == rank - 1 else 0


def _classes(united, flowing, held):
    """Channel class of each tensor; classes without any free factor are omitted."""
    together = UnionFind(flowing)
    homes = {}
    for name, channel in united.names():
        together.join([homes.setdefault(united.find((name, channel)), name), name])
    result = {}
    for names in together.sets().values():
        numbers = {}
        tensors = {
            name: np.array(
                [
                    numbers.setdefault(united.find((name, channel)), len(numbers))
                    for channel in range(flowing[name])
                ]
            )
            for name in names
        }
        still = np.zeros(len(numbers), bool)
        for name in held & tensors.keys():
            still[tensors[name]] = True
        if not still.all():
            result.update(dict.fromkeys(names, ChannelClass(tensors, len(numbers), still)))
    return result
