# SPDX-License-Identifier: BSD-2-Clause
"""Recognition of reductions over rows and columns as global pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph import AveragePool, MaxPool, Node, Reduce, Reshape

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["pool_reductions"]


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
