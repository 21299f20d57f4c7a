# SPDX-License-Identifier: BSD-2-Clause
"""Range analysis: facts about a tensor's values that follow from the graph alone."""

from collections.abc import Callable

from .graph import Activation, AveragePool, MaxPool, Movement, Node, Softmax

__all__ = ["never_negative"]

_POSITIVE = {"relu", "sigmoid", "hard_sigmoid", "exp", "sqrt", "abs"}


def _positive(activation):
    return activation.function in _POSITIVE or activation.function == "clip" and activation.low >= 0


def never_negative(maker: Callable[[str], Node | None], tensor: str) -> bool:
    """Whether no element of a tensor can be negative.

    Parameters
    ----------
    maker : function of a tensor's name that gives the node that makes it, or ``None``
    """
    todo, seen = [tensor], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        node = maker(name)
        if (
            isinstance(node, Activation)
            and _positive(node)
            or isinstance(node, Softmax)
            and not node.log
        ):
            continue
        activation = getattr(node, "activation", None)
        if activation is not None and _positive(activation):
            continue
        if not isinstance(node, Movement | MaxPool | AveragePool) or getattr(node, "value", 0) < 0:
            return False
        if isinstance(node, AveragePool) and node.bias is not None:
            return False
        todo += node.inputs
    return True
