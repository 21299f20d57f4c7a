# SPDX-License-Identifier: BSD-2-Clause
"""Passes for nodes that only move data. Reshapes and Transposes are merged, moved towards the
outputs and absorbed by consumers; nodes that select or reorder channels become convolutions with a
single one per result channel, which are then folded into their neighbours."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Conv,
    Dense,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Slice,
    Tensor,
    Transpose,
)

if TYPE_CHECKING:
    from .rewriting import Editor

__all__ = [
    "cut_into_padding",
    "drop_units",
    "merge_reshapes",
    "merge_selections",
    "merge_transposes",
    "move_into_dense",
    "move_into_ports",
    "raise_units",
    "recognise_shuffle",
    "rows_to_channels",
    "sink_transposes",
    "slice_before_split",
    "split_channels",
]


def recognise_shuffle(editor: Editor, node: Node) -> bool:
    """Recognises a channel shuffle (Reshape into groups, Transpose, Reshape back) as a convolution
    that selects channels."""
    if not isinstance(node, Reshape):
        return False
    turn = editor.sole_source(node, Transpose)
    split = editor.sole_source(turn, Reshape) if turn is not None else None
    if split is None:
        return False
    shape, inner = editor.shape(split.inputs[0]), tuple(split.shape)
    if len(shape) != 3 or inner[:2] != shape[:2] or len(inner) != 4:
        return False
    if tuple(turn.order) != (0, 1, 3, 2) or editor.shape(node.output) != shape:
        return False
    if not all(editor.keep_grid(one.output, node.output) for one in (split, turn)):
        return False
    chosen = np.arange(shape[2]).reshape(inner[2:]).T.ravel()
    editor.put(
        Conv(
            name=node.name,
            inputs=[split.inputs[0]],
            output=node.output,
            origin=f"{split.origin}+{turn.origin}+{node.origin}",
            weights=np.eye(shape[2])[chosen][:, None, None, :],
        )
    )
    editor.remove(turn)
    editor.remove(split)
    return True


#: Rows of a map that :func:`rows_to_channels` gathers, and channels that it makes, at most.
_MOST_ROWS, _MOST_CHANNELS = 8, 512


def rows_to_channels(editor: Editor, node: Node) -> bool:
    """Recognises a map that becomes a sequence of its columns, with all channels of all rows as
    features, as a convolution over all rows that selects them."""
    if not isinstance(node, Reshape):
        return False
    turn = editor.sole_source(node, Transpose)
    if turn is None or tuple(turn.order) not in ((1, 2, 0), (1, 0, 2)):
        return False
    if editor.maker(turn.inputs[0], Conv | MaxPool | AveragePool) is None:
        return False
    rows, columns, channels = editor.shape(turn.inputs[0])
    made = rows * channels
    if rows > _MOST_ROWS or made > _MOST_CHANNELS or tuple(node.shape) != (columns, made):
        return False
    if not editor.keep_grid(turn.output, node.output):
        return False
    # [feature, row, 1, channel]
    if tuple(turn.order) == (1, 2, 0):
        weights = np.eye(made).reshape(made, channels, rows).transpose(0, 2, 1)[:, :, None]
    else:
        weights = np.eye(made).reshape(made, rows, 1, channels)
    output = editor.unused(f"{turn.output}_rows", editor.tensors)
    editor.put_before(
        turn,
        Conv(
            name=editor.unused(f"{turn.name}_rows", editor.nodes),
            inputs=list(turn.inputs),
            output=output,
            origin=f"{turn.origin}+{node.origin}" if turn.origin != node.origin else node.origin,
            weights=np.ascontiguousarray(weights),
        ),
    )
    editor.put(replace(node, inputs=[output]))
    editor.remove(turn)
    return True


def _chosen(node: Node | None) -> np.ndarray | None:
    """Source channel of each result channel, for a convolution that only selects; else ``None``."""
    if (
        not isinstance(node, Conv)
        or node.weights.shape[1:3] != (1, 1)
        or node.groups != 1
        or node.stride != (1, 1)
        or any(node.padding)
        or node.bias is not None
        or node.activation is not None
        or node.weight_scale is not None
        or len(node.inputs) > 1
    ):
        return None
    weights = node.weights[:, 0, 0]
    one = (weights == 1).sum(axis=1) == 1
    if not one.all() or np.count_nonzero(weights) != len(weights):
        return None
    return weights.argmax(axis=1)


def _of_channels(node: Conv, chosen: np.ndarray) -> dict[str, np.ndarray | None]:
    """Restricts a convolution's arrays to the channels ``chosen``."""
    return {
        name: None if array is None else array[chosen]
        for name, array in (
            ("weights", node.weights),
            ("bias", node.bias),
            ("weight_scale", node.weight_scale),
        )
    }


