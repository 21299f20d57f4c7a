# SPDX-License-Identifier: BSD-2-Clause
"""Small test networks, each with one kind of node, for the units of any core with a compiler back
end."""

import numpy as np

from ..compiler import graph as g

__all__ = ["CONVOLUTION", "PRODUCTS", "networks"]

#: Subjects of the tests by the networks with a plain convolution, and with a dense layer.
CONVOLUTION, PRODUCTS = "convolution", "products of a matrix and a vector"


def networks(seed: int = 0) -> list[tuple[str, g.Graph]]:
    """Generates the test networks: pairs (unit under test, Graph). Weights and inputs are random
    with a fixed seed."""
    rng = np.random.default_rng(seed)

    def weights(*shape):
        return rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)

    def conv(groups):
        return {
            "weights": weights(16, 3, 3, 16 // groups),
            "bias": rng.normal(0, 0.1, 16),
            "padding": (1, 1, 1, 1),
            "groups": groups,
        }

    made = [
        (
            PRODUCTS,
            (128,),
            g.Dense,
            {"weights": weights(64, 128), "bias": rng.normal(0, 0.1, 64)},
        ),
        (CONVOLUTION, (6, 6, 16), g.Conv, conv(1)),
        ("depthwise convolution", (6, 6, 16), g.Conv, conv(16)),
        ("sum of two tensors", (6, 6, 16), g.Binary, {"function": "add"}),
        ("rectifier", (6, 6, 16), g.Activation, {"function": "relu"}),
        ("sigmoid", (64,), g.Activation, {"function": "sigmoid"}),
        ("hyperbolic tangent", (64,), g.Activation, {"function": "tanh"}),
        ("maxima", (6, 6, 16), g.MaxPool, {"window": (2, 2), "stride": (2, 2)}),
        ("averages", (4, 4, 16), g.AveragePool, {"window": (4, 4), "stride": (1, 1)}),
    ]
    return [
        (what, _network(what, shape, kind, attributes)) for what, shape, kind, attributes in made
    ]


def _network(name, shape, kind, attributes):
    graph = g.Graph(name)
    inputs = ["a", "b"] if kind is g.Binary else ["a"]
    for tensor in inputs:
        graph.tensors[tensor] = g.Tensor(tensor, shape)
        graph.inputs.append(g.Port(tensor, tensor, tuple(range(len(shape))), shape))
    node = kind(name="node", inputs=inputs, output="y", origin=kind.__name__, **attributes)
    result = node.shape_of(*(graph.shape(tensor) for tensor in inputs))
    graph.nodes.append(node)
    graph.tensors["y"] = g.Tensor("y", result)
    graph.outputs.append(g.Port("y", "y", tuple(range(len(result))), result))
    return graph
