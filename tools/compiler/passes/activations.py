# SPDX-License-Identifier: BSD-2-Clause
"""Activation passes: canonicalise, merge, and fuse into the preceding layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Activation, Affine, Binary, Concat, Conv, Dense, Node, Reshape, Tensor

if TYPE_CHECKING:
    from .editor import Editor

__all__ = [
    "fuse_activation",
    "lift_activation",
    "merge_limits",
    "plainer_activation",
    "recognise_hard_swish",
]

_FUSED = {"relu", "leaky", "clip"}


def _plain(activation):
    """The simplest activation with the same function."""
    if (
        activation.function == "clip"
        and activation.low == 0
        and activation.high == np.inf
        or activation.function == "leaky"
        and activation.alpha == 0
    ):
        return replace(activation, function="relu", alpha=0.0, low=-np.inf, high=np.inf)
    return activation


def plainer_activation(editor: Editor, node: Node) -> bool:
    """Canonicalises clips to [0, infinity) and leaky ReLUs of slope zero to relu."""
    if not isinstance(node, Activation) or _plain(node) is node:
        return False
    editor.put(_plain(node))
    return True


def _limits(activation):
    """Lower and upper bound of a relu or clip."""
    if activation is None or activation.function not in ("relu", "clip"):
        return None
    return (0.0, np.inf) if activation.function == "relu" else (activation.low, activation.high)


def merge_limits(editor: Editor, node: Node) -> bool:
    """Merges two consecutive relus or clips into one; the first may be fused into a layer."""
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


def fuse_activation(editor: Editor, node: Node) -> bool:
    """Fuses relu, leaky relu and clips into the layer whose only reader they are."""
    if not isinstance(node, Activation) or node.function not in _FUSED:
        return False
    layer = editor.sole_source(node, Conv | Dense | Binary | Affine)
    if layer is None or layer.activation is not None:
        return False
    editor.join(layer, node, activation=node)
    return True


def lift_activation(editor: Editor, node: Node) -> bool:
    """Moves an activation into the convolutions whose concatenated and reshaped results it reads
    (the phases of a transposed convolution)."""
    if not isinstance(node, Activation) or node.function not in _FUSED:
        return False
    last = editor.sole_source(node, Reshape | Concat)
    joined = last
    if isinstance(last, Reshape):
        joined = editor.sole_source(last, Concat)
    layers = [editor.maker(name, Conv) for name in joined.inputs] if joined is not None else []
    if not layers or any(
        layer is None or layer.activation is not None or editor.sole_reader(layer.output) is None
        for layer in layers
    ):
        return False
    # What held the sums keeps its name; what holds other values gets one of its own.
    editor.remove(node)
    inputs = []
    for layer in layers:
        inputs.append(_renamed(editor, layer.output))
        editor.put(replace(layer, output=inputs[-1], activation=node))
    if last is joined:
        editor.put(replace(joined, inputs=inputs, output=node.output))
    else:
        output = _renamed(editor, joined.output)
        editor.put(replace(joined, inputs=inputs, output=output))
        editor.put(replace(last, inputs=[output], output=node.output))
    return True


def _renamed(editor, tensor):
    """Copies a tensor under a new name."""
    name = editor.unused(f"{tensor}_activated", editor.tensors)
    editor.tensors[name] = Tensor(name, editor.shape(tensor))
    return name


def recognise_hard_swish(editor: Editor, node: Node) -> bool:
    """Recognises x times the hard sigmoid of x as hard swish."""
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