def merge_selections(editor: Editor, node: Node) -> bool:
    """Folds a channel selection into the preceding convolution or the following one."""
    if not isinstance(node, Conv) or node.groups != 1 or len(node.inputs) > 1:
        return False
    first = editor.sole_source(node, Conv)
    if first is None or first.groups != 1 or len(first.inputs) > 1:
        return False
    chosen = _chosen(node)
    if chosen is not None and len(chosen) <= len(first.weights):
        if not editor.keep_grid(first.output, node.output):
            return False
        editor.join(first, node, **_of_channels(first, chosen))
        return True
    if _chosen(first) is None or not editor.keep_grid(first.output, first.inputs[0]):
        return False
    editor.swallow(first, node, weights=node.weights @ first.weights[:, 0, 0])
    return True


def _channels(editor: Editor, node: Node) -> np.ndarray | None:
    """Channels of a map that a node selects, if it does nothing else."""
    if isinstance(node, Conv):
        return _chosen(node)
    if not isinstance(node, Slice) or len(node.start) != 3:
        return None
    shape = editor.shape(node.inputs[0])
    if editor.shape(node.output)[:2] != shape[:2] or min(node.step) < 1:
        return None
    return np.arange(shape[2])[node.start[2] : node.stop[2] : node.step[2]]


def split_channels(editor: Editor, node: Node) -> bool:
    """Splits a convolution whose readers select disjoint channels: each reader becomes a
    convolution of its own."""
    chosen = _channels(editor, node)
    first = editor.maker(node.inputs[0], Conv) if chosen is not None else None
    if first is None or first.groups != 1 or len(first.inputs) > 1 or editor.kept(first.output):
        return False
    taken = [_channels(editor, reader) for reader in editor.readers(first.output)]
    known = [channels for channels in taken if channels is not None]
    if len(known) < len(taken):
        return False
    every = np.concatenate(known)
    if len(np.unique(every)) != len(every) or not editor.keep_grid(first.output, node.output):
        return False
    assert chosen is not None
    editor.put(
        replace(
            first,
            name=node.name,
            inputs=list(first.inputs),
            output=node.output,
            origin=first.origin if node.origin == first.origin else f"{first.origin}+{node.origin}",
            **_of_channels(first, chosen),
        )
    )
    return True


def cut_into_padding(editor: Editor, node: Node) -> bool:
    """Folds a Slice that removes the border of a convolution's results into a smaller padding."""
    if not isinstance(node, Slice) or len(node.start) != 3 or any(s != 1 for s in node.step):
        return False
    first = editor.sole_source(node, Conv)
    if first is None or first.stride != (1, 1) or len(first.inputs) > 1:
        return False
    shape = editor.shape(first.output)
    if editor.shape(node.output)[2] != shape[2]:
        return False
    top, left, bottom, right = first.padding
    padding = (
        top - node.start[0],
        left - node.start[1],
        bottom - (shape[0] - node.stop[0]),
        right - (shape[1] - node.stop[1]),
    )
    if min(padding) < 0 or not editor.keep_grid(first.output, node.output):
        return False
    editor.join(first, node, padding=padding)
    return True


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
    if first is None or not editor.keep_grid(first.output, node.output):
        return False
    editor.swallow(first, node)
    return True


def _unit_axes(before: tuple[int, ...], after: tuple[int, ...]) -> list[int | None] | None:
    """For each axis of the shape ``after`` the axis of ``before`` that it is, ``None`` for an axis
    of length one that was inserted; ``None`` if other axes change too."""
    found: list[int | None] = []
    at = 0
    for length in after:
        if at < len(before) and before[at] == length:
            found.append(at)
            at += 1
        elif length == 1:
            found.append(None)
        else:
            return None
    return found if at == len(before) else None


def raise_units(editor: Editor, node: Node) -> bool:
    """Moves a Reshape that inserts axes of length one (as for a convolution over time) in front of
    an elementwise node, a Pad or a Slice, towards the layer or input that gives the map."""
    if not isinstance(node, Reshape):
        return False
    first = editor.sole_source(node, Activation | Affine | Pad | Slice)
    if first is None or editor.data(first.inputs[0]) is not None:
        return False
    before, after = editor.shape(first.output), editor.shape(node.output)
    places = _unit_axes(before, after)
    # The channels stay the last axis.
    if not before or places is None or len(after) <= len(before) or places[-1] is None:
        return False
    if not editor.keep_grid(first.output, node.output):
        return False

    def spread(values, unit):
        return tuple(unit if place is None else values[place] for place in places)

    changes = {}
    if isinstance(first, Pad):
        changes = {"before": spread(first.before, 0), "after": spread(first.after, 0)}
    elif isinstance(first, Slice):
        changes = {
            "start": spread(first.start, 0),
            "stop": spread(first.stop, 1),
            "step": spread(first.step, 1),
        }
    shape = spread(editor.shape(first.inputs[0]), 1)
    source = editor.unused(f"{first.output}_units", editor.tensors)
    editor.tensors[source] = Tensor(source, shape)
    editor.remove(first)
    editor.put(replace(node, inputs=list(first.inputs), output=source, shape=shape))
    editor.put_behind(
        editor.nodes[node.name],
        replace(first, inputs=[source], output=node.output, **changes),
    )
    return True


