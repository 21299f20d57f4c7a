# SPDX-License-Identifier: BSD-2-Clause
"""Passes for channelwise scale and shift: recognition in arithmetic with constants, and folding
into convolutions and dense layers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..graph import Affine, Binary, Conv, Dense, LayerNorm, Node, Reshape, Tensor, Transpose

if TYPE_CHECKING:
    from .editor import Editor

__all__ = ["binary_to_affine", "fold_before", "fold_behind", "merge_affines", "sink_affines"]


def binary_to_affine(editor: Editor, node: Node) -> bool:
    """Converts arithmetic with a scalar or per-channel constant to an Affine."""
    if not isinstance(node, Binary) or len(node.inputs) != 2:
        return False
    first, second = (editor.data(name) for name in node.inputs)
    if (first is None) == (second is None):
        return False
    source, data = (node.inputs[1], first) if second is None else (node.inputs[0], second)
    assert data is not None
    shape = editor.shape(source)
    channels = shape[-1] if shape else 1
    if (
        not shape
        or editor.shape(node.output) != shape
        or data.size not in (1, data.shape[-1] if data.ndim else 1)
        or data.size > channels
    ):
        return False
    values, one = np.array(np.broadcast_to(data.ravel(), channels)), np.ones(channels)
    if node.function in ("mul", "add"):
        scale, shift = (values, 0 * one) if node.function == "mul" else (one, values)
    elif node.function == "sub":
        scale, shift = (one, -values) if first is None else (-one, values)
    elif first is None and np.all(values != 0):
        scale, shift = 1 / values, 0 * one
    else:
        return False
    editor.put(
        Affine(
            name=node.name,
            inputs=[source],
            output=node.output,
            origin=node.origin,
            scale=scale,
            shift=shift,
            activation=node.activation,
        )
    )
    return True


def _arrays(editor, node):
    channels = editor.shape(node.inputs[0])[-1]
    return np.broadcast_to(node.scale, channels), np.broadcast_to(node.shift, channels)


def merge_affines(editor: Editor, node: Node) -> bool:
    """Merges two consecutive Affines, or one after a LayerNorm."""
    if not isinstance(node, Affine):
        return False
    first = editor.sole_source(node, Affine | LayerNorm)
    if (
        first is None
        or getattr(first, "activation", None) is not None
        or isinstance(first, LayerNorm)
        and node.activation is not None
    ):
        return False
    scale, shift = _arrays(editor, node)
    changes = {"scale": first.scale * scale, "shift": first.shift * scale + shift}
    if isinstance(first, Affine):
        changes["activation"] = node.activation
    editor.join(first, node, **changes)
    return True


def sink_affines(editor: Editor, node: Node) -> bool:
    """Moves an Affine with a single factor and term past a Reshape or Transpose if a layer can
    absorb it there."""
    affine = editor.sole_source(node, Affine) if isinstance(node, Reshape | Transpose) else None
    if affine is None or affine.activation is not None:
        return False
    scale, shift = _arrays(editor, affine)
    if np.any(scale != scale[0]) or np.any(shift != shift[0]):
        return False
    before, ones = (
        editor.unused(f"{node.output}_before", editor.tensors),
        np.ones(editor.shape(node.output)[-1]),
    )
    editor.tensors[before] = Tensor(before, editor.shape(node.output))
    editor.remove(affine)
    editor.put(replace(node, inputs=[affine.inputs[0]], output=before))
    editor.put_behind(
        editor.nodes[node.name],
        replace(
            affine,
            inputs=[before],
            output=node.output,
            scale=scale[0] * ones,
            shift=shift[0] * ones,
        ),
    )
    return True


def fold_behind(editor: Editor, node: Node) -> bool:
    """Folds an Affine into the weights and bias of the preceding layer."""
    if not isinstance(node, Affine):
        return False
    layer = editor.sole_source(node, Conv | Dense)
    if layer is None or layer.activation is not None or len(layer.inputs) > 1:
        return False
    scale, shift = _arrays(editor, node)
    steps = (
        None
        if layer.weight_scale is None or not np.all(scale)
        else layer.weight_scale * np.abs(scale)
    )
    editor.join(
        layer,
        node,
        weights=layer.weights * scale.reshape(-1, *(1,) * (layer.weights.ndim - 1)),
        bias=(0 if layer.bias is None else layer.bias) * scale + shift,
        weight_scale=steps,
        activation=node.activation,
    )
    return True


def fold_before(editor: Editor, node: Node) -> bool:
    """Folds an Affine into the following layer, unless that is padded: zeros of the padding are not
    shifted."""
    if not isinstance(node, Conv | Dense):
        return False
    affine = editor.sole_source(node, Affine)
    if affine is None or affine.activation is not None:
        return False
    scale, shift = _arrays(editor, affine)
    if isinstance(node, Conv):
        if any(node.padding) and np.any(shift != 0):
            return False
        # Channels of a group are its kernels' last axis.
        grouped = node.weights.reshape(node.groups, -1, *node.weights.shape[1:])
        inner = (node.groups, 1, 1, 1, node.weights.shape[3])
        weights = (grouped * scale.reshape(inner)).reshape(node.weights.shape)
        added = (grouped * shift.reshape(inner)).sum(axis=(2, 3, 4)).ravel()
    else:
        times = node.weights.shape[1] // len(scale)
        weights, added = node.weights * np.tile(scale, times), node.weights @ np.tile(shift, times)
    bias = node.bias if not np.any(added) else added + (0 if node.bias is None else node.bias)
    even = node.weight_scale is not None and np.all(scale == scale[0]) and scale[0] != 0
    editor.swallow(
        affine,
        replace(node),
        weights=weights,
        bias=bias,
        weight_scale=node.weight_scale * abs(scale[0]) if even else None,
    )
    return True
