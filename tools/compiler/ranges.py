# SPDX-License-Identifier: BSD-2-Clause
"""What is known of a tensor's values without running anything."""

from .graph import Activation, AveragePool, Concat, MaxPool, Reshape, Slice, Softmax, Transpose

__all__ = ["never_negative"]

_POSITIVE = {"relu", "sigmoid", "hard_sigmoid", "exp", "sqrt", "abs"}


def _positive(activation):
    return activation.function in _POSITIVE or activation.function == "clip" and activation.low >= 0


def never_negative(maker, tensor):
    """Whether no element of a tensor can be below zero.

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
        if getattr(node, "activation", None) is not None and _positive(node.activation):
            continue
        if not isinstance(node, MaxPool | AveragePool | Reshape | Transpose | Concat | Slice):
            return False
        todo += node.inputs
    return True