def drop_units(editor: Editor, node: Node) -> bool:
    """Removes axes of length one from a Transpose between two Reshapes, so that it has as few axes
    as it needs."""
    if not isinstance(node, Transpose) or editor.kept(node.output):
        return False
    shape, readers = editor.shape(node.inputs[0]), editor.readers(node.output)
    long = [axis for axis, length in enumerate(shape) if length > 1]
    if (
        len(long) in (0, len(shape))
        or editor.maker(node.inputs[0], Reshape) is None
        or not readers
        or not all(isinstance(reader, Reshape) for reader in readers)
        or not all(editor.keep_grid(node.output, reader.output) for reader in readers)
    ):
        return False
    before = editor.unused(f"{node.inputs[0]}_long", editor.tensors)
    editor.put_before(
        node,
        Reshape(
            name=editor.unused(f"{node.name}_long", editor.nodes),
            inputs=list(node.inputs),
            output=before,
            origin=node.origin,
            shape=tuple(shape[axis] for axis in long),
        ),
    )
    order = tuple(long.index(axis) for axis in node.order if axis in long)
    output = editor.unused(f"{node.output}_long", editor.tensors)
    editor.tensors[output] = Tensor(output, tuple(shape[long[axis]] for axis in order))
    editor.put(replace(node, inputs=[before], output=output, order=order))
    for reader in readers:
        editor.put(replace(reader, inputs=[output]))
    return True


def slice_before_split(editor: Editor, node: Node) -> bool:
    """Moves a Slice in front of a Reshape that splits an axis, of which it takes a part: queries,
    keys and values of one product, as transformers have them."""
    if not isinstance(node, Slice):
        return False
    split = editor.maker(node.inputs[0], Reshape)
    if split is None or editor.data(split.inputs[0]) is not None:
        return False
    before, after = editor.shape(split.inputs[0]), editor.shape(split.output)
    cut = [axis for axis, length in enumerate(editor.shape(node.output)) if length != after[axis]]
    if len(cut) != 1 or min(node.step) < 1 or node.step[cut[0]] != 1 or len(before) >= len(after):
        return False
    (axis,) = cut
    front, inner = prod(after[:axis]), prod(after[axis + 1 :])
    at = next((at for at in range(len(before)) if prod(before[:at]) == front), None)
    if at is None or inner % prod(before[at + 1 :]):
        return False
    if not editor.keep_grid(split.output, node.output):
        return False
    scale = inner // prod(before[at + 1 :])
    stops = list(before)
    starts = [0] * len(before)
    starts[at], stops[at] = node.start[axis] * scale, node.stop[axis] * scale
    source = editor.unused(f"{node.output}_part", editor.tensors)
    part = Slice(
        name=editor.unused(f"{node.name}_part", editor.nodes),
        inputs=list(split.inputs),
        output=source,
        origin=node.origin,
        start=tuple(starts),
        stop=tuple(stops),
        step=(1,) * len(before),
    )
    editor.put_before(node, part)
    editor.put(
        Reshape(
            name=node.name,
            inputs=[source],
            output=node.output,
            origin=split.origin,
            shape=editor.shape(node.output),
        )
    )
    if not editor.readers(split.output) and not editor.kept(split.output):
        editor.remove(split)
    return True


def merge_transposes(editor: Editor, node: Node) -> bool:
    """Merges two consecutive Transposes."""
    first = editor.maker(node.inputs[0], Transpose) if isinstance(node, Transpose) else None
    if first is None or not isinstance(node, Transpose):
        return False
    if not editor.keep_grid(first.output, node.output):
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
    if not all(editor.keep_grid(move.output, move.inputs[0]) for move in moves):
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
    if not editor.keep_grid(move.output, move.inputs[0]):
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
        if not editor.keep_grid(node.output, source):
            return False
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
    if not editor.keep_grid(source, node.output):
        return False
    editor.inputs = [
        replace(port, tensor=node.output, order=tuple(port.order[axis] for axis in node.order))
        if port.tensor == source
        else port
        for port in editor.inputs
    ]
    editor.remove(node)
    return True
