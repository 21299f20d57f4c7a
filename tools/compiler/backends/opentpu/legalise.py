# SPDX-License-Identifier: BSD-2-Clause
"""Legalisation for OpenTPU: every node becomes a sum of products, a max pooling, a reshape or a
separate activation. Stored shapes, (rows, columns, channels) for each tensor, are chosen so that a
reshape only changes addresses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    MatMul,
    Node,
    Pad,
    Reduce,
    Reshape,
    Tensor,
)
from ..base import DECOMPOSED, HOST, Support
from ..rewriting import interleaved, join_turned, maxima_in_steps, windows_in_steps
from .chunks import most_idle_rows

__all__ = [
    "FUNCTIONS",
    "LONGEST_WINDOW",
    "MOST_STRIDE",
    "REWRITINGS",
    "Rewriting",
    "StoredError",
    "as_map",
    "axes_of",
    "dense_parts",
    "legalise",
    "reshaped",
    "stored_shapes",
]


#: Rows and columns of a pooling's window, at most.
LONGEST_WINDOW = 15
#: Its stride, at most.
MOST_STRIDE = 255
#: Functions of an activation that the core computes.
FUNCTIONS = ("relu", "clip", "leaky", "abs", "neg")


class StoredError(ValueError):
    """Error of a reshape that would have to move elements; the text says why."""


def as_map(shape: Sequence[int]) -> tuple[int, int, int]:
    """A tensor's shape as (rows, columns, channels): a vector is one position, a sequence one
    row."""
    if not 1 <= len(shape) <= 3:
        raise StoredError(f"a tensor of {len(shape)} axes, expected a vector, a sequence or a map")
    rows, columns, channels = (1,) * (3 - len(shape)) + tuple(shape)
    return rows, columns, channels


def reshaped(source: tuple[int, int, int], shape: Sequence[int]) -> tuple[int, int, int]:
    """The stored shape after a reshape of stored shape ``source`` to ``shape``. Raises
    :class:`StoredError` if elements would have to move."""
    wanted = as_map(shape)
    if wanted == source or len(shape) == 1:
        return source
    # Positions may be counted differently, channels stay together.
    if wanted[2] == source[2] or wanted[:2] == (1, 1):
        return source
    raise StoredError(
        f"elements of {' x '.join(map(str, source))} would change their channels to become "
        f"{' x '.join(map(str, shape))}; a reshape "
        "that keeps the channels together or makes a vector costs nothing"
    )


def dense_parts(shape: tuple[int, int, int], n: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """The argument of :func:`axes_of` for a map without gaps."""
    rows, columns, channels = shape
    whole = [(channels, 1)] if channels <= n else [(-(-channels // n), n), (n, 1)]
    return [(rows, [(rows, 1)]), (columns, [(columns, 1)]), (channels, whole)]


def _input_shape(graph, name, n):
    """Stored shape of an input: its only reader's, if the input's axes can address that."""
    shape, readers = graph.shape(name), graph.readers(name)
    wanted = shape
    while (
        len(readers) == 1
        and isinstance(readers[0], Reshape)
        and readers[0].output not in graph.kept()
        and len(readers[0].shape) > 1
    ):
        wanted, readers = readers[0].shape, graph.readers(readers[0].output)
    try:
        axes_of(shape, dense_parts(as_map(wanted), n))
        return as_map(wanted)
    except StoredError:
        return as_map(shape)


def stored_shapes(graph: Graph, n: int) -> dict[str, tuple[int, int, int]]:
    """Stored shape of every tensor, name -> (rows, columns, channels), in vectors of ``n``;
    unsupported tensors are stored by their own shape, and left out with more than three axes."""
    stored = {port.tensor: _or_none(_input_shape, graph, port.tensor, n) for port in graph.inputs}
    for node in graph.nodes:
        source, shape = stored.get(node.inputs[0]), graph.shape(node.output)
        own = _or_none(as_map, shape)
        moved = interleaved(graph, node) if isinstance(node, Concat | Reshape) else None
        if moved is not None:
            stored[node.output] = moved.shape
        elif isinstance(node, Reshape) and source is not None:
            stored[node.output] = _or_none(reshaped, source, shape) or own
        else:
            stored[node.output] = _elementwise(graph, node, source) or own
    return stored


def _or_none(function, *arguments):
    try:
        return function(*arguments)
    except StoredError:
        return None


def _elementwise(graph, node, source):
    """Stored shape of an elementwise result whose source is stored in another shape than its
    own."""
    before, after = graph.shape(node.inputs[0]), graph.shape(node.output)
    if source is None:
        return None
    if isinstance(node, Reduce) and len(before) == 3 and source == before:
        axes = {axis % 3 for axis in node.axes}
        return tuple(1 if axis in axes else length for axis, length in enumerate(before))
    flowing = all(graph.tensors[name].data is None for name in node.inputs)
    if isinstance(node, Concat) and node.axis % len(after) == len(after) - 1:
        # Channels are joined position by position.
        return *source[:2], after[-1]
    if (
        isinstance(node, Activation)
        and node.function in FUNCTIONS
        or isinstance(node, Binary)
        and flowing
        and node.function in ("add", "sub")
    ):
        return source
    # A layer of every step by itself, or what becomes one.
    if (
        len(before) == len(after) == 2
        and before[1] == source[2]
        and (isinstance(node, Affine | Binary | MatMul) or isinstance(node, Dense) and node.steps)
    ):
        return *source[:2], after[1]
    return None


def axes_of(
    shape: Sequence[int], parts: Sequence[tuple[int, Sequence[tuple[int, int]]]]
) -> list[list[tuple[int, int]]]:
    """Address digits (size, stride) of every axis of ``shape``.

    Parameters
    ----------
    shape : tuple of int
    parts : for rows, columns and channels (length, list of (size, stride), most significant first)

    Returns
    -------
    list (axis) of list of (size, stride)

    Raises
    ------
    StoredError
        Elements whose places no digits describe: channels that do not fill their blocks, counted on
        together with positions.
    """
    digits = []  # (size, stride, whether the axis' length ends exactly here)
    for length, part in parts:
        reach = 1
        for size, _ in part:
            reach *= size
        digits.append((length, list(part), reach == length))
    axes, left = [], [d for d in digits if d[0] != 1]
    for length in reversed(shape):
        mine: list[tuple[int, int]] = []
        count = 1
        while count < length:
            if not left:
                raise StoredError("more elements than are stored")
            size, part, exact = left.pop()
            if count * size <= length and length % (count * size) == 0 and (exact or count == 1):
                if not exact and count * size != length:
                    raise StoredError(
                        f"{size} channels do not fill blocks of whole vectors, so that "
                        f"positions and channels cannot be counted as one"
                    )
                mine, count = [*part, *mine], count * size
                continue
            rest = length // count
            if len(part) != 1 or length % count or size % rest:
                raise StoredError("an axis that ends inside a block")
            stride = part[0][1]
            mine, count = [(rest, stride), *mine], length
            left.append((size // rest, [(size // rest, stride * rest)], True))
        axes.append(mine)
    return axes[::-1]


def legalise(graph: Graph, params: Mapping[str, Any]) -> Graph:
    """Legalises a graph for build parameters (returns a new one): multiplication by constants
    becomes a convolution or dense layer, a mean an average pooling; activations that cannot be
    fused become nodes. Tensors that stay keep their names."""
    held = params["acc_rows"] - most_idle_rows(params)

    def is_held(window, channels):
        return not params["ext_pool"] or window[0] * window[1] <= held

    graph = maxima_in_steps(join_turned(graph), LONGEST_WINDOW)
    graph = windows_in_steps(graph, LONGEST_WINDOW, MOST_STRIDE, is_held)
    result = Graph(graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors))
    for node in graph.nodes:
        for part in _parts(result, node):
            result.nodes.append(part)
    used = {name for node in result.nodes for name in (*node.inputs, node.output)} | {
        p.tensor for p in (*result.inputs, *result.outputs)
    }
    result.tensors = {name: tensor for name, tensor in result.tensors.items() if name in used}
    return result


def _parts(graph, node):
    if isinstance(node, Binary):
        node = _with_constant(graph, node)
    rewriting = REWRITINGS.get(type(node))
    for part in [node] if rewriting is None else rewriting.nodes(graph, node):
        yield from _with_fused_activation(graph, part)


def _with_fused_activation(graph, node):
    """A node, with its activation as a node of its own unless the core fuses it."""
    activation = getattr(node, "activation", None)
    if activation is None or activation.function in ("relu", "clip"):
        return [node]
    between = f"{node.output}:linear"
    graph.tensors[between] = Tensor(between, graph.shape(node.output))
    return [
        replace(node, output=between, activation=None),
        replace(
            activation,
            name=f"{node.name}:{activation.function}",
            inputs=[between],
            output=node.output,
            origin=node.origin,
        ),
    ]


def _with_constant(graph, node):
    """Rewrites an elementwise operation with a constant as a scale and a shift."""
    at = next(
        (k for k, name in enumerate(node.inputs) if graph.tensors[name].data is not None), None
    )
    if at is None:
        return node
    channels = graph.shape(node.output)[-1]
    constant = np.broadcast_to(np.ravel(graph.tensors[node.inputs[at]].data), channels).astype(
        np.float64
    )
    one, zero = np.ones(channels), np.zeros(channels)
    scale, shift = {
        "add": (one, constant),
        "sub": (one, -constant) if at == 1 else (-one, constant),
        "mul": (constant, zero),
        "div": (1 / constant, zero),
    }[node.function]
    return Affine(
        name=node.name,
        inputs=[node.inputs[1 - at]],
        output=node.output,
        origin=node.origin,
        scale=scale,
        shift=shift,
        activation=node.activation,
    )


def _scaled(graph, node):
    """Rewrites a scale and shift of every channel as a depthwise convolution or dense layer."""
    shape, scale = graph.shape(node.inputs[0]), np.asarray(node.scale, np.float64)
    common = {
        "name": node.name,
        "inputs": list(node.inputs),
        "output": node.output,
        "origin": node.origin,
        "bias": np.asarray(node.shift, np.float64),
        "activation": node.activation,
    }
    if len(shape) == 3:
        return [Conv(**common, weights=scale.reshape(-1, 1, 1, 1), groups=shape[2])]
    return [Dense(**common, weights=np.diag(scale), steps=len(shape) == 2)]


def _mean(graph, node):
    """Rewrites a mean over rows, columns or both as an average pooling."""
    rows, columns, channels = graph.shape(node.inputs[0])
    axes = {axis % 3 for axis in node.axes}
    window = (rows if 0 in axes else 1, columns if 1 in axes else 1)
    shape = (rows // window[0], columns // window[1], channels)
    pooled = node.output if graph.shape(node.output) == shape else f"{node.output}:map"
    graph.tensors[pooled] = Tensor(pooled, shape)
    pool = AveragePool(
        name=node.name,
        inputs=list(node.inputs),
        output=pooled,
        origin=node.origin,
        window=window,
        stride=(1, 1),
    )
    if pooled == node.output:
        return [pool]
    shape = graph.shape(node.output)
    return [
        pool,
        Reshape(
            name=f"{node.name}:shape",
            inputs=[pooled],
            output=node.output,
            origin=node.origin,
            shape=shape,
        ),
    ]


def _padded(graph, node):
    """Rewrites zeros around a map as a depthwise convolution by one."""
    channels = graph.shape(node.inputs[0])[2]
    return [
        Conv(
            name=node.name,
            inputs=list(node.inputs),
            output=node.output,
            origin=node.origin,
            weights=np.ones((channels, 1, 1, 1)),
            groups=channels,
            padding=(*node.before[:2], *node.after[:2]),
        )
    ]


def _pad_support(graph, node, params):
    if (
        len(node.before) != 3
        or node.before[2]
        or node.after[2]
        or min(node.before + node.after) < 0
    ):
        return Support(
            HOST, f"padding {node.before}, {node.after}, rows and columns of a map are padded"
        )
    if node.value != 0:
        return Support(HOST, f"padding with {node.value}: expected 0")
    return Support(DECOMPOSED, "unit tiles, shifted")


def _mean_support(graph, node, params):
    shape = graph.shape(node.inputs[0])
    axes = {axis % len(shape) for axis in node.axes}
    if (
        node.function != "mean"
        or len(shape) != 3
        or 2 in axes
        or stored_shapes(graph, params["n"])[node.inputs[0]] != shape
    ):
        return Support(
            HOST, f"{node.function} over axes {node.axes}: expected a mean over rows and columns"
        )
    return Support(DECOMPOSED, "one product a position")


@dataclass(frozen=True)
class Rewriting:
    """A kind of node that the core computes as nodes of other kinds.

    Attributes
    ----------
    support : function of graph, node and parameters that gives the support check's answer
    nodes : function of graph and node that gives the nodes instead
    """

    support: Callable[[Graph, Any, Mapping[str, Any]], Support]
    nodes: Callable[[Graph, Any], list[Node]]


#: Kind -> its rewriting. A kind that is added here needs no other place of this back end.
REWRITINGS: dict[type[Node], Rewriting] = {
    Affine: Rewriting(lambda *_: Support(DECOMPOSED, "diagonal tiles"), _scaled),
    Pad: Rewriting(_pad_support, _padded),
    Reduce: Rewriting(_mean_support, _mean),
}
