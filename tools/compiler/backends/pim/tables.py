# SPDX-License-Identifier: BSD-2-Clause
"""Sigmoid and tanh by table lookup, which requires certain scales of source and result
(docs/isa/pim.md, section 4.3)."""

from dataclasses import replace

import numpy as np

from ...graph import Activation, Conv, Dense, Graph, Gru, Lstm, Node, Tensor

__all__ = ["TABLES", "run_table", "table_steps", "with_rescaling", "wants_too_much"]

#: Function -> instruction.
TABLES = {"sigmoid": "vsigm", "tanh": "vtanh"}
#: Elements of a vector that a matrix of ones turns into other units, at most.
_MOST = 256
_TANH = np.floor(np.tanh(np.arange(514) / 64) * 65536 + 0.5).astype(np.int64)


def table_steps(bits: int) -> tuple[float, float]:
    """Scales that the table instructions require for tensors of ``bits``, which select the number
    formats: (scale of the source, scale of the result)."""
    return 2.0 ** -max(bits - 4, 0), 2.0 ** -(bits - 1)


def run_table(function: str, x: np.ndarray, bits: int) -> np.ndarray:
    """Integer reference of the table instruction for ``x`` of ``bits``, int64."""
    read, given = max(bits - 4, 0), bits - 1
    x = np.asarray(x, np.int64)
    places = (16 if function == "tanh" else 15) - read
    u = np.abs(x) << places if places >= 0 else np.abs(x) >> -places
    at = np.minimum(u >> 10, 512)
    t = np.where(
        u >= 1 << 19, 65536, _TANH[at] + ((_TANH[at + 1] - _TANH[at]) * (u & 1023) + 512 >> 10)
    )
    if function == "tanh":
        size = t << given - 16 if given >= 16 else t + (1 << 15 - given) >> 16 - given
        y = np.where(x < 0, -size, size)
    else:
        y = (65536 + np.where(x < 0, -t, t) << given) + 65536 >> 17
    return np.clip(y, -(1 << bits - 1), (1 << bits - 1) - 1)


def _is_table(node):
    """Whether a table lookup computes the node; a recurrent layer is excluded, since it reads its
    own sums."""
    return isinstance(node, Lstm | Gru) or isinstance(node, Activation) and node.function in TABLES


def _shared_scales(graph, node):
    """Whether the source and the result of a table lookup share their scales with other tensors;
    each that does needs a product with one in between."""
    source, outputs = node.inputs[0], {port.tensor for port in graph.outputs}
    maker = graph.maker(source)
    before = not isinstance(node, Lstm | Gru) and (
        len(graph.readers(source)) > 1
        or source in outputs
        or not (maker is None or isinstance(maker, Conv | Dense))
    )
    after = any(
        not isinstance(reader, Conv | Dense | Lstm | Gru) for reader in graph.readers(node.output)
    )
    return before, after


def wants_too_much(graph: Graph, node: Node) -> bool:
    """Whether a vector is too long to be rescaled by a product with one."""
    shape = graph.shape(node.output)
    return any(_shared_scales(graph, node)) and len(shape) < 3 and shape[-1] > _MOST


def with_rescaling(graph: Graph) -> Graph:
    """Inserts products with one as rescaling beside each table lookup whose neighbours cannot have
    the required scales; returns a new graph."""
    nodes, tensors = [], dict(graph.tensors)

    def unit(name, source, output, node):
        shape = graph.shape(node.output)
        common = {"name": name, "inputs": [source], "output": output, "origin": node.origin}
        if len(shape) == 3:
            return Conv(**common, weights=np.ones((shape[2], 1, 1, 1)), groups=shape[2])
        return Dense(**common, weights=np.eye(shape[-1]), steps=len(shape) == 2)

    for node in graph.nodes:
        if not _is_table(node):
            nodes.append(node)
            continue
        before, after = _shared_scales(graph, node)
        source, output = node.inputs[0], node.output
        if before:
            source = f"{node.name}:in"
            tensors[source] = Tensor(source, graph.shape(node.inputs[0]))
            nodes.append(unit(f"{node.name}:unit", node.inputs[0], source, node))
        if after:
            output = f"{node.name}:out"
            tensors[output] = Tensor(output, graph.shape(node.output))
        nodes.append(replace(node, inputs=[source], output=output))
        if after:
            nodes.append(unit(f"{node.name}:result", output, node.output, node))
    return replace(graph, nodes=nodes, tensors=tensors)
