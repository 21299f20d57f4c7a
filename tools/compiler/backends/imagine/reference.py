# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of IMAGine."""

from collections.abc import Mapping

import numpy as np

from ...quantised import Quantised
from .arithmetic import layer_of, wrapped

__all__ = ["run"]


def run(
    quantised: Quantised, inputs: Mapping[str, np.ndarray], width: int
) -> dict[str, np.ndarray]:
    """Computes every tensor of a segment: int64 [inputs, ...] by name."""
    values = {name: np.asarray(v, np.int64) for name, v in inputs.items()}
    for node in quantised.graph.nodes:
        layer, x = layer_of(quantised, node, width), values[node.inputs[0]]
        vectors = x.reshape(-1, layer.lengths[0])
        total = (
            np.zeros((len(vectors), layer.height), np.int64)
            if layer.bias is None
            else np.tile(layer.bias, (len(vectors), 1))
        )
        for k in range(layer.lengths[0]):
            # Every product loses its own fraction, toward minus infinity.
            products = vectors[:, k : k + 1] * layer.weights[0][:, k] >> layer.fraction
            total += wrapped(products, width)
        shape = quantised.graph.shape(node.output)
        values[node.output] = wrapped(total, width).reshape(len(x), *shape)
    return values
