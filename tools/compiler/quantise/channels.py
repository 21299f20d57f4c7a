# SPDX-License-Identifier: BSD-2-Clause
"""Tensors whose channels may be scaled together: what one layer divides, the layers that read it
multiply."""

from dataclasses import dataclass, field

from ..graph import Activation, AveragePool, Binary, Dense, MaxPool, Reduce, Reshape
from .groups import Joined
from .rows import weighted

__all__ = ["ChannelClass", "channel_classes"]

#: Functions that a positive factor goes through.
_HOMOGENEOUS = ("relu", "leaky")


@dataclass(eq=False)
class ChannelClass:
    """Tensors of one number of channels, each channel of which has one factor in all of them.

    Attributes
    ----------
    tensors : names
    channels : how many
    writers : names of the layers whose results they are
    readers : (name of a layer that reads them, tensor of the class that it reads)
    vectors : names of tensors that are one of them flattened
    """

    tensors: list
    channels: int
    writers: list = field(default_factory=list)
    readers: list = field(default_factory=list)
    vectors: list = field(default_factory=list)


def _homogeneous(node):
    activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
    return activation is None or activation.function in _HOMOGENEOUS


def _passes(graph, node):
    """Whether a factor of each channel goes through the node as it is; its operands' channels and
    its result's are the same."""
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
    """Whether the node only flattens a map for layers that are fully connected."""
    readers = graph.readers(node.output)
    return (
        isinstance(node, Reshape)
        and len(node.shape) == 1
        and node.output not in graph.kept()
        and readers
        and all(isinstance(reader, Dense) and not reader.steps for reader in readers)
    )


def channel_classes(graph, fixed=()):
    """Every :class:`ChannelClass` of a graph whose factors are free.

    Parameters
    ----------
    fixed : names of tensors that must stay as they are, beside the network's inputs and outputs
    """
    flowing = [
        name for name, tensor in graph.tensors.items() if tensor.data is None and tensor.shape
    ]
    joined, held = Joined(flowing), {*fixed, *graph.kept(), *(port.tensor for port in graph.inputs)}
    flat = {}
    for node in graph.nodes:
        if weighted(node):
            joined.join([*node.inputs[1:], node.output])
            held |= set() if _homogeneous(node) else {node.output}
        elif _flattened(graph, node):
            flat[node.output] = node.inputs[0]
        elif _passes(graph, node):
            joined.join([*node.inputs, node.output])
        else:
            held |= {*node.inputs, node.output}
    classes = {}
    for one, tensors in joined.sets().items():
        sizes = {graph.shape(name)[-1] for name in tensors}
        if not held & set(tensors) and len(sizes) == 1:
            classes[one] = ChannelClass(tensors, sizes.pop())
    for vector, source in flat.items():
        if joined.find(source) in classes:
            classes[joined.find(source)].vectors.append(vector)
    for node in filter(weighted, graph.nodes):
        if joined.find(node.output) in classes:
            classes[joined.find(node.output)].writers.append(node.name)
        source = flat.get(node.inputs[0], node.inputs[0])
        if joined.find(source) in classes:
            classes[joined.find(source)].readers.append((node.name, source))
    return [found for found in classes.values() if found.writers and found.readers]
