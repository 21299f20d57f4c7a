# SPDX-License-Identifier: BSD-2-Clause
"""Execution of a network layer by layer, in float and in the core's integers side by side: each
layer is quantised on the core's results of the preceding layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate import run_node
from ..graph import Graph, Node, Port, Tensor
from ..quantised import Quantised

if TYPE_CHECKING:
    from ..backends.base import Backend

__all__ = ["Walk", "alone", "copy_of", "run_alone"]


def alone(graph: Graph, node: Node) -> Graph:
    """A graph of a single node of ``graph``, with its activation inputs and its output."""
    tensors = {name: graph.tensors[name] for name in [*node.inputs, node.output]}
    flowing = list(dict.fromkeys(name for name in node.inputs if tensors[name].data is None))

    def port(name):
        shape = tuple(tensors[name].shape)
        return Port(name, name, tuple(range(len(shape))), shape)

    return Graph(node.name, [port(name) for name in flowing], [port(node.output)], [node], tensors)


def run_alone(
    backend: Backend, quantised: Quantised, node: Node, numbers: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Result of one node in the core's numbers, by the back end's reference on a graph of this node
    alone; ``numbers`` of the activations that it reads."""
    single = alone(quantised.graph, node)
    one = Quantised(graph=single, scales=quantised.scales, layers=quantised.layers)
    result = backend.reference(one, {port.tensor: numbers[port.tensor] for port in single.inputs})
    return np.asarray(result[node.output])


class Walk:
    """Values of all tensors that later nodes still read.

    Parameters
    ----------
    graph : Graph
    backend : Backend
    inputs : dict, tensor name -> float64 array

    Attributes
    ----------
    real, whole : dict, tensor name -> float64 values, the core's whole numbers
    """

    def __init__(self, graph: Graph, backend: Backend, inputs: Mapping[str, np.ndarray]):
        self.graph, self.backend = graph, backend
        self.real = dict(inputs)
        self.whole: dict[str, np.ndarray] = {}
        self._last = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}

    def operand(self, name: str) -> np.ndarray:
        """Real values of an operand of a node; a constant gets a batch axis of one."""
        data = self.graph.tensors[name].data
        return self.real[name] if data is None else data[None]

    def run_real(self, node: Node) -> None:
        """Computes a node in floating point."""
        with np.errstate(all="ignore"):
            value = run_node(node, *(self.operand(name) for name in node.inputs))
        count = len(next(iter(self.real.values())))
        self.real[node.output] = np.broadcast_to(value, (count, *value.shape[1:]))

    def run_whole(self, node: Node, quantised: Quantised) -> np.ndarray:
        """Computes the node in the core's integers (:func:`run_alone`)."""
        self.whole[node.output] = run_alone(self.backend, quantised, node, self.whole)
        return self.whole[node.output]

    def forget(self, index: int) -> None:
        """Drops tensors that no node after ``index`` reads."""
        node = self.graph.nodes[index]
        for name in {*node.inputs, node.output}:
            if self._last.get(name, index) <= index:
                self.real.pop(name, None)
                self.whole.pop(name, None)


def copy_of(graph: Graph) -> Graph:
    """A copy of the graph whose lists and tensors can be changed independently."""
    tensors = {name: Tensor(**vars(tensor)) for name, tensor in graph.tensors.items()}
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), list(graph.nodes), tensors)
