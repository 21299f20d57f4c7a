# SPDX-License-Identifier: BSD-2-Clause
"""Largest layer that fits: for a node that a build refuses, the greatest size of one of its
dimensions with which the same build takes it, found by bisecting the compiler's own checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from .graph import (
    AveragePool,
    Conv,
    Dense,
    Graph,
    Gru,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Port,
    Reshape,
    Slice,
    Tensor,
    TopK,
)

__all__ = ["Dimension", "alone", "dimensions", "largest_that_fits"]


@dataclass(frozen=True)
class Dimension:
    """One dimension of a node that may be smaller.

    Attributes
    ----------
    what : name of the dimension, as it follows "the largest"
    size : of the node
    made : callable(size), the node with this size and the shapes of its operands
    square : the size counts both sides, as of a kernel
    least : size below which it is another kind of layer
    """

    what: str
    size: int
    made: Callable[[int], tuple[Node, list[tuple[int, ...]]]]
    square: bool = False
    least: int = 1

    def text(self, size: int) -> str:
        """Text of a message that names ``size`` as the largest."""
        shown = f"{size:,} x {size:,}" if self.square else f"{size:,}"
        return f"the largest {self.what} that fits is {shown}"


def largest_that_fits(graph: Graph, node: Node, fits: Callable[[Graph], bool]) -> str:
    """Text that names the largest size of the first dimension by which a node that does not fit
    can be made to; empty if no dimension helps, or if the node by itself fits.

    Parameters
    ----------
    graph : Graph of the node
    node : Node
    fits : callable(graph), whether the build takes a network of one node
    """
    shapes = [graph.shape(name) for name in node.inputs]

    def taken(changed, operands):
        try:
            return fits(alone(graph, changed, operands))
        except ValueError:  # sizes that make no node
            return False

    for dimension in dimensions(node, shapes):
        low, high = dimension.least, dimension.size - 1
        if high < low or not taken(*dimension.made(low)):
            continue
        if taken(node, shapes):
            return ""
        while low < high:
            middle = (low + high + 1) // 2
            if taken(*dimension.made(middle)):
                low = middle
            else:
                high = middle - 1
        return dimension.text(low)
    return ""


def alone(graph: Graph, node: Node, shapes: list[tuple[int, ...]]) -> Graph:
    """A network of one node, whose operands have ``shapes``. Constants are cut to them. Raises
    ValueError if the node does not take these shapes."""
    made = Graph("alone")
    for name, shape in zip(node.inputs, shapes, strict=True):
        if name in made.tensors:
            continue
        data = graph.tensors[name].data
        if data is not None:
            data = np.asarray(data)[tuple(slice(0, n) for n in shape)]
        else:
            made.inputs.append(Port(name, name, tuple(range(len(shape))), shape))
        made.tensors[name] = Tensor(name, shape, data)
    result = node.shape_of(*shapes)
    if min(result, default=1) < 1:
        raise ValueError(f"a result of shape {result}")
    made.tensors[node.output] = Tensor(node.output, result)
    made.nodes.append(node)
    made.outputs.append(Port(node.output, node.output, tuple(range(len(result))), result))
    return made


@singledispatch
def dimensions(node: Node, shapes: list[tuple[int, ...]]) -> Iterator[Dimension]:
    """Dimensions of a node that may be smaller, the one that is most often at fault first;
    ``shapes``: of its operands."""
    names = {1: ["vector"], 2: ["row", "sequence"]}
    most = max(shapes, key=len, default=())
    # Several axes of one length would be made smaller together.
    listed = names.get(len(most), ["number of channels", "number of columns", "number of rows"])
    for behind, what in enumerate(listed, 1):
        if behind <= len(most):
            yield Dimension(what, most[-behind], _Shorter(node, shapes, behind))


class _Shorter:
    """The node with one axis of all its operands shorter; ``behind``: the axis, counted from the
    last, which is 1. Operands that repeat along it stay."""

    def __init__(self, node, shapes, behind):
        self._node, self._shapes, self._behind = node, shapes, behind

    def __call__(self, size):
        shapes = []
        for shape in self._shapes:
            if len(shape) >= self._behind and shape[-self._behind] > 1:
                axis = len(shape) - self._behind
                shape = (*shape[:axis], min(size, shape[axis]), *shape[axis + 1 :])
            shapes.append(shape)
        changed: dict[str, Any] = {}
        if self._behind == 1:
            for name in ("scale", "shift"):
                numbers = getattr(self._node, name, None)
                if np.ndim(numbers):
                    changed[name] = np.asarray(numbers)[:size]
        return replace(self._node, **changed), shapes


@dimensions.register(Reshape)
@dimensions.register(Slice)
@dimensions.register(TopK)
def _(node, shapes):
    """Their attributes say which elements they take: no other size is the same node."""
    return iter(())


def _cut(numbers, *lengths):
    """An array with at most so many elements along its leading axes; ``None``: all."""
    if numbers is None or not np.ndim(numbers):
        return numbers
    return np.asarray(numbers)[tuple(slice(0, n) for n in lengths[: np.ndim(numbers)])]


def _padding(node, window, smaller):
    """Padding of a smaller window, in proportion."""
    found = []
    for pad, old, new in zip(node.padding, window * 2, smaller * 2, strict=True):
        found.append(pad if new == old else min(pad * (new - 1) // max(old - 1, 1), new - 1))
    return tuple(found)


def _of_map(node, shape, window, cut=None):
    """Dimension of the map that a window slides over; ``cut``: function of (rows, columns) that
    gives the node with a window of at most these, which a smaller map then has."""
    rows, columns, channels = shape
    # The window fits the smallest map with its padding. One of a single element is no layer.
    before, after = node.padding[:2], node.padding[2:]
    least = max(k - a - b for k, a, b in zip(window, before, after, strict=True))

    def smaller(size):
        shape = (min(rows, size), min(columns, size), channels)
        return (node if cut is None else cut(*shape[:2])), [shape]

    what = "number of columns" if rows == 1 else "number of rows" if columns == 1 else "map"
    return Dimension(
        what,
        max(rows, columns),
        smaller,
        square=what == "map",
        least=max(1, least) if cut is None else 2,
    )


@dimensions.register
def _(node: Conv, shapes):
    (rows, columns, channels), *_ = shapes
    out, high, wide, inner = node.weights.shape

    def cut(rows, columns):
        changed = replace(node, weights=node.weights[:, :rows, :columns])
        return replace(changed, padding=_padding(node, node.window, changed.window))

    if high * wide > 1:
        what = f"kernel with {channels:,} channels" if node.groups == 1 else "kernel"
        yield Dimension(what, max(high, wide), lambda size: (cut(size, size), shapes), square=True)
    if node.groups == 1:
        yield Dimension(
            "number of channels",
            inner,
            lambda size: (
                replace(node, weights=node.weights[..., :size]),
                [(rows, columns, size)],
            ),
        )
        yield Dimension("number of outputs", out, lambda size: (_fewer(node, size), shapes))
    else:
        among = out // node.groups
        yield Dimension(
            "number of groups",
            node.groups,
            lambda size: (
                replace(_fewer(node, among * size), groups=size),
                [(rows, columns, inner * size)],
            ),
            least=2,
        )
    for name in ("dilation", "stride"):
        yield Dimension(name, max(getattr(node, name)), _FewerSteps(node, shapes, name))
    yield _of_map(node, shapes[0], node.window)
    if high * wide > 1:
        yield _of_map(node, shapes[0], node.window, cut)


class _FewerSteps:
    """The node with a smaller ``name``, its dilation or its stride."""

    def __init__(self, node, shapes, name):
        self._node, self._shapes, self._name = node, shapes, name

    def __call__(self, size):
        steps = tuple(min(step, size) for step in getattr(self._node, self._name))
        return replace(self._node, **{self._name: steps}), self._shapes


def _fewer(node, outputs):
    """A layer with fewer results."""
    return replace(
        node,
        weights=node.weights[:outputs],
        **{name: _cut(getattr(node, name), outputs) for name in ("bias", "weight_scale", "floor")},
    )


@dimensions.register(MaxPool)
@dimensions.register(AveragePool)
def _(node, shapes):
    ((rows, columns, channels),) = shapes
    window = tuple(node.window)

    def cut(*sides):
        smaller = tuple(min(n, side) for n, side in zip(window, sides, strict=True))
        return replace(node, window=smaller, padding=_padding(node, window, smaller))

    whole = window == (rows, columns)
    yield _of_map(node, shapes[0], window, cut if whole else None)
    if not whole:
        yield Dimension(
            "window", max(window), lambda size: (cut(size, size), shapes), square=True, least=2
        )
    yield Dimension("stride", max(node.stride), _FewerSteps(node, shapes, "stride"))
    yield Dimension("number of channels", channels, lambda size: (node, [(rows, columns, size)]))
    if not whole:
        yield _of_map(node, shapes[0], window, cut)


@dimensions.register
def _(node: Dense, shapes):
    (shape,) = shapes
    if node.steps or len(shape) == 1:
        yield Dimension(
            "number of inputs",
            shape[-1],
            lambda size: (replace(node, weights=node.weights[:, :size]), [(*shape[:-1], size)]),
        )
    yield Dimension(
        "number of outputs", len(node.weights), lambda size: (_fewer(node, size), shapes)
    )
    if node.steps:
        yield Dimension("sequence", shape[0], lambda size: (node, [(size, *shape[1:])]))


@dimensions.register
def _(node: MatMul, shapes):
    first, second = shapes
    if len(first) < 2 or len(second) < 2:
        return
    inner = -1 if node.turned else -2

    def with_length(shape, axis, size):
        shape = list(shape)
        shape[axis] = size
        return tuple(shape)

    yield Dimension(
        "number of summed elements",
        first[-1],
        lambda size: (
            node,
            [with_length(first, -1, size), with_length(second, inner, size)],
        ),
    )
    yield Dimension(
        "number of rows", first[-2], lambda size: (node, [with_length(first, -2, size), second])
    )
    yield Dimension(
        "number of columns",
        second[-3 - inner],
        lambda size: (node, [first, with_length(second, -3 - inner, size)]),
    )


@dimensions.register(Lstm)
@dimensions.register(Gru)
def _(node, shapes):
    ((steps, features),) = shapes
    states = node.recurrent.shape[1]
    gates = len(node.recurrent) // states

    def fewer_states(size):
        def cut(numbers):
            numbers = np.asarray(numbers)
            if numbers.shape[-1:] == (gates * states,):
                each = numbers.reshape(*numbers.shape[:-1], gates, states)[..., :size]
                return each.reshape(*numbers.shape[:-1], gates * size)
            return numbers[..., :size]

        def rows(weights):
            return weights.reshape(gates, states, -1)[:, :size].reshape(gates * size, -1)

        changed = {"bias": cut(node.bias), "initial": cut(node.initial)}
        if isinstance(node, Lstm):
            changed["cell"] = cut(node.cell)
        recurrent = rows(node.recurrent)[:, :size]
        return replace(node, weights=rows(node.weights), recurrent=recurrent, **changed), shapes

    yield Dimension("number of states", states, fewer_states)
    yield Dimension(
        "number of features",
        features,
        lambda size: (replace(node, weights=node.weights[:, :size]), [(steps, size)]),
    )
    yield Dimension("sequence", steps, lambda size: (node, [(size, features)]))
