# SPDX-License-Identifier: BSD-2-Clause
"""Recognition of layer normalisations that a model computes by means, differences and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..graph import Activation, Affine, Binary, LayerNorm, Node, Reduce

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["recognise_layer_norm"]


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
