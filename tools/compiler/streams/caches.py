# SPDX-License-Identifier: BSD-2-Clause
"""Caches of rows, as of keys and values, on cores that join and cut channels alone: a row that
enters and the rows that stay are zero-padded maps, which are added."""

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
    """Number of nodes that the core does not run."""
    return sum(not backend.check_support(graph, node).runs for node in graph.nodes)


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

    def reshaped(name, source, target):
        shape = tensors[source].shape
        tensors.setdefault(target, replace(tensors[source], name=target, shape=(1, *shape[-2:])))
        nodes.append(
            Reshape(name=name, inputs=[source], output=target, shape=tensors[target].shape)
        )

    for node in graph.nodes:
        if not _is_of_rows(graph, node):
            nodes.append(node)
            continue
        operands = []
        for number, name in enumerate(node.inputs):
            operands.append(f"{node.name}:rows{number}")
            reshaped(operands[-1], name, operands[-1])
        result = f"{node.output}:map"
        tensors[result] = replace(
            tensors[node.output], name=result, shape=(1, *graph.shape(node.output))
        )
        if isinstance(node, Concat):
            nodes.append(replace(node, inputs=operands, output=result, axis=1))
        else:
            width = graph.shape(node.output)[1]
            nodes.append(
                replace(
                    node,
                    inputs=operands,
                    output=result,
                    start=(0, node.start[0], 0),
                    stop=(1, node.stop[0], width),
                    step=(1, node.step[0], 1),
                )
            )
        nodes.append(
            Reshape(
                name=f"{node.name}:matrix",
                inputs=[result],
                output=node.output,
                shape=graph.shape(node.output),
            )
        )
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), nodes, tensors)
