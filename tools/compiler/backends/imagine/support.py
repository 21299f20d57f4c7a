# SPDX-License-Identifier: BSD-2-Clause
"""Support checks of IMAGine: the array multiplies matrices by vectors, the host does the rest."""

import numpy as np

from ...graph import Conv, Dense, Graph, Lstm, Node
from ..base import BETWEEN, DECOMPOSED, HOST, NATIVE, Support

__all__ = ["check_support"]

#: Positions of a convolution, and steps of an LSTM, beyond which the host is the better place: each
#: is a matrix times a vector, with its own words in the program.
_MANY_POSITIONS, _MANY_STEPS = 256, 64


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
        return Support(
            DECOMPOSED,
            f"{positions} gathered neighbourhoods, each a matrix times a vector",
            costly=positions > _MANY_POSITIONS,
        )
    if isinstance(node, Lstm):
        steps = graph.shape(node.inputs[0])[0]
        return Support(
            DECOMPOSED,
            f"{steps} steps, the gates' functions on the host",
            costly=steps > _MANY_STEPS,
        )
    return Support(BETWEEN, "between layers the values are on the host")
