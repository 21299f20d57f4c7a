# SPDX-License-Identifier: BSD-2-Clause
"""Shape inference: the shape of a node's result from its operands' shapes, all without the batch
axis."""

from collections.abc import Sequence
from functools import singledispatch
from math import prod

import numpy as np

from .graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Gru,
    LayerNorm,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    TopK,
    Transpose,
)

__all__ = ["node_shape"]


def node_shape(node: Node, *shapes: Sequence[int]) -> tuple[int, ...]:
    """Infers the shape of ``node``'s result from the ``shapes`` of its operands. Raises ValueError
    if they do not fit."""
    return tuple(int(length) for length in _shape(node, *shapes))


@singledispatch
def _shape(node: Node, *shapes):
    raise TypeError(f"no node of the graph: {type(node).__name__}")


@_shape.register(Activation)
def _same(node, shape):
    return shape


@_shape.register(Affine)
@_shape.register(LayerNorm)
def _channels(node, shape):
    length = shape[-1] if shape else 1
    for name in ("scale", "shift"):
        if np.shape(getattr(node, name)) not in ((length,), ()):
            raise ValueError(
                f"{name} of shape {np.shape(getattr(node, name))} for {length} channels"
            )
    return shape


@_shape.register
def _(node: Softmax, shape):
    if not -len(shape) <= node.axis < len(shape):
        raise ValueError(f"axis {node.axis} of a tensor of {len(shape)} axes")
    return shape


def _map(shape):
    if len(shape) != 3:
        raise ValueError(f"a map has rows, columns and channels, this is {shape}")
    return shape


def _windows(lengths, window, stride, padding):
    (top, left, bottom, right) = padding
    result = [
        (length + pad - effective_size) // step + 1
        for length, pad, effective_size, step in zip(
            lengths, (top + bottom, left + right), window, stride, strict=True
        )
    ]
    if min(result) < 1:
        raise ValueError(
            f"a window of {window[0]} x {window[1]} on a map of {lengths[0]} x {lengths[1]} "
            f"with padding {tuple(padding)}"
        )
    return result


@_shape.register
def _(node: Conv, shape, residual=None):
    rows, columns, channels = _map(shape)
    out, _, _, inner = node.weights.shape
    if inner * node.groups != channels or out % node.groups:
        raise ValueError(
            f"weights of shape {node.weights.shape} in {node.groups} groups on {channels} channels"
        )
    if node.bias is not None and node.bias.shape != (out,):
        raise ValueError(f"bias of shape {node.bias.shape} for {out} channels")
    result = (*_windows((rows, columns), node.window, node.stride, node.padding), out)
    if residual is not None and tuple(residual) != result:
        raise ValueError(f"residual of shape {tuple(residual)}, the convolution gives {result}")
    return result


@_shape.register
def _(node: MaxPool, shape):
    rows, columns, channels = _map(shape)
    window = [(k - 1) * d + 1 for k, d in zip(node.window, node.dilation, strict=True)]
    return (*_windows((rows, columns), window, node.stride, node.padding), channels)


@_shape.register
def _(node: AveragePool, shape):
    rows, columns, channels = _map(shape)
    return (*_windows((rows, columns), node.window, node.stride, node.padding), channels)


@_shape.register
def _(node: Dense, shape):
    out, features = node.weights.shape
    given = shape[-1] if node.steps else prod(shape)
    if given != features:
        raise ValueError(f"weights for {features} features, the tensor has {given}")
    if node.bias is not None and node.bias.shape != (out,):
        raise ValueError(f"bias of shape {node.bias.shape} for {out} features")
    return (*shape[:-1], out) if node.steps else (out,)


@_shape.register
def _(node: MatMul, first, second):
    if not first or not second:
        raise ValueError("a product of matrices wants operands of one axis at least")
    if node.turned:
        second = (*second[:-2], *second[-2:][::-1])
    rows = first if len(first) > 1 else (1, *first)
    columns = second if len(second) > 1 else (*second, 1)
    if rows[-1] != columns[-2]:
        raise ValueError(f"matrices of {tuple(first)} and {tuple(second)}")
    return (
        *np.broadcast_shapes(rows[:-2], columns[:-2]),
        *rows[-2:-1][: len(first) - 1],
        *columns[-1:][: len(second) - 1],
    )


@_shape.register
def _(node: Binary, first, second):
    return np.broadcast_shapes(first, second)


@_shape.register
def _(node: Reduce, shape):
    axes = {axis % len(shape) for axis in node.axes}
    return tuple(
        1 if axis in axes else length
        for axis, length in enumerate(shape)
        if node.keep or axis not in axes
    )


@_shape.register
def _(node: TopK, shape):
    if not -len(shape) <= node.axis < len(shape):
        raise ValueError(f"axis {node.axis} of a tensor of {len(shape)} axes")
    axis = node.axis % len(shape)
    if not 1 <= node.count <= shape[axis]:
        raise ValueError(f"{node.count} of an axis of {shape[axis]}")
    return (*shape[:axis], node.count, *shape[axis + 1 :])


@_shape.register
def _(node: Reshape, shape):
    if prod(node.shape) != prod(shape):
        raise ValueError(
            f"{tuple(shape)} has {prod(shape)} elements, {tuple(node.shape)} has {prod(node.shape)}"
        )
    return node.shape


@_shape.register
def _(node: Transpose, shape):
    if sorted(node.order) != list(range(len(shape))):
        raise ValueError(f"order {tuple(node.order)} for {len(shape)} axes")
    return tuple(shape[axis] for axis in node.order)


@_shape.register
def _(node: Concat, *shapes):
    axis = node.axis % len(shapes[0])
    rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rest) != 1:
        raise ValueError(f"tensors of {', '.join(map(str, shapes))} along axis {axis}")
    return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


@_shape.register
def _(node: Pad, shape):
    return tuple(
        a + length + b for a, length, b in zip(node.before, shape, node.after, strict=True)
    )


@_shape.register
def _(node: Slice, shape):
    result = [
        len(range(length)[a:b:c])
        for length, a, b, c in zip(shape, node.start, node.stop, node.step, strict=True)
    ]
    if 0 in result:
        raise ValueError(f"nothing is left of {tuple(shape)} from {node.start} to {node.stop}")
    return result


@_shape.register(Lstm)
@_shape.register(Gru)
def _recurrent(node, shape):
    gates = 4 if isinstance(node, Lstm) else 3
    hidden = node.recurrent.shape[1]
    if (
        len(shape) != 2
        or node.weights.shape != (gates * hidden, shape[1])
        or node.recurrent.shape != (gates * hidden, hidden)
    ):
        raise ValueError(
            f"weights of {node.weights.shape} and {node.recurrent.shape} on a sequence of "
            f"{tuple(shape)}"
        )
    return (hidden,) if node.last else (shape[0], hidden)
