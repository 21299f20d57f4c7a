# SPDX-License-Identifier: BSD-2-Clause
"""Constant folding and removal of no-ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..evaluate import run_node
from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Concat,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Slice,
    Transpose,
)

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["fold_constants", "remove_no_ops"]


def fold_constants(editor: Editor, node: Node) -> bool:
    """Replaces a node by a constant if all its operands are constants."""
    constants = [editor.data(name) for name in node.inputs]
    values = [value for value in constants if value is not None]
    if len(values) < len(constants) or editor.kept(node.output):
        return False
    with np.errstate(all="ignore"):
        result = run_node(node, *(value[None] for value in values))[0]
    editor.remove(node)
    editor.tensors[node.output].data = np.ascontiguousarray(result)
    return True


def _does_nothing(editor, node):
    shape = editor.shape(node.inputs[0])
    if getattr(node, "activation", None) is not None:
        return False
    if isinstance(node, Reshape):
        return tuple(node.shape) == shape
    if isinstance(node, Transpose):
        return list(node.order) == list(range(len(shape)))
    if isinstance(node, Slice):
        return editor.shape(node.output) == shape and all(step == 1 for step in node.step)
    if isinstance(node, Pad):
        return not any((*node.before, *node.after))
    if isinstance(node, MaxPool | AveragePool):
        return tuple(node.window) == tuple(node.stride) == (1, 1) and not any(node.padding)
    if isinstance(node, Affine):
        return bool(np.all(node.scale == 1) and np.all(node.shift == 0))
    if isinstance(node, Activation):
        return (
            node.function == "clip"
            and node.low == -np.inf
            and node.high == np.inf
            or node.function == "leaky"
            and node.alpha == 1
        )
    return isinstance(node, Concat) and len(node.inputs) == 1


def remove_no_ops(editor: Editor, node: Node) -> bool:
    """Removes a node whose result equals its source."""
    if editor.data(node.inputs[0]) is not None or not _does_nothing(editor, node):
        return False
    editor.bypass(node, node.inputs[0])
    return True
