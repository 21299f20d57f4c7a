# SPDX-License-Identifier: BSD-2-Clause
"""Tensors that belong together: groups that must share one scale, with the width of each, and
classes whose channels can be rescaled together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.base import LoweringError
from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MatMul,
    MaxPool,
    Movement,
    Node,
    Reduce,
    Reshape,
)
from .integers import weighted

if TYPE_CHECKING:
    from ..quantised import Arithmetic

__all__ = ["ChannelClass", "Groups", "UnionFind", "channel_classes", "tied", "widths"]


#: Functions that change no number but its sign, or cut it.
_SCALE_FREE = ("relu", "leaky", "clip", "abs", "neg")


class UnionFind:
    """Union-find over names."""

    def __init__(self, names: Iterable[Any]):
        self._above = {name: name for name in names}

    def find(self, name: Any) -> Any:
        """Representative of the set that contains ``name``."""
        while self._above[name] != name:
            self._above[name] = name = self._above[self._above[name]]
        return name

    def join(self, names: Iterable[Any]) -> None:
        """Merges the sets of ``names``."""
        names = list(names)
        for name in names[1:]:
            self._above[self.find(name)] = self.find(names[0])

    def names(self) -> list[Any]:
        """All names, in insertion order."""
        return list(self._above)

    def sets(self) -> dict[Any, list[Any]]:
        """All sets, representative -> names, in insertion order."""
        result: dict[Any, list[Any]] = {}
        for name in self._above:
            result.setdefault(self.find(name), []).append(name)
        return result


def tied(node: Node, arithmetic: Arithmetic) -> list[str]:
    """Names of the tensors of ``node`` that must share one scale."""
    if isinstance(node, Affine | Conv | Dense):
        return [*node.inputs[1:], node.output] if arithmetic.equal_scales else []
    free = (
        isinstance(node, Activation)
        and node.function in _SCALE_FREE
        or isinstance(node, Reduce)
        and node.function == "max"
    )
    if free or isinstance(node, Movement | MaxPool):
        return [*node.inputs, node.output]
    if isinstance(node, Binary | MatMul) and getattr(node, "function", "mul") in ("mul", "div"):
        return []
    return (
        [*node.inputs, node.output]
        if arithmetic.equal_scales or arithmetic.same_scale or arithmetic.power_of_two
        else []
    )


class Groups:
    """Partition of a graph's tensors by common scale.

    Parameters
    ----------
    graph : Graph, legalised
    arithmetic : dict, node name -> Arithmetic
    alike : groups of tensors that have one scale besides, as the two ends of a state

    Attributes
    ----------
    members : dict, name that stands for a group -> its tensors, constants among them
    """

    def __init__(
        self,
        graph: Graph,
        arithmetic: Mapping[str, Arithmetic],
        alike: Iterable[Sequence[str]] = (),
    ):
        self._joined = UnionFind(graph.tensors)
        for node in graph.nodes:
            self._joined.join(tied(node, arithmetic[node.name]))
        for names in alike:
            self._joined.join(name for name in names if name in graph.tensors)
        self.members = self._joined.sets()

    def of(self, tensor: str) -> str:
        """The representative of a tensor's group."""
        return self._joined.find(tensor)


def _read(arithmetic):
    return set(arithmetic.reads or (arithmetic.bits,))


def widths(
    graph: Graph, arithmetic: Mapping[str, Arithmetic], groups: Groups, bits: int | None = None
) -> dict[str, int]:
    """Chooses the width of every group, by its representative: one that its producers offer and its
    readers accept, in the producers' order of preference.

    Parameters
    ----------
    bits : int or ``None``: the width to take wherever it may be taken

    Raises
    ------
    LoweringError
        No width suits all.
    """
    result = {}
    for name, tensors in groups.members.items():
        members = set(tensors)
        wanted: list[int] = []
        allowed: set[int] | None = None
        text: list[str] = []
        against: str | None = None
        for node in graph.nodes:
            numbers = arithmetic[node.name]
            for can, how in (
                (set(numbers.out_bits) if node.output in members else None, "gives"),
                (_read(numbers) if members & set(node.inputs) else None, "takes"),
            ):
                if can is not None:
                    allowed = can if allowed is None else allowed & can
                    if not allowed and against is None:
                        against = node.name
                    text.append(f"{node.name} {how} {'/'.join(map(str, sorted(can)))}")
            if node.output in members:
                wanted += numbers.out_bits
            elif members & set(node.inputs):
                wanted += numbers.reads or (numbers.bits,)
        if allowed is None:
            allowed, wanted = {8}, [8]  # a tensor that no node makes or reads
        if not allowed:
            raise LoweringError(
                f"tensor {tensors[0]}: no width of numbers suits all: {', '.join(text)}", against
            )
        result[name] = (
            bits
            if bits is not None and bits in allowed
            else next(width for width in wanted if width in allowed)
        )
    return result


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
    clipped : dict, name of one of the tensors -> upper bound of the clip that makes it
    """

    tensors: dict[str, np.ndarray]
    channels: int
    held: np.ndarray
    writers: list[str] = field(default_factory=list)
    readers: list[tuple[str, str]] = field(default_factory=list)
    vectors: dict[str, str] = field(default_factory=dict)
    clipped: dict[str, float] = field(default_factory=dict)


def _activation(node):
    return node if isinstance(node, Activation) else getattr(node, "activation", None)


def _upper_bound(activation):
    """Upper bound of a clip that begins at zero, else ``None``."""
    clips = activation is not None and activation.function == "clip" and activation.low == 0
    return activation.high if clips and activation.high > 0 else None


def _homogeneous(node):
    """Whether a positive factor passes through the activation of a node; through a clip a factor
    with which its channel stays below the bound."""
    activation = _activation(node)
    return (
        activation is None
        or activation.function in _HOMOGENEOUS
        or _upper_bound(activation) is not None
    )


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
    for node in graph.nodes:
        bound = _upper_bound(_activation(node))
        if bound is not None and node.output in found:
            found[node.output].clipped[node.output] = bound
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
