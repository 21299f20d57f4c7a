# SPDX-License-Identifier: BSD-2-Clause
"""Simplification of recurrent layers of which only the last state is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..graph import Gru, Lstm, Node, Reshape, Slice

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["take_last_state"]


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
