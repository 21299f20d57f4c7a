# SPDX-License-Identifier: BSD-2-Clause
"""Recognition of operators that a model computes in several nodes: layer normalisation, global
pooling, and recurrent layers whose last state alone is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Gru,
    LayerNorm,
    Lstm,
    MaxPool,
    Node,
    Reduce,
    Reshape,
    Slice,
)

if TYPE_CHECKING:
    from .rewriting import Editor

__all__ = ["pool_reductions", "recognise_layer_norm", "take_last_state"]


def _binary(editor, tensor, function):
    node = editor.maker(tensor, Binary)
    return (
        node if node is not None and node.function == function and node.activation is None else None
    )


def _mean(editor, tensor):
    """Source of a mean over the last axis with the axis kept; else ``None``."""
    node = editor.maker(tensor, Reduce)
    if node is None or node.function != "mean" or not node.keep:
        return None
    last = len(editor.shape(node.inputs[0])) - 1
    return node.inputs[0] if [axis % (last + 1) for axis in node.axes] == [last] else None


def _epsilon(editor, tensor):
    """Source and addend of an addition of a small number."""
    node = editor.maker(tensor, Affine)
    if (
        node is not None
        and node.activation is None
        and np.all(node.scale == 1)
        and np.size(node.shift) == 1
    ):
        return node.inputs[0], float(np.reshape(node.shift, ()))
    node = _binary(editor, tensor, "add")
    if node is not None:
        for source, other in (node.inputs, node.inputs[::-1]):
            data = editor.data(other)
            if data is not None and data.size == 1:
                return source, float(data.reshape(()))
    return None, 0.0


def recognise_layer_norm(editor: Editor, node: Node) -> bool:
    """Recognises (x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + epsilon)."""
    if not isinstance(node, Binary) or node.function != "div" or node.activation is not None:
        return False
    centred, spread = node.inputs
    difference, root = _binary(editor, centred, "sub"), editor.maker(spread, Activation)
    if (
        difference is None
        or root is None
        or root.function != "sqrt"
        or _mean(editor, difference.inputs[1]) != difference.inputs[0]
    ):
        return False
    variance, epsilon = _epsilon(editor, root.inputs[0])
    square = variance and _mean(editor, variance)
    square = square and _binary(editor, square, "mul")
    if not square or square.inputs != [centred, centred]:
        return False
    channels = editor.shape(centred)[-1]
    editor.put(
        LayerNorm(
            name=node.name,
            inputs=[difference.inputs[0]],
            output=node.output,
            origin="LayerNormalization",
            epsilon=epsilon,
            scale=np.ones(channels),
            shift=np.zeros(channels),
        )
    )
    return True


def pool_reductions(editor: Editor, node: Node) -> bool:
    """Converts mean or maximum over all rows and columns to pooling."""
    shape = editor.shape(node.inputs[0])
    if not isinstance(node, Reduce) or node.function not in ("mean", "max") or len(shape) != 3:
        return False
    axes = {axis % 3 for axis in node.axes}
    if 2 in axes or any(shape[axis] > 1 for axis in {0, 1} - axes):
        return False
    kind = AveragePool if node.function == "mean" else MaxPool
    window: dict[str, Any] = {
        "window": tuple(shape[:2]),
        "stride": (1, 1),
        "inputs": node.inputs,
        "origin": node.origin,
    }
    if editor.shape(node.output) == (1, 1, shape[2]):
        editor.put(kind(name=node.name, output=node.output, **window))
        return True
    name, output = (
        editor.unused(f"{node.name}_pool", editor.nodes),
        editor.unused(f"{node.output}_pool", editor.tensors),
    )
    editor.put_before(node, kind(name=name, output=output, **window))
    editor.put(
        Reshape(
            name=node.name,
            inputs=[output],
            output=node.output,
            origin=node.origin,
            shape=editor.shape(node.output),
        )
    )
    return True


def take_last_state(editor: Editor, node: Node) -> bool:
    """Makes a recurrent layer return only its last state, if no other state is read."""
    if not isinstance(node, Slice):
        return False
    layer = editor.sole_source(node, Lstm | Gru)
    if layer is None or layer.last:
        return False
    steps, hidden = editor.shape(layer.output)
    end = 0 if layer.reverse else steps - 1
    if editor.shape(node.output) != (1, hidden) or node.start[0] != end:
        return False
    if not editor.keep_grid(layer.output, node.output):
        return False
    state = editor.unused(f"{node.output}_state", editor.tensors)
    editor.tensors[state] = replace(editor.tensors[node.output], name=state, shape=(hidden,))
    editor.put(replace(layer, output=state, last=True))
    editor.put(
        Reshape(
            name=node.name,
            inputs=[state],
            output=node.output,
            origin=node.origin,
            shape=(1, hidden),
        )
    )
    return True
