# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of IMAGine: the array multiplies matrices by vectors, the host does the rest."""

import numpy as np

from ...graph import Conv, Dense, Graph, Lstm, Node
from ..base import BETWEEN, DECOMPOSED, HOST, NATIVE, Support

__all__ = ["check_support"]

#: Positions of a convolution, and steps of an LSTM, that are taken: each is a matrix times a
#: vector, with its own words in the program.
_MOST_POSITIONS, _MOST_STEPS = 256, 64


def check_support(graph: Graph, node: Node) -> Support:
    """Support check of one node."""
    if isinstance(node, Dense):
        return (
            Support(NATIVE)
            if node.activation is None
            else Support(DECOMPOSED, f"{node.activation.function} on the host")
        )
    if isinstance(node, Conv):
        if node.groups > 1:
            return Support(
                HOST,
                f"groups = {node.groups}: expected 1, since the array multiplies whole matrices",
            )
        positions = int(np.prod(graph.shape(node.output)[:-1]))
        if positions > _MOST_POSITIONS:
            return Support(
                HOST,
                f"{positions} positions, each a matrix times a vector: expected at most "
                f"{_MOST_POSITIONS}",
            )
        return Support(
            DECOMPOSED, f"{positions} gathered neighbourhoods, each a matrix times a vector"
        )
    if isinstance(node, Lstm):
        steps = graph.shape(node.inputs[0])[0]
        if steps > _MOST_STEPS:
            return Support(HOST, f"{steps} steps: expected at most {_MOST_STEPS}")
        return Support(DECOMPOSED, f"{steps} steps, the gates' functions on the host")
    return Support(BETWEEN, "between layers the values are on the host")
