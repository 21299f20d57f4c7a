# SPDX-License-Identifier: BSD-2-Clause
"""Range analysis: facts about a tensor's values that follow from the graph alone."""

from collections.abc import Callable

import numpy as np

from .graph import Activation, AveragePool, MaxPool, Movement, Node, Pad, Softmax

__all__ = ["bounds", "never_negative"]

_EVERY = -np.inf, np.inf
_OF_FUNCTIONS = {
    "relu": (0.0, np.inf),
    "exp": (0.0, np.inf),
    "sqrt": (0.0, np.inf),
    "abs": (0.0, np.inf),
    "sigmoid": (0.0, 1.0),
    "hard_sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
}


def _own(node):
    """Bounds of a node's result by its function; ``None`` if they are those of its operands."""
    activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
    if activation is not None:
        if activation.function == "clip":
            return activation.low, activation.high
        return _OF_FUNCTIONS.get(activation.function, _EVERY)
    if isinstance(node, Softmax) and not node.log:
        return 0.0, 1.0
    passes = isinstance(node, Movement | MaxPool)
    passes |= isinstance(node, AveragePool) and node.bias is None
    return None if passes else _EVERY


def bounds(maker: Callable[[str], Node | None], tensor: str) -> tuple[float, float]:
    """Bounds of a tensor's elements, infinite where the graph does not tell them.

    Parameters
    ----------
    maker : function of a tensor's name that gives the node that makes it, or ``None``
    """
    found, todo, seen = [], [tensor], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        node = maker(name)
        own = _own(node)
        if own is not None:
            found.append(own)
            continue
        assert node is not None
        todo += node.inputs
        if isinstance(node, Pad):
            found.append((node.value, node.value))
        elif isinstance(node, AveragePool) and any(node.padding):
            found.append((0.0, 0.0))
    return min(low for low, _ in found), max(high for _, high in found)


def never_negative(maker: Callable[[str], Node | None], tensor: str) -> bool:
    """Whether no element of a tensor can be negative; ``maker`` as in :func:`bounds`."""
    return bounds(maker, tensor)[0] >= 0
