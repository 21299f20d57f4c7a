# SPDX-License-Identifier: BSD-2-Clause
"""Caches of rows, as of keys and values, on cores that do not join and cut rows by address: a row
that enters and the rows that stay are zero-padded maps, which are added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph import Concat, Graph, Node, Reshape, Slice
from .padded import as_padded

if TYPE_CHECKING:
    from ..backends.base import Backend

__all__ = ["with_caches"]


def with_caches(graph: Graph, backend: Backend) -> Graph:
    """Chooses the form of a network's concatenations of rows that suits a core: the given one if
    the core runs them, sums of padded maps if it runs more nodes then, also with convolutions in
    place of slices. Results are equal."""
    moved = {node.name for node in graph.nodes if _is_of_rows(graph, node)}
    if not any(isinstance(node, Concat) and node.name in moved for node in graph.nodes):
        return graph
    forms: tuple[Callable[[Graph], Graph], ...] = (
        lambda whole: whole,
        as_padded,
        lambda whole: as_padded(_as_maps(whole)),
        lambda whole: as_padded(_as_maps(whole), convolutions=True),
    )
    found = []
    for form in forms:
        made = form(graph)
        found.append((_refused(made, backend), made))
        if not found[-1][0]:
            break
    return min(found, key=lambda one: one[0])[1]


def _refused(graph, backend):
    """Number of nodes that do not suit the core."""
    return sum(not backend.suits(graph, node) for node in graph.nodes)


def _is_of_rows(graph, node):
    """Whether a node joins or cuts rows of a matrix."""
    shape = graph.shape(node.output)
    if len(shape) != 2:
        return False
    if isinstance(node, Concat):
        return node.axis % 2 == 0
    return isinstance(node, Slice) and shape[1] == graph.shape(node.inputs[0])[1]


def _as_maps(graph: Graph) -> Graph:
    """Lets nodes that join or cut rows of matrices work on maps of one row of positions."""
    tensors = dict(graph.tensors)
    nodes: list[Node] = []

    def reshaped(name: str, source: str, target: str, shape: tuple[int, ...]) -> None:
        tensors.setdefault(target, replace(tensors[source], name=target, shape=shape))
        nodes.append(Reshape(name=name, inputs=[source], output=target, shape=shape))

    for node in graph.nodes:
        if not _is_of_rows(graph, node):
            nodes.append(node)
            continue
        operands = []
        for number, source in enumerate(node.inputs):
            name = f"{node.name}:rows{number}"
            operands.append(name)
            reshaped(name, source, name, (1, *graph.shape(source)))
        shape = graph.shape(node.output)
        result = f"{node.output}:map"
        tensors[result] = replace(tensors[node.output], name=result, shape=(1, *shape))
        nodes.append(_as_map(node, operands, result, shape[1]))
        reshaped(f"{node.name}:matrix", result, node.output, shape)
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), nodes, tensors)


def _as_map(node: Node, operands: list[str], result: str, width: int) -> Node:
    """A node that joins or cuts rows of ``width`` elements, as one of maps."""
    if isinstance(node, Slice):
        return replace(
            node,
            inputs=operands,
            output=result,
            start=(0, node.start[0], 0),
            stop=(1, node.stop[0], width),
            step=(1, node.step[0], 1),
        )
    assert isinstance(node, Concat)
    return replace(node, inputs=operands, output=result, axis=1)
