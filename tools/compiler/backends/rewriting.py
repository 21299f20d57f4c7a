# SPDX-License-Identifier: BSD-2-Clause
"""Rewriting of graphs that several back ends share: shape checks of matrix products of two
activations, whose transposed second operand is fused, and interleaving of phases: a Concat and a
Reshape that put the rows and columns of smaller maps side by side, as ConvTranspose, Resize and
DepthToSpace are imported.

A map of ``down`` x ``across`` times the rows and columns of its phases has the element (row,
column) of phase (p, q) at (row * ``down`` + p, column * ``across`` + q). The Concat joins the row
phases along the columns, or column phases along the channels; the Reshape moves no element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..graph import Concat, Graph, MatMul, MaxPool, Node, Reshape, Tensor, Transpose

__all__ = [
    "Interleaved",
    "against_product",
    "interleaved",
    "is_interleaving",
    "is_whole_maximum",
    "join_turned",
    "joins_rows",
    "maxima_in_steps",
    "turns",
    "windows_in_steps",
]


#: Stride of the windows that a maximum over a whole map begins with. They overlap, so that they end
#: with the map and want no padding, and have at most 13 elements a side.
_STRIDE = 7


def is_whole_maximum(graph: Graph, node: MaxPool) -> bool:
    """Whether a maximum is that of a whole map, without padding."""
    return tuple(node.window) == graph.shape(node.inputs[0])[:2] and not any(node.padding)


def maxima_in_steps(graph: Graph, most: int) -> Graph:
    """Replaces maxima of whole maps with more than ``most`` rows or columns, at least 13, by maxima
    of windows along one axis and then of their results; returns a new graph."""
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        if isinstance(node, MaxPool) and is_whole_maximum(graph, node):
            rows, columns = node.window
            while max(rows, columns) > most:
                name = f"{node.name}:windows of {rows} x {columns}"
                # Columns first: a line of windows of one row takes least.
                length = columns if columns > most else rows
                side = _STRIDE + length % _STRIDE
                part = replace(
                    node,
                    name=name,
                    output=name,
                    window=(1, side) if columns > most else (side, 1),
                    stride=(1, _STRIDE) if columns > most else (_STRIDE, 1),
                )
                tensors[name] = Tensor(name, part.shape_of(tensors[node.inputs[0]].shape))
                rows, columns, _ = tensors[name].shape
                nodes.append(part)
                node = replace(node, inputs=[name], window=(rows, columns), stride=(1, 1))
        nodes.append(node)
    return replace(graph, nodes=nodes, tensors=tensors)


def windows_in_steps(
    graph: Graph,
    most: int,
    most_stride: int,
    is_held: Callable[[tuple[int, int], int], bool] = lambda window, channels: True,
) -> Graph:
    """Replaces maxima of windows or at strides that are too large by maxima of smaller windows, and
    of their results, until single elements remain, one stride apart; returns a new graph.

    Parameters
    ----------
    most : rows and columns of a window, at most
    most_stride : of its stride
    is_held : callable(window, channels), whether the core's buffers hold a window; if not, maxima
        of its columns come before those of its rows
    """
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        number, channels = 0, graph.shape(node.output)[-1]
        while isinstance(node, MaxPool) and (
            max(node.window) > most
            or (max(node.stride) > most_stride and max(node.window) > 1)
            or (min(node.window) > 1 and not is_held(node.window, channels))
        ):
            number += 1
            steps = [_first_step(_Axis.of(node, axis), most, most_stride) for axis in (0, 1)]
            window = (steps[0][0].window, steps[1][0].window)
            if min(window) > 1 and not is_held(window, channels):
                # The rows wait for the columns.
                steps[0] = (_Axis(1, 1, 0, 0), _Axis.of(node, 0))
            name = f"{node.name}:windows {number}"
            part = _Axis.put([first for first, _ in steps], replace(node, name=name, output=name))
            tensors[name] = Tensor(name, part.shape_of(tensors[node.inputs[0]].shape))
            nodes.append(part)
            node = _Axis.put([rest for _, rest in steps], replace(node, inputs=[name]))
        nodes.append(node)
    return replace(graph, nodes=nodes, tensors=tensors)


@dataclass(frozen=True)
class _Axis:
    """Windows along one axis: elements, stride, padding before and behind."""

    window: int
    stride: int
    before: int
    behind: int

    @staticmethod
    def of(node: MaxPool, axis: int) -> _Axis:
        """Those of a node."""
        return _Axis(
            node.window[axis], node.stride[axis], node.padding[axis], node.padding[axis + 2]
        )

    @staticmethod
    def put(axes: list[_Axis], node: MaxPool) -> MaxPool:
        """The node with these windows."""
        rows, columns = axes
        return replace(
            node,
            window=(rows.window, columns.window),
            stride=(rows.stride, columns.stride),
            padding=(rows.before, columns.before, rows.behind, columns.behind),
        )


def _first_step(axis: _Axis, most: int, most_stride: int) -> tuple[_Axis, _Axis]:
    """Maxima that overlap or touch along one axis, and the maxima of their results."""
    window, stride, padding = axis.window, axis.stride, max(axis.before, axis.behind)
    if window <= most and stride <= most_stride:
        return axis, _Axis(1, 1, 0, 0)
    # No window lies in padding alone. Without padding, that of such a step has less than twice its
    # elements.
    for step in range(min(most_stride, (most + 1) // 2), 1, -1):
        first = most - (most - window) % step if padding else step + window % step
        first = min(window, first)
        if stride % step == 0 and first > padding:
            rest = _Axis((window - first) // step + 1, stride // step, 0, 0)
            return _Axis(first, step, axis.before, axis.behind), rest
    # The results of such a step lie in as much of the padding as its windows reach.
    first = min(window, most)
    before, behind = (min(side, first - 1) for side in (axis.before, axis.behind))
    rest = _Axis(window - first + 1, stride, axis.before - before, axis.behind - behind)
    return _Axis(first, 1, before, behind), rest


def turns(graph: Graph, node: Transpose) -> bool:
    """Whether a Transpose swaps the last two axes of two or three and leaves the first of three in
    place."""
    return (
        isinstance(node, Transpose)
        and tuple(node.order) in ((1, 0), (0, 2, 1))
        and len(node.order) == len(graph.shape(node.inputs[0]))
    )


def joins_rows(graph: Graph, node: Node) -> bool:
    """Whether a Concat joins rows or columns, and does not interleave them."""
    return (
        isinstance(node, Concat)
        and node.axis % len(graph.shape(node.output)) != len(graph.shape(node.output)) - 1
        and not is_interleaving(graph, node)
    )


def against_product(graph: Graph, node: MatMul) -> str | None:
    """Reason why a MatMul is not a product of two activation matrices, or of equally many pairs of
    them; ``None`` if it is."""
    first, second = (graph.shape(name) for name in node.inputs)
    if any(graph.tensors[name].data is not None for name in node.inputs):
        return "a product with a constant: expected two tensors that flow"
    if len(first) != len(second) or len(first) not in (2, 3) or first[:-2] != second[:-2]:
        return (
            f"a product of shapes {first} and {second}: expected two matrices or equally many "
            f"pairs of them"
        )
    return None


def join_turned(graph: Graph) -> Graph:
    """Fuses Transposes into the products that read them as second operand
    (:class:`~..graph.MatMul`, ``turned``); returns a new graph without Transposes that nobody
    reads."""
    makers = {node.output: node for node in graph.nodes}
    nodes = []
    for node in graph.nodes:
        if isinstance(node, MatMul) and not node.turned:
            move = makers.get(node.inputs[1])
            if isinstance(move, Transpose) and turns(graph, move):
                node = replace(node, inputs=[node.inputs[0], move.inputs[0]], turned=True)
        nodes.append(node)
    read = {name for node in nodes for name in node.inputs} | graph.kept()
    nodes = [node for node in nodes if not isinstance(node, Transpose) or node.output in read]
    used = {name for node in nodes for name in (*node.inputs, node.output)} | {
        port.tensor for port in (*graph.inputs, *graph.outputs)
    }
    return Graph(
        graph.name,
        list(graph.inputs),
        list(graph.outputs),
        nodes,
        {name: tensor for name, tensor in graph.tensors.items() if name in used},
    )


@dataclass(frozen=True)
class Interleaved:
    """A map that is made of phases.

    Attributes
    ----------
    shape : (rows, columns, channels) of the map
    factors : (down, across), numbers of row phases and of column phases
    phases : tuple (row phases) of tuple (column phases) of (tensor, its first channel)
    """

    shape: tuple[int, int, int]
    factors: tuple[int, int]
    phases: tuple[tuple[tuple[str, int], ...], ...]


def interleaved(graph: Graph, node: Node) -> Interleaved | None:
    """The map that ``node`` interleaves, if it is the Concat of phases in front of a Reshape, or a
    Reshape that interleaves columns by itself; else ``None``."""
    if isinstance(node, Concat):
        return _of_concat(graph, node)
    if isinstance(node, Reshape) and not _reads_phases(graph, node):
        source = node.inputs[0]
        return _of_columns(graph.shape(source), node.shape, [source], graph)
    return None


def is_interleaving(graph: Graph, node: Node) -> bool:
    """Whether ``node`` interleaves phases, or is the Reshape behind a Concat that does."""
    return interleaved(graph, node) is not None or (
        isinstance(node, Reshape) and _reads_phases(graph, node)
    )


def _reads_phases(graph, node):
    maker = graph.maker(node.inputs[0])
    return isinstance(maker, Concat) and _of_concat(graph, maker) is not None


def _of_concat(graph, node):
    """:class:`Interleaved` of a Concat that nothing but a Reshape reads."""
    readers, sources = graph.readers(node.output), node.inputs
    if (
        len(readers) != 1
        or not isinstance(readers[0], Reshape)
        or node.output in graph.kept()
        or len(readers[0].shape) != 3
        or len(graph.shape(node.output)) != 3
        or any(graph.tensors[name].data is not None for name in sources)
    ):
        return None
    axis, shape = node.axis % 3, tuple(readers[0].shape)
    if axis == 2:
        return _of_columns(graph.shape(node.output), shape, sources, graph)
    phase = graph.shape(sources[0])
    down, across = len(sources), shape[1] // phase[1]
    if (
        axis == 0
        or any(graph.shape(name) != phase for name in sources)
        or shape != (phase[0] * down, phase[1] * across, phase[2] // max(across, 1))
    ):
        return None
    columns = tuple(at * shape[2] for at in range(across))
    return Interleaved(
        shape, (down, across), tuple(tuple((name, at) for at in columns) for name in sources)
    )


def _of_columns(before, after, sources, graph):
    """:class:`Interleaved` of columns alone, from the shapes before and after the Reshape."""
    if len(before) != 3 or len(after) != 3 or before[0] != after[0]:
        return None
    across, rest = divmod(after[1], before[1])
    if across < 2 or rest or before[2] != across * after[2]:
        return None
    phases = []
    for name in sources:
        channels = graph.shape(name)[2]
        if channels % after[2]:
            return None
        phases += [(name, at) for at in range(0, channels, after[2])]
    return Interleaved(tuple(after), (1, across), (tuple(phases),))
