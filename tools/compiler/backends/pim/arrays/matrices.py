# SPDX-License-Identifier: BSD-2-Clause
"""Layers as matrices of the array: rows, columns and order of operands of each multiplication; and
splitting of layers whose weights exceed the arrays, by outputs and by summed inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....graph import Concat, Conv, Dense, Graph, Node, Reshape, Slice, Tensor

if TYPE_CHECKING:
    from ....quantised import Integer, Quantised

__all__ = [
    "MOST_ARRAYS",
    "MOST_ROWS",
    "DenseTiling",
    "Matrix",
    "Need",
    "demand",
    "dense_tiling",
    "gathers",
    "matrices_of",
    "most_rows",
    "split_layers",
]


#: Rows and columns of a group, and arrays that it may be cut into.
MOST_ROWS = MOST_COLS = 1024
MOST_ARRAYS = 16


@dataclass
class Need:
    """A layer's demand. ``arrays``, ``biases``, ``groups``: resources of a core that holds it.
    ``cycles``: time of all its work on one core. ``floor``: least time on any number of cores.
    ``most``: greatest number of cores that can share it. ``extra``: further cycles of each if
    several share it. ``placement``: the cores that must hold it (``None``: any). ``least``: number
    of cores that hold it at least. ``cores``: the cores that hold it, filled by
    :func:`~.assign.assign`."""

    name: str
    arrays: int
    biases: int
    groups: int
    cycles: int
    floor: int
    most: int
    extra: int = 0
    placement: tuple[int, ...] | None = None
    least: int = 1
    cores: list[int] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """Whether any core may hold it, by itself or with others."""
        return self.placement is None and self.least == 1

    def time(self, cores: int) -> float:
        """Estimated cycles of the layer on a number of cores."""
        return max(self.cycles / cores + (self.extra if cores > 1 else 0), self.floor)


@dataclass(frozen=True, eq=False)
class Matrix:
    """One array multiplication, which computes ``wide`` positions at once.

    Attributes
    ----------
    kernel : int8 [rows of the window, columns, channels, outputs]; bias :
        int32 [outputs] or ``None``; shift : int
    first : first channel of the source that it takes
    out : first channel of the result
    stride : columns from one position to the next
    """

    kernel: np.ndarray
    bias: np.ndarray | None
    shift: int
    first: int
    out: int
    stride: int = 1
    wide: int = 1

    @property
    def count(self) -> int:
        """Number of source channels."""
        return self.kernel.shape[2]

    @property
    def outputs(self) -> int:
        """Number of outputs per multiplication."""
        return self.kernel.shape[3]

    @property
    def columns(self) -> int:
        """Source columns under the window of a multiplication, if they are contiguous."""
        return (self.wide - 1) * self.stride + self.kernel.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the group."""
        return self.kernel.shape[0] * self.columns * self.count, self.wide * self.outputs

    def arrays(self, params: Mapping[str, Any]) -> int:
        """Number of arrays that the matrix occupies."""
        rows, cols = self.shape
        return -(-rows // params["xb_rows"]) * -(-cols // params["xb_cols"])

    def cycles(self, params: Mapping[str, Any]) -> float:
        """Cycles of the matrix unit per position in continuous operation."""
        rows, cols = self.shape
        return (rows * -(-cols // params["lanes"]) + 4) / self.wide

    def group(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The matrix as a group: (weights int8 [rows, cols], bias int32 [cols] or ``None``), with
        the kernel repeated for every position."""
        kh, kw, channels, outputs = self.kernel.shape
        matrix = np.zeros((kh, self.columns, channels, self.wide, outputs), np.int8)
        for k in range(self.wide):
            matrix[:, k * self.stride : k * self.stride + kw, :, k] = self.kernel
        return matrix.reshape(self.shape), None if self.bias is None else np.tile(
            self.bias, self.wide
        )


def _together(node, params, cores):
    """Number of convolution groups that one matrix computes: products with zeros are free while
    they occupy idle lanes."""
    out, inner = node.weights.shape[0] // node.groups, node.weights.shape[3]
    taps = node.weights.shape[1] * node.weights.shape[2]
    # No more than leaves every core a share: then each holds, and works on, channels of its own.
    return max(
        1,
        min(
            -(-node.groups // cores),
            params["lanes"] // max(out, 1),
            most_rows(params) // max(taps * inner, 1),
        ),
    )


def most_rows(params: Mapping[str, Any]) -> int:
    """Greatest number of rows of one group."""
    return min(MOST_ROWS, min(MOST_ARRAYS, params["arrays"]) * params["xb_rows"])


def _cut_columns(rows, total, biased, params):
    """Output ranges (first, end) of matrices of ``rows`` rows: as few as fit the groups of one
    core, in whole arrays."""
    wide = params["xb_cols"]
    most = (
        min(
            MOST_COLS // wide,
            min(MOST_ARRAYS, params["arrays"]) // -(-rows // params["xb_rows"]),
            *([params["bias_words"] // wide] if biased else []),
        )
        * wide
    )
    # Where not even one array's outputs fit, the search for free arrays reports what is needed.
    step = -(-total // -(-total // most) // wide) * wide if 0 < most < total else total
    return [(first, min(first + step, total)) for first in range(0, total, step)]


def matrices_of(
    node: Conv, numbers: Integer, params: Mapping[str, Any], width: int, *, whole: bool = False
) -> list[Matrix]:
    """The :class:`Matrix` list of a convolution with its integer weights and bias (``Integer``) and
    ``width`` results per row; ``whole``: for a core that computes all channels, whose results are
    contiguous."""
    kernel, bias, shift = (
        numbers.weights.transpose(1, 2, 3, 0).astype(np.int8),
        numbers.bias,
        int(numbers.shift.flat[0]),
    )
    kh, kw, inner, total = kernel.shape
    found, each, together = (
        [],
        total // node.groups,
        _together(node, params, 1 if whole else params["cores"]),
    )
    for g in range(0, node.groups, together):
        count = min(together, node.groups - g)
        if count == 1:
            for first, end in _cut_columns(kh * kw * inner, each, bias is not None, params):
                a, b = g * each + first, g * each + end
                found.append(
                    Matrix(
                        kernel[..., a:b], _int32(bias, a, b), shift, g * inner, a, node.stride[1]
                    )
                )
            continue
        block = np.zeros((kh, kw, count, inner, count, each), np.int8)
        for k in range(count):
            block[:, :, k, :, k] = kernel[..., (g + k) * each : (g + k + 1) * each]
        found.append(
            Matrix(
                block.reshape(kh, kw, count * inner, count * each),
                _int32(bias, g * each, (g + count) * each),
                shift,
                g * inner,
                g * each,
                node.stride[1],
            )
        )
    if node.dilation[1] > 1 or (whole or node.groups == 1) and len(found) > 1:
        return found
    return [_widened(matrix, params, width) for matrix in found]


def _widened(matrix, params, width):
    """Widens matrices to several positions at once: the width with the fewest cycles that needs no
    further array. Lanes that would idle compute the next position."""
    options = [replace(matrix, wide=wide) for wide in range(1, min(width, 16) + 1)]
    options = [
        m
        for m in options
        if m.arrays(params) <= matrix.arrays(params)
        and max(m.shape) <= MOST_ROWS
        and m.wide * m.outputs <= max(params["bias_words"] // 8, m.outputs)
    ]
    return min(options, key=lambda m: (m.cycles(params), m.wide), default=matrix)


def demand(matrices: Sequence[Matrix], params: Mapping[str, Any]) -> tuple[int, int, int]:
    """Resources that ``matrices`` occupy on a core: (arrays, biases, groups)."""
    return (
        sum(m.arrays(params) for m in matrices),
        sum(m.shape[1] for m in matrices if m.bias is not None),
        len(matrices),
    )


#: Bytes of local memory for an output that is a sum of partial sums: the sum, the next partial sum,
#: and the places by which it is shifted.
_SUMMED = 12


@dataclass(frozen=True)
class DenseTiling:
    """How cores compute a dense layer.

    Attributes
    ----------
    columns : outputs that a group computes; groups of other outputs may be other cores'
    splits : pairs (first input, number of inputs); several groups, one each, make partial sums of
        32 bits
    streamed : whether local memory holds the inputs of one split at a time, else all
    """

    columns: int
    splits: tuple[tuple[int, int], ...]
    streamed: bool

    def memory(self, sizes: Sequence[int]) -> int:
        """Bytes of local memory; ``sizes``: bytes of an element of the source and of the result."""
        inputs = max(n for _, n in self.splits) if self.streamed else sum(n for _, n in self.splits)
        summed = _SUMMED if len(self.splits) > 1 else 0
        return inputs * sizes[0] + self.columns * (sizes[1] + summed)

    def arrays(self, params: Mapping[str, Any]) -> int:
        """Arrays of the groups that compute the same outputs."""
        return sum(-(-n // params["xb_rows"]) for _, n in self.splits)


def dense_tiling(
    quantised: Quantised, node: Dense, params: Mapping[str, Any]
) -> DenseTiling | None:
    """Chooses the tiling of a dense layer: all its inputs in local memory if they fit beside as
    many outputs as an array has columns, otherwise that with the fewest arrays, of these with the
    fewest groups. Returns ``None`` if none fits."""
    outputs, rows = node.weights.shape
    sizes = tuple(quantised.scales[name].bits // 8 for name in (node.inputs[0], node.output))
    tall, memory = params["xb_rows"], params["lmem_bytes"]
    most = min(MOST_ROWS, MOST_ARRAYS * tall)

    def tiling(columns, step, streamed):
        splits = tuple((k, min(step, rows - k)) for k in range(0, rows, step))
        return DenseTiling(columns, splits, streamed)

    def fits(found):
        is_summed = len(found.splits) > 1
        return found.memory(sizes) <= memory and not (is_summed and params["max_biw"] < 32)

    columns = min(params["xb_cols"], outputs)
    whole = tiling(columns, most, False)
    if fits(whole):
        return whole
    found = []
    while columns:
        piece = min((memory - columns * (sizes[1] + _SUMMED)) // sizes[0], most)
        found.append(tiling(columns, most, False))
        if piece > 0:
            # Whole arrays, if there is memory for the inputs of one.
            found.append(tiling(columns, piece - piece % tall if piece > tall else piece, True))
        columns //= 2
    return min(
        filter(fits, found),
        key=lambda one: (
            -(-outputs // one.columns) * one.arrays(params),
            -(-outputs // one.columns) * len(one.splits),
        ),
        default=None,
    )


def _int32(bias, a, b):
    return None if bias is None else np.ascontiguousarray(bias[a:b], np.int32)


def gathers(node: Conv, matrix: Matrix, alone: bool) -> list[tuple[int, int, int]]:
    """Contiguous runs of a window: ``(row, column, columns)`` of each; ``alone``: the memory
    between them holds no other channels."""
    kh = node.weights.shape[1]
    if alone and node.dilation[1] == 1:
        return [(r * node.dilation[0], 0, matrix.columns) for r in range(kh)]
    return [
        (r * node.dilation[0], c * node.dilation[1], 1)
        for r in range(kh)
        for c in range(matrix.columns)
    ]


#: Layers that replace one that the arrays do not hold, from (graph, node, tensors so far); ``None``
#: if there are none.
Replacement: TypeAlias = Callable[[Graph, Node, dict[str, Tensor]], "list[Node] | None"]


def split_layers(
    graph: Graph,
    params: Mapping[str, Any],
    held: Callable[[Sequence[Node], Graph], bool],
    otherwise: Replacement,
) -> Graph:
    """Splits layers that exceed the arrays into several that fit; returns a new graph.

    Outputs are shared out among layers, whose results a Concat joins. A sum of more products than a
    group has rows becomes a sum of partial sums, which are a tensor like others: a convolution's
    groups are splits of the channels, and a product with ones adds up their results. A vector is a
    place of a map; one that is too long even for that is read in turns.

    Parameters
    ----------
    graph : Graph
    params : dict, the build's parameters
    held : callable(nodes, graph), whether the arrays hold these nodes' weights at once
    otherwise : what to do with a layer that has no such splits; it adds to the tensors

    Returns
    -------
    Graph
        A layer without small enough splits is left as it is.
    """
    nodes: list[Node] = []
    tensors = dict(graph.tensors)
    for node in graph.nodes:
        if not isinstance(node, Conv | Dense) or held([node], graph):
            nodes.append(node)
            continue
        nodes += (
            _cut(graph, node, params, held, tensors) or otherwise(graph, node, tensors) or [node]
        )
    return replace(graph, nodes=nodes, tensors=tensors)


def _cut(graph, node, params, held, tensors):
    """Layers that replace ``node``, with their tensors added to ``tensors``; ``None`` if it cannot
    be split."""
    (outputs, *_, summed), wide, most = node.weights.shape, params["xb_cols"], most_rows(params)
    counts = 1 if isinstance(node, Conv) and node.groups > 1 else -(-outputs // wide)
    turns = 1 if isinstance(node, Conv) or node.steps else -(-summed // most)
    tried = [(number, 1) for number in range(1, counts + 1)] + [
        (counts, turn) for turn in range(2, turns + 1)
    ]
    for again in (False, True):
        for number, turn in tried:
            splitting = _Splitting(
                replace(graph, tensors=tensors), node, most, -(-summed // turn // most) * most
            )
            splitting.make(-(-outputs // number // wide) * wide if number > 1 else outputs)
            more, nodes = {**tensors, **splitting.tensors}, []
            for layer in splitting.nodes:
                # There may be more partial sums than can be added up at once, but they are fewer
                # than what they were made of.
                inside, cut = replace(graph, nodes=splitting.nodes, tensors=more), [layer]
                if isinstance(layer, Conv | Dense) and not held([layer], inside):
                    cut = (
                        _cut(inside, layer, params, held, more)
                        if again and layer.weights.shape[-1] < summed
                        else None
                    )
                if cut is None:
                    break
                nodes += cut
            else:
                tensors.update(more)
                return nodes
    return None


def _parts(summed, most):
    """The least number of equal splits of at most ``most``; ``None`` if no number gives much
    smaller ones."""
    return next(
        (n for n in range(-(-summed // most), 2 * -(-summed // most)) if summed % n == 0), None
    )


class _Splitting:
    """Builds the layers and tensors that replace one node. ``most``: greatest number of rows of
    a group; ``turn``: number of elements of a vector that are read at a time, a multiple of
    ``most``."""

    def __init__(self, graph, node, most, turn):
        self.graph, self.node, self._most, self._turn = graph, node, most, turn
        self._first, self._sums, self._sources, self._flat, self.tensors = [], [], {}, None, {}

    @property
    def nodes(self):
        """The new nodes in order: all partial sums precede their reader, so that the arrays are
        filled once even if each split fills them."""
        return self._first + self._sums

    def make(self, step):
        """Builds the layers for splits of ``step`` outputs."""
        node, outputs, results = self.node, len(self.node.weights), []
        if step >= outputs:
            self._layer(node)
            return
        for begin in range(0, outputs, step):
            some = slice(begin, min(begin + step, outputs))
            scale = (
                node.weight_scale
                if node.weight_scale is None or np.size(node.weight_scale) != outputs
                else node.weight_scale[some]
            )
            name = self._tensor((*self.graph.shape(node.output)[:-1], some.stop - some.start))
            self._layer(
                replace(
                    node,
                    name=name,
                    output=name,
                    weights=node.weights[some],
                    bias=None if node.bias is None else node.bias[some],
                    weight_scale=scale,
                )
            )
            results.append(name)
        self._sums.append(
            self._concatenated(
                results, len(self.graph.shape(node.output)) - 1, node.name, node.output
            )
        )

    def _tensor(self, shape):
        name = next(
            name
            for n in count()
            if (name := f"{self.node.name}:{n}") not in self.tensors
            and name not in self.graph.tensors
        )
        self.tensors[name] = Tensor(name, tuple(shape))
        return name

    def _concatenated(self, names, axis, name, output):
        return Concat(name=name, inputs=names, output=output, origin=self.node.origin, axis=axis)

    def _layer(self, node):
        """Builds ``node`` as one layer, or from partial sums."""
        summed = node.weights.shape[-1]
        if isinstance(node, Dense):
            parts = summed > self._most and self._parts_of_vector(summed, node.steps)
            (self._summed_vector(node, parts) if parts else self._first.append(node))
            return
        most = self._most // (node.weights.shape[1] * node.weights.shape[2])
        parts = summed > most > 0 and _parts(summed, most)
        (self._summed_map(node, parts) if parts else self._first.append(node))

    def _parts_of_vector(self, summed, steps):
        """Splits of a vector, or of every step of a sequence: (first element, elements, splits)
        that are read at a time; empty if there is no way."""
        parts = _parts(summed, self._most)
        if parts and summed <= self._turn:
            return [(0, summed, parts)]
        if steps:
            return []
        # Whole turns, the whole parts that are left, the rest.
        found, begin = [], 0
        while begin < summed:
            left = summed - begin
            some = min(self._turn, left // self._most * self._most) or left
            found.append((begin, some, -(-some // self._most)))
            begin += some
        return found

    def _partial(self, node, source, weights, parts, shape, **window):
        """A convolution with ``parts`` partial sums per output, ordered by channel split and,
        within each, by group."""
        output, outputs = self._tensor((*shape, parts * len(weights))), len(weights)
        groups = window.pop("groups", 1)
        own = weights.reshape(groups, outputs // groups, *weights.shape[1:3], parts, -1)
        own = np.moveaxis(own, 4, 1).reshape(parts * outputs, *weights.shape[1:3], -1)
        self._first.append(
            Conv(
                name=output,
                inputs=[source],
                output=output,
                origin=node.origin,
                weights=np.ascontiguousarray(own),
                groups=parts * groups,
                **window,
            )
        )
        return output

    def _summed_map(self, node, parts):
        sums = self._partial(
            node,
            node.inputs[0],
            node.weights,
            parts,
            self.graph.shape(self.node.output)[:2],
            groups=node.groups,
            stride=node.stride,
            padding=node.padding,
            dilation=node.dilation,
        )
        each = len(node.weights) // node.groups
        ones = np.tile(np.eye(each), (node.groups, parts)).reshape(
            len(node.weights), 1, 1, parts * each
        )
        self._sums.append(
            Conv(
                name=node.name,
                inputs=[sums],
                output=node.output,
                origin=node.origin,
                weights=ones,
                bias=node.bias,
                groups=node.groups,
                activation=node.activation,
            )
        )

    def _summed_vector(self, node, turns):
        steps, outputs = (
            self.graph.shape(self.node.output)[0] if node.steps else 1,
            len(node.weights),
        )
        sums = []
        for begin, some, parts in turns:
            source = self._place(node.inputs[0], steps, begin, some)
            sums.append(
                self._partial(
                    node,
                    source,
                    node.weights[:, None, None, begin : begin + some],
                    parts,
                    (steps, 1),
                )
            )
        together = sum(parts for _, _, parts in turns)
        if len(sums) > 1:
            name = self._tensor((1, 1, together * outputs))
            self._sums.append(self._concatenated(sums, 2, name, name))
            sums = [name]
        if node.steps:
            sums = [self._same(Reshape, sums[0], (steps, together * outputs), self._sums)]
        self._sums.append(
            Dense(
                name=node.name,
                inputs=sums,
                output=node.output,
                origin=node.origin,
                weights=np.tile(np.eye(outputs), together),
                bias=node.bias,
                activation=node.activation,
                steps=node.steps,
            )
        )

    def _place(self, source, steps, begin, some):
        """Selects elements of a vector, or of every step of a sequence, as a map of one column; all
        outputs share the result."""
        key = begin, some
        if key not in self._sources:
            size = self.graph.tensors[source].size
            if steps * some != size:
                if len(self.graph.shape(source)) > 1:
                    source = self._flat = self._flat or self._same(Reshape, source, (size,))
                source = self._same(
                    Slice, source, (some,), start=(begin,), stop=(begin + some,), step=(1,)
                )
            self._sources[key] = self._same(Reshape, source, (steps, 1, some))
        return self._sources[key]

    def _same(self, kind, source, shape, into=None, **attributes):
        """Adds a reshape or slice, which changes addresses but moves no elements."""
        output = self._tensor(shape)
        attributes = attributes or {"shape": tuple(shape)}
        (self._first if into is None else into).append(
            kind(name=output, inputs=[source], output=output, origin=self.node.origin, **attributes)
        )
        return output
