# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products of two activations: shape checks, and fusion of a transposed second operand."""

from dataclasses import replace

from ..graph import Graph, MatMul, Transpose

__all__ = ["against_product", "join_turned", "turns"]


def turns(graph: Graph, node: Transpose) -> bool:
    """Whether a Transpose swaps the last two axes of two or three and leaves the first of three in
    place."""
    return (
        isinstance(node, Transpose)
        and tuple(node.order) in ((1, 0), (0, 2, 1))
        and len(node.order) == len(graph.shape(node.inputs[0]))
    )


def against_product(graph: Graph, node: MatMul) -> str | None:
    """Reason why a MatMul is not a product of two activation matrices, or of equally many pairs of
    them; ``None`` if it is."""
    first, second = (graph.shape(name) for name in node.inputs)
    if any(graph.tensors[name].data is not None for name in node.inputs):
        return "a product with a constant: expected two tensors that flow"
    if len(first) != len(second) or len(first) not in (2, 3) or first[:-2] != second[:-2]:
        return (
            f"a product of shapes {first} and {second}: expected two matrices or equally many "
            f"pairs of them"
        )
    return None


def join_turned(graph: Graph) -> Graph:
    """Fuses Transposes into the products that read them as second operand
    (:class:`~..graph.MatMul`, ``turned``); returns a new graph without Transposes that nobody
    reads."""
    makers = {node.output: node for node in graph.nodes}
    nodes = []
    for node in graph.nodes:
        if isinstance(node, MatMul) and not node.turned:
            move = makers.get(node.inputs[1])
            if isinstance(move, Transpose) and turns(graph, move):
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
