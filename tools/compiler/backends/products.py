# SPDX-License-Identifier: BSD-2-Clause
"""Products of two tensors that both flow, as machines see them: which shapes, and a second operand
that is turned anyway."""

from dataclasses import replace

from ..graph import Graph, MatMul, Transpose

__all__ = ["against_product", "join_turned", "turns"]


def turns(graph, node):
    """Whether a Transpose swaps the last two axes of two or three and leaves the first of three."""
    return (
        isinstance(node, Transpose)
        and tuple(node.order) in ((1, 0), (0, 2, 1))
        and len(node.order) == len(graph.shape(node.inputs[0]))
    )


def against_product(graph, node):
    """Reason why a MatMul is no product of two matrices, or of as many pairs of matrices, that
    flow; ``None`` if it is."""
    first, second = (graph.shape(name) for name in node.inputs)
    if any(graph.tensors[name].data is not None for name in node.inputs):
        return "a product with a constant, two tensors that flow are taken"
    if len(first) != len(second) or len(first) not in (2, 3) or first[:-2] != second[:-2]:
        return (
            f"a product of shapes {first} and {second}, two matrices or as many pairs of them "
            f"are taken"
        )
    return None


def join_turned(graph):
    """A new graph: a product whose second operand is another tensor turned reads that one
    (:class:`~..graph.MatMul`, ``turned``); a Transpose that nobody reads then is gone."""
    makers = {node.output: node for node in graph.nodes}
    nodes = []
    for node in graph.nodes:
        if isinstance(node, MatMul) and not node.turned:
            move = makers.get(node.inputs[1])
            if move is not None and turns(graph, move):
                node = replace(node, inputs=[node.inputs[0], move.inputs[0]], turned=True)
        nodes.append(node)
    read = {name for node in nodes for name in node.inputs} | graph.kept()
    nodes = [node for node in nodes if not isinstance(node, Transpose) or node.output in read]
    used = {name for node in nodes for name in (*node.inputs, node.output)} | {
        port.tensor for port in (*graph.inputs, *graph.outputs)
    }
    return Graph(
        graph.name,
        list(graph.inputs),
        list(graph.outputs),
        nodes,
        {name: tensor for name, tensor in graph.tensors.items() if name in used},
    )
