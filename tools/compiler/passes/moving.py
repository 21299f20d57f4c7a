# SPDX-License-Identifier: BSD-2-Clause
"""Passes for Reshapes and Transposes: merged, moved towards the outputs, and absorbed by
consumers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Activation, Binary, Dense, Node, Reshape, Tensor, Transpose

if TYPE_CHECKING:
    from .editor import Editor

__all__ = [
    "merge_reshapes",
    "merge_transposes",
    "move_into_dense",
    "move_into_ports",
    "sink_transposes",
]


def merge_reshapes(editor: Editor, node: Node) -> bool:
    """Merges consecutive Reshapes; a Transpose that moves axes of length one only becomes a
    Reshape."""
    if isinstance(node, Transpose):
        shape = editor.shape(node.inputs[0])
        long = [axis for axis in node.order if shape[axis] > 1]
        if long != sorted(long) or list(node.order) == sorted(node.order):
            return False
        editor.put(
            Reshape(
                name=node.name,
                inputs=node.inputs,
                output=node.output,
                origin=node.origin,
                shape=editor.shape(node.output),
            )
        )
        return True
    first = editor.maker(node.inputs[0], Reshape) if isinstance(node, Reshape) else None
    if first is None:
        return False
    editor.swallow(first, node)
    return True


def merge_transposes(editor: Editor, node: Node) -> bool:
    """Merges two consecutive Transposes."""
    first = editor.maker(node.inputs[0], Transpose) if isinstance(node, Transpose) else None
    if first is None or not isinstance(node, Transpose):
        return False
    editor.swallow(first, node, order=tuple(first.order[axis] for axis in node.order))
    return True


def sink_transposes(editor: Editor, node: Node) -> bool:
    """Moves a Transpose past an elementwise operation, towards another Transpose, a dense layer or
    an output that may absorb it."""
    if not isinstance(node, Activation | Binary):
        return False
    flowing = [name for name in node.inputs if editor.data(name) is None]
    moves = [editor.maker(name, Transpose) for name in flowing]
    if not moves or None in moves or any(move.order != moves[0].order for move in moves):
        return False
    if any(reader is not node for move in moves for reader in editor.readers(move.output)) or any(
        editor.kept(move.output) for move in moves
    ):
        return False
    order, rank = moves[0].order, len(moves[0].order)
    back = [int(axis) for axis in np.argsort(order)]
    if any(len(editor.shape(name)) > rank for name in node.inputs):
        return False
    sources = {move.output: move.inputs[0] for move in moves}
    inputs = []
    for name in node.inputs:
        if name in sources:
            inputs.append(sources[name])
            continue
        data = editor.data(name)
        assert data is not None
        data = data.reshape((1,) * (rank - data.ndim) + data.shape).transpose(back)
        while data.ndim and data.shape[0] == 1:
            data = data[0]
        inputs.append(editor.constant(f"{name}_transposed", data))
    # The node that computes keeps its name, the tensor in the model's own axes keeps its.
    output = editor.unused(f"{node.output}_before", editor.tensors)
    editor.tensors[output] = replace(
        editor.tensors[node.output],
        name=output,
        shape=tuple(editor.shape(node.output)[axis] for axis in back),
    )
    move = Transpose(
        name=editor.unused(f"{node.name}_transpose", editor.nodes),
        inputs=[output],
        output=node.output,
        origin=moves[0].origin,
        order=order,
    )
    editor.put(replace(node, inputs=inputs, output=output))
    editor.put_behind(editor.nodes[node.name], move)
    for old in {old.name: old for old in moves}.values():
        editor.remove(old)
    return True


def move_into_dense(editor: Editor, node: Node) -> bool:
    """Removes a Reshape before a dense layer, which reads all elements; folds a Transpose into its
    weights."""
    if not isinstance(node, Dense) or node.steps:
        return False
    move = editor.maker(node.inputs[0], Reshape | Transpose)
    if move is None or editor.data(move.inputs[0]) is not None:
        return False
    if isinstance(move, Reshape):
        editor.swallow(move, node)
        return True
    inner = node.weights.reshape(len(node.weights), *editor.shape(move.output))
    weights = inner.transpose(0, *(int(axis) + 1 for axis in np.argsort(move.order))).reshape(
        node.weights.shape
    )
    editor.swallow(move, node, weights=np.ascontiguousarray(weights))
    return True


def move_into_ports(editor: Editor, node: Node) -> bool:
    """Absorbs a Transpose of an input without other readers, or of an output, into the port's axis
    order."""
    if not isinstance(node, Transpose):
        return False
    source = node.inputs[0]
    back = np.argsort(node.order)
    if editor.kept(node.output) and editor.maker(source) is not None:
        editor.outputs = [
            replace(port, tensor=source, order=tuple(port.order[axis] for axis in back))
            if port.tensor == node.output
            else port
            for port in editor.outputs
        ]
        return True
    if editor.sole_reader(source) is not node or not any(
        port.tensor == source and port.offset is None for port in editor.inputs
    ):
        return False
    editor.inputs = [
        replace(port, tensor=node.output, order=tuple(port.order[axis] for axis in node.order))
        if port.tensor == source
        else port
        for port in editor.inputs
    ]
    grid = editor.tensors[source]
    if editor.tensors[node.output].scale is None:
        editor.tensors[node.output] = Tensor(
            node.output,
            editor.shape(node.output),
            None,
            grid.scale,
            grid.zero_point,
            grid.bits,
            grid.signed,
        )
    editor.remove(node)
    return True
