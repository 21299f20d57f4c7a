# SPDX-License-Identifier: BSD-2-Clause
"""Activations: plainer ones, several in a row, and into the layer in front."""

from dataclasses import replace

import numpy as np

from ..graph import Activation, Affine, Binary, Conv, Dense

__all__ = ["fuse_activation", "merge_limits", "plainer_activation", "recognise_hard_swish"]

_FUSED = {"relu", "leaky", "clip"}


def _plain(activation):
    """The plainest activation that gives the same."""
    if (
        activation.function == "clip"
        and activation.low == 0
        and activation.high == np.inf
        or activation.function == "leaky"
        and activation.alpha == 0
    ):
        return replace(activation, function="relu", alpha=0.0, low=-np.inf, high=np.inf)
    return activation


def plainer_activation(editor, node):
    """Limits from zero on, and a slope of zero, are relu."""
    if not isinstance(node, Activation) or _plain(node) is node:
        return False
    editor.put(_plain(node))
    return True


def _limits(activation):
    """Lowest and highest value, of relu and clip."""
    if activation is None or activation.function not in ("relu", "clip"):
        return None
    return (0.0, np.inf) if activation.function == "relu" else (activation.low, activation.high)


def merge_limits(editor, node):
    """A limit behind a limit, which may be one that a layer holds itself, is one limit."""
    if not isinstance(node, Activation) or _limits(node) is None:
        return False
    first = editor.sole_source(node, Activation | Conv | Dense | Binary | Affine)
    inner = first if isinstance(first, Activation) else getattr(first, "activation", None)
    if inner is None or _limits(inner) is None:
        return False
    (low, high), (least, most) = _limits(inner), _limits(node)
    limit = {
        "function": "clip",
        "low": float(np.clip(low, least, most)),
        "high": float(np.clip(high, least, most)),
    }
    if first is inner:
        editor.join(first, node, **limit)
    else:
        editor.join(first, node, activation=_plain(replace(inner, **limit)))
    return True


def fuse_activation(editor, node):
    """Relu, leaky relu and limits into the layer whose result they take alone."""
    if not isinstance(node, Activation) or node.function not in _FUSED:
        return False
    layer = editor.sole_source(node, Conv | Dense | Binary | Affine)
    if layer is None or layer.activation is not None:
        return False
    editor.join(layer, node, activation=node)
    return True


def recognise_hard_swish(editor, node):
    """x times the hard sigmoid of x."""
    if not isinstance(node, Binary) or node.function != "mul" or node.activation is not None:
        return False
    for source, other in (node.inputs, node.inputs[::-1]):
        gate = editor.maker(other, Activation)
        if gate is not None and gate.function == "hard_sigmoid" and gate.inputs[0] == source:
            editor.put(
                Activation(
                    name=node.name,
                    inputs=[source],
                    output=node.output,
                    origin=f"{gate.origin}+{node.origin}",
                    function="hard_swish",
                    alpha=gate.alpha,
                    beta=gate.beta,
                )
            )
            return True
    return False
