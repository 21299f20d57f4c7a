# SPDX-License-Identifier: BSD-2-Clause
"""Recurrent layers of which the last state alone is used."""

from dataclasses import replace

from ..graph import Gru, Lstm, Reshape, Slice

__all__ = ["take_last_state"]


def take_last_state(editor, node):
    """A layer of which only the state behind the last step is read gives that state alone."""
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
