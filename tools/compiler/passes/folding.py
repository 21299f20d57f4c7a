# SPDX-License-Identifier: BSD-2-Clause
"""Folding passes: constants, scale and shift by channel, padding and activations go into the layers
beside them; biases absorb the offset of the tensor that a layer reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    LayerNorm,
    Lstm,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Slice,
    Tensor,
    Transpose,
)
from ..ranges import never_negative

if TYPE_CHECKING:
    from .rewriting import Editor

__all__ = [
    "Held",
    "binary_to_affine",
    "fold_before",
    "fold_behind",
    "fold_constants",
    "fold_padding",
    "fuse_activation",
    "lift_activation",
    "merge_affines",
    "merge_limits",
    "plainer_activation",
    "recognise_hard_swish",
    "remove_no_ops",
    "sink_affines",
    "without",
]


def fold_constants(editor: Editor, node: Node) -> bool:
    """Replaces a node by a constant if all its operands are constants."""
    constants = [editor.data(name) for name in node.inputs]
    values = [value for value in constants if value is not None]
    if len(values) < len(constants) or editor.kept(node.output):
        return False
    with np.errstate(all="ignore"):
        result = node.run(*(value[None] for value in values))[0]
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
    if not editor.keep_grid(node.output, node.inputs[0]):
        return False
    editor.bypass(node, node.inputs[0])
    return True


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


def _keeps_grid(editor, first, node, scale=1.0, shift=0.0):
    """Whether ``node``, an Affine or an activation, can be fused into ``first``, whose result it
    reads, with the grid between them (:meth:`Editor.keep_grid`)."""
    activation = node if isinstance(node, Activation) else node.activation
    limits = (-np.inf, np.inf)
    if activation is not None:
        # Behind the slope of a leaky relu the lower end of a grid is too far to matter.
        limits = _limits(activation) or (0.0, np.inf)
    return editor.keep_grid(first.output, node.output, scale, shift, limits)


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
    if not _keeps_grid(editor, first, node, scale, shift):
        return False
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
    if not editor.keep_grid(affine.output, node.output):
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
    if not _keeps_grid(editor, layer, node, scale, shift):
        return False
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
    if isinstance(node, Conv) and any(node.padding) and np.any(shift != 0):
        return False
    # A factor of zero has no inverse.
    factor = np.where(scale == 0, np.nan, scale)
    if not editor.keep_grid(affine.output, affine.inputs[0], 1 / factor, -shift / factor):
        return False
    if isinstance(node, Conv):
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


def fold_padding(editor: Editor, node: Node) -> bool:
    """Folds a Pad into the padding of the following convolution or pool."""
    if not isinstance(node, Conv | AveragePool | MaxPool):
        return False
    pad = editor.sole_source(node, Pad)
    if pad is None or len(pad.before) != 3 or pad.before[2] or pad.after[2]:
        return False
    border = (*pad.before[:2], *pad.after[:2])
    padding = tuple(a + b for a, b in zip(border, node.padding, strict=True))
    changes: dict[str, Any] = {"padding": padding}
    if isinstance(node, AveragePool):
        # Zeros of the border count; so must those of the pool's own padding.
        if pad.value != 0 or any(node.padding) and not node.include_padding:
            return False
        changes["include_padding"] = True
    elif isinstance(node, Conv):
        if pad.value != 0:
            return False
    else:
        effective_size = [(k - 1) * d + 1 for k, d in zip(node.window, node.dilation, strict=True)]
        # Zeros change no maximum of values from zero on, as long as each window meets one of them.
        if (
            pad.value != 0
            or any(p >= r for p, r in zip(padding, effective_size * 2, strict=True))
            or not never_negative(editor.maker, pad.inputs[0])
        ):
            return False
    if not editor.keep_grid(pad.output, pad.inputs[0]):
        return False
    editor.swallow(pad, node, **changes)
    return True


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
    if not _keeps_grid(editor, first, node):
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
    if layer is None or layer.activation is not None or not _keeps_grid(editor, layer, node):
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
    if not _keeps_grid(editor, last, node):
        return False
    # The tensor of the sums keeps its name; a tensor of other values gets a new one.
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


def _hard_sigmoid(editor, tensor):
    """A hard sigmoid by the tensor that it makes: (source, alpha, beta, factor), as
    factor * clip(alpha x + beta, 0, 1), or ``None``. It may be written as a clip of a scaled and
    shifted tensor, with a factor behind it."""
    gate = editor.maker(tensor, Activation | Affine)
    if isinstance(gate, Activation):
        if gate.function != "hard_sigmoid":
            return None
        return gate.inputs[0], gate.alpha, gate.beta, 1.0
    factor = 1.0
    if gate is not None and gate.activation is None and not np.any(gate.shift):
        factor, gate = gate.scale, editor.maker(gate.inputs[0], Affine)
    clip = None if gate is None else gate.activation
    if (
        clip is None
        or clip.function != "clip"
        or clip.low != 0
        or not 0 < clip.high < np.inf
        or any(np.ptp(values) for values in (factor, gate.scale, gate.shift))
    ):
        return None
    scale, shift, factor = (float(np.ravel(v)[0]) for v in (gate.scale, gate.shift, factor))
    return gate.inputs[0], scale / clip.high, shift / clip.high, factor * clip.high


def recognise_hard_swish(editor: Editor, node: Node) -> bool:
    """Recognises x times the hard sigmoid of x as hard swish, with a factor behind it if the gate
    has one."""
    if not isinstance(node, Binary) or node.function != "mul" or node.activation is not None:
        return False
    for source, other in (node.inputs, node.inputs[::-1]):
        found = _hard_sigmoid(editor, other)
        if found is None or found[0] != source:
            continue
        _, alpha, beta, factor = found
        swish = Activation(
            name=node.name,
            inputs=[source],
            output=node.output,
            origin=f"{editor.maker(other).origin}+{node.origin}",
            function="hard_swish",
            alpha=alpha,
            beta=beta,
        )
        if np.isclose(factor, 1, rtol=1e-6, atol=0):
            editor.put(swish)
            return True
        name = editor.unused(f"{node.name}_swish", editor.nodes)
        plain = editor.unused(f"{node.output}_swish", editor.tensors)
        editor.put_before(node, replace(swish, name=name, output=plain))
        channels = editor.shape(node.output)[-1]
        editor.put(
            Affine(
                name=node.name,
                inputs=[plain],
                output=node.output,
                origin=node.origin,
                scale=np.full(channels, factor),
                shift=np.zeros(channels),
            )
        )
        return True
    return False


class Held(Exception):
    """Error of a layer that cannot absorb an offset: its name and the reason."""


def without(
    graph: Graph, tensor: str, offset: np.ndarray
) -> tuple[dict[str, Node], dict[str, np.ndarray]]:
    """Readers of a tensor, changed so that they give the same results after ``offset`` [channels]
    is subtracted from it.

    Returns
    -------
    (dict, dict): name -> node of each layer whose bias makes up for it, and name -> offset of each
    tensor that holds less

    Raises
    ------
    Held
        A layer that reads it cannot make up for it.
    """
    nodes: dict[str, Node] = {}
    offsets = {tensor: offset}
    for node in graph.nodes:
        known = [offsets.get(name) for name in node.inputs]
        if all(one is None for one in known):
            continue
        if len(known) > 1:
            raise Held(f"{node.name} reads it beside another tensor")
        if isinstance(node, MaxPool | AveragePool | Reshape | Slice | Transpose):
            offsets[node.output] = _through(graph, node, known[0])
            if graph.tensors[node.output].scale is not None:
                raise Held(f"{node.output} has a scale of its own")
        else:
            nodes[node.name] = _taken(node, known[0])
    if graph.kept() & offsets.keys():
        raise Held("it is an output as well")
    return nodes, offsets


def _through(graph, node, offset):
    """Offset of the result of a node that only moves or pools elements."""
    if isinstance(node, MaxPool):
        return offset
    if isinstance(node, AveragePool):
        if any(node.padding) and node.include_padding:
            raise Held(f"{node.name} pads with zeros")
        return offset
    if isinstance(node, Slice):
        return offset[node.start[-1] : node.stop[-1] : node.step[-1]]
    channels = graph.shape(node.output)[-1:]
    if np.all(offset == offset[0]):
        return np.broadcast_to(offset[0], channels)
    if isinstance(node, Reshape) and len(node.shape) == 1:
        return np.resize(offset, channels)
    if isinstance(node, Transpose) and node.order[-1] == len(node.order) - 1:
        return offset
    raise Held(f"{node.name} mixes channels of different means")


def _taken(node, offset):
    """Returns a layer that gives the same results when ``offset`` is subtracted from its
    operand."""
    if isinstance(node, Affine):
        return replace(node, shift=node.shift + node.scale * offset)
    if isinstance(node, Lstm):
        return replace(node, bias=node.bias + node.weights @ offset)
    if isinstance(node, Gru):
        bias = np.array(node.bias, np.float64)
        bias[0] += node.weights @ offset
        return replace(node, bias=bias)
    if isinstance(node, Conv):
        if any(node.padding):
            raise Held(f"{node.name} pads with zeros")
        inner = offset.reshape(node.groups, 1, 1, 1, -1)
        kernels = node.weights.reshape(node.groups, -1, *node.weights.shape[1:])
        added = (kernels * inner).sum(axis=(2, 3, 4)).ravel()
    elif isinstance(node, Dense):
        added = node.weights @ np.resize(offset, node.weights.shape[1])
    else:
        raise Held(f"{node.name} ({node.origin or node.kind}) has no bias that could take it")
    return replace(node, bias=added if node.bias is None else node.bias + added)
