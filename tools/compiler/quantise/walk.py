# SPDX-License-Identifier: BSD-2-Clause
"""Network layer by layer, in float and in the machine's numbers side by side: each layer is chosen
on what the machine makes of those before it."""

import numpy as np

from ..evaluate import run_node
from ..graph import Graph, Port, Tensor
from ..quantised import Quantised

__all__ = ["Walk", "alone", "copy_of"]


def alone(graph, node):
    """Graph of one node of ``graph``: its inputs that flow, its output."""
    tensors = {name: graph.tensors[name] for name in [*node.inputs, node.output]}
    flowing = list(dict.fromkeys(name for name in node.inputs if tensors[name].data is None))

    def port(name):
        shape = tuple(tensors[name].shape)
        return Port(name, name, tuple(range(len(shape))), shape)

    return Graph(node.name, [port(name) for name in flowing], [port(node.output)], [node], tensors)


class Walk:
    """Values of the tensors that are still to be read.

    Parameters
    ----------
    graph : Graph
    backend : Backend
    inputs : dict, tensor name -> float64 array

    Attributes
    ----------
    real, whole : dict, tensor name -> float64 values, the machine's whole numbers
    """

    def __init__(self, graph, backend, inputs):
        self.graph, self.backend = graph, backend
        self.real, self.whole = dict(inputs), {}
        self._last = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}

    def operand(self, name):
        """Real values of an input of a node, a constant with an axis of one input."""
        data = self.graph.tensors[name].data
        return self.real[name] if data is None else data[None]

    def run_real(self, node):
        """Computes the node in float."""
        with np.errstate(all="ignore"):
            value = run_node(node, *(self.operand(name) for name in node.inputs))
        count = len(next(iter(self.real.values())))
        self.real[node.output] = np.broadcast_to(value, (count, *value.shape[1:]))

    def run_whole(self, node, quantised):
        """Computes the node in the machine's numbers: by the back end's reference, on a graph of
        this node alone."""
        single = alone(self.graph, node)
        one = Quantised(graph=single, scales=quantised.scales, layers=quantised.layers)
        result = self.backend.reference(
            one, {port.tensor: self.whole[port.tensor] for port in single.inputs}
        )
        self.whole[node.output] = np.asarray(result[node.output])
        return self.whole[node.output]

    def forget(self, index):
        """Drops what no node behind the one of this ``index`` reads."""
        node = self.graph.nodes[index]
        for name in {*node.inputs, node.output}:
            if self._last.get(name, index) <= index:
                self.real.pop(name, None)
                self.whole.pop(name, None)


def copy_of(graph):
    """The graph with lists and tensors of its own."""
    tensors = {name: Tensor(**vars(tensor)) for name, tensor in graph.tensors.items()}
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), list(graph.nodes), tensors)
