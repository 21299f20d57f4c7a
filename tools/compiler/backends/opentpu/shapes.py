# SPDX-License-Identifier: BSD-2-Clause
"""Stored shapes: (rows, columns, channels) for each tensor, chosen so that a reshape only changes
addresses."""

from collections.abc import Sequence
from math import inf

from ...graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Dense,
    Graph,
    MatMul,
    MaxPool,
    Pad,
    Reduce,
    Reshape,
)
from ..interleaving import interleaved

__all__ = [
    "FUNCTIONS",
    "StoredError",
    "as_map",
    "axes_of",
    "dense_parts",
    "nonnegative",
    "reshaped",
    "stored_shapes",
]


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


def nonnegative(graph: Graph, name: str) -> bool:
    """Whether no element of a tensor can be negative, by the operations that produce it."""
    node = graph.maker(name)
    if node is None:
        return False
    if isinstance(node, MaxPool | AveragePool | Reshape | Concat | Pad):
        return all(nonnegative(graph, source) for source in node.inputs)
    activation = node if isinstance(node, Activation) else getattr(node, "activation", None)
    return (
        activation is not None
        and activation.function in ("relu", "clip", "abs")
        and activation.low in (0, -inf)
    )
