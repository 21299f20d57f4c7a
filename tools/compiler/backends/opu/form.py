# SPDX-License-Identifier: BSD-2-Clause
"""Storage form of a network: which tensors are split into channel blocks of 16, in which ones
several positions share a slot, and which tensors share memory.

All of it shows in the results, since partial sums saturate in the order in which channel blocks are
added up; it follows from the graph and from how much memory there is, not from tilings.
"""

from collections.abc import Sequence

import numpy as np

from ...graph import Activation as Act
from ...graph import (
    AveragePool,
    Binary,
    Conv,
    Graph,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reshape,
    Transpose,
)
from ..rewriting import interleaved, joins_rows
from .grid import Grid, Regular, side
from .layers import MOST_STRIDE, NARROW
from .schedule.memory import MOST_PAD, MOST_SIDE
from .stages import Stage

__all__ = ["Form", "map_shape"]

_SLOT = 64
#: Bytes of main memory from which on slots of 64 bytes may hold 16 channels; a smaller one is
#: better kept full.
_ROOMY = 1 << 20


def map_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Shape of a tensor as a map, (rows, columns, channels), from one to three axes: a sequence is
    a map of one column."""
    if len(shape) == 2:
        return shape[0], 1, shape[1]
    rows, columns, channels = (1,) * (3 - len(shape)) + tuple(shape)
    return rows, columns, channels


def _steps(taps, channels):
    """Steps of 16 channels that ``taps`` take."""
    return taps * -(-channels // NARROW)


def _blocks(stride, channels):
    """Blocks (rows, columns) of positions with all their ``channels`` in a slot: of a stride, or of
    divisors of it if a slot does not hold that."""
    if stride[0] * stride[1] * channels <= _SLOT:
        return [tuple(stride)]
    divisors = [[n for n in range(1, step + 1) if step % n == 0] for step in stride]
    return [
        (down, across)
        for down in divisors[0]
        for across in divisors[1]
        if down * across * channels <= _SLOT
    ]


class Form:
    """Storage form of a legalised graph.

    Parameters
    ----------
    graph : Graph
    memory_size : bytes of main memory

    Attributes
    ----------
    split : set of names of tensors in channel blocks of 16
    interleaved : dict, name of a node that makes an interleaved map -> Interleaved
    grids : dict, name of a tensor whose positions share slots -> Grid; ``folds``:
        those of inputs, which hold their padding
    exchanged : whether rows and columns of all maps are exchanged in memory, since the core
        addresses any number of rows, but columns in few instructions only if they are few
    has_long_rows : whether the rows of a map are too long for tiles of several
    """

    def __init__(self, graph: Graph, memory_size: int):
        self.graph = graph
        self._readers: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)
        self._makers = {node.output: node for node in graph.nodes}
        self.interleaved = {
            node.name: found
            for node in graph.nodes
            if (found := interleaved(graph, node)) is not None
        }
        cuts = graph.cuts if isinstance(graph, Stage) else ()
        self.folds = {
            port.tensor: grid
            for port in graph.inputs
            if port.tensor not in cuts and (grid := self._fold(port.tensor)) is not None
        }
        self.grids, self.split = dict(self.folds), set()
        if memory_size >= _ROOMY:
            self._share()
            self.split = self._split() | (set(self.grids) - set(self.folds))
        self.exchanged = (
            not self._addressed(1)
            and (self._addressed(0) or self._longest(0) < self._longest(1))
            and not self._has_products()
        )
        self.has_long_rows = self._longest(0 if self.exchanged else 1) > MOST_SIDE

    def covers(self, graph: Graph) -> bool:
        """Whether all nodes of ``graph`` are in the form's graph."""
        return {node.name for node in graph.nodes} <= {node.name for node in self.graph.nodes}

    def readers(self, name: str) -> list[Node]:
        """Nodes that read a tensor."""
        return self._readers.get(name, [])

    def maker(self, name: str) -> Node | None:
        """The node that makes a tensor, ``None`` for an input."""
        return self._makers.get(name)

    def map_shape(self, name: str) -> tuple[int, int, int]:
        """Shape of a tensor as (rows, columns, channels)."""
        return map_shape(self.graph.shape(name))

    def place(self, name: str) -> tuple[str, tuple[int, int, int]]:
        """Resolves views: (name, shape) of the tensor that holds the memory of ``name``, as the
        core sees it: rows, columns, channels."""
        while isinstance(maker := self.maker(name), Reshape):
            if maker.name in self.interleaved:
                break
            name = maker.inputs[0]
        if maker is not None and maker.name in self.interleaved:
            return name, self.interleaved[maker.name].shape
        readers = self.readers(name)
        if (
            self.maker(name) is None
            and len(self.graph.shape(name)) == 1
            and len(readers) == 1
            and isinstance(readers[0], Reshape)
            and name not in self.graph.kept()
        ):
            return name, map_shape(readers[0].shape)  # an input as its reader wants it
        return name, self.map_shape(name)

    def exchange(self, values: np.ndarray) -> np.ndarray:
        """``values`` [inputs, rows, columns, channels] of the network as the core has them, and the
        other way round."""
        return values.swapaxes(1, 2) if self.exchanged else values

    def packed(self, name: str, values: np.ndarray) -> np.ndarray:
        """Values [inputs, ...] of a tensor as the core has them."""
        grid, values = self.grids.get(name), values.reshape(len(values), *self.place(name)[1])
        return self.exchange(values if grid is None else grid.pack(values))

    # Rows and columns

    def _has_products(self):
        return any(isinstance(node, MatMul | Transpose) for node in self.graph.nodes)

    def _addressed(self, axis):
        """Whether ``axis`` of all maps can be that of the slots of a row, and those of a border are
        made zero by one array."""
        widest = max((self._border(name)[axis] for name in self._flowing()), default=0)
        return widest <= MOST_PAD and self._longest(axis) <= MOST_SIDE

    def _flowing(self):
        """Names of the tensors that are no constants."""
        return [name for name, tensor in self.graph.tensors.items() if tensor.data is None]

    def _longest(self, axis):
        """Slots of the longest map along ``axis``, its border included."""
        lengths = [
            self._core_shape(name)[axis] + 2 * self._border(name)[axis] for name in self._flowing()
        ]
        return max(lengths, default=0)

    def _border(self, name):
        """Width of the border (rows, columns) that the readers of a tensor want around it."""
        wanted = [(0, 0), *(self._padding(node) for node in self.readers(name))]
        return tuple(max(sides) for sides in zip(*wanted, strict=True))

    def _core_shape(self, name):
        grid = self.grids.get(name)
        return self.place(name)[1] if grid is None else grid.shape

    def _padding(self, node):
        """Width of the border (rows, columns) that a node reads around its source."""
        regular = self.regular(node) if isinstance(node, Conv) else None
        if regular is not None:
            top, bottom, left, right = regular.padding
        elif isinstance(node, Conv | MaxPool | AveragePool):
            top, left, bottom, right = node.padding
        elif isinstance(node, Pad):
            (top, left, _), (bottom, right, _) = (
                (*sides[:-1], 0, 0, 0)[:3] for sides in (node.before, node.after)
            )
        elif joins_rows(self.graph, node):
            # Each part has zeros where the others are.
            whole = self.map_shape(node.output)[:2]
            least = [min(self.map_shape(name)[axis] for name in node.inputs) for axis in (0, 1)]
            bottom, right = (length - some for length, some in zip(whole, least, strict=True))
            top = left = 0
        else:
            top = left = bottom = right = 0
        return max(top, bottom), max(left, right)

    # Pieces of 16 channels

    def _split(self):
        """Finds the tensors to be split: those that a grouped convolution reads or makes, and all
        that must have the same layout."""
        like = {}

        def root(name):
            while like.setdefault(name, name) != name:
                name = like[name]
            return name

        wanted = set()
        for node in self.graph.nodes:
            flowing = [name for name in node.inputs if self.graph.tensors[name].data is None]
            if isinstance(node, Conv) and node.groups > 1 and self._narrow(node):
                wanted |= {flowing[0], node.output}
            # Results of sums and of channelwise operations have the layout of their source.
            if isinstance(node, Conv) and len(flowing) > 1:
                flowing = flowing[1:]
            elif not isinstance(node, Act | Binary | MaxPool | AveragePool | Reshape):
                continue
            for name in flowing:
                like[root(name)] = root(node.output)
        flow = self._flowing()
        whole = {
            name
            for node in self.graph.nodes
            if isinstance(node, MatMul | Transpose)
            for name in (*node.inputs, node.output)
        }
        roots = {root(name) for name in wanted} - {
            root(name) for name in flow if name in whole or not self._fits(name)
        }
        return {name for name in flow if root(name) in roots}

    def _narrow(self, node):
        """Whether channel blocks of 16 take fewer steps than maps of 64."""
        inner = node.weights.shape[3]
        return inner <= NARROW and inner * node.groups > NARROW

    def _fits(self, name):
        rows, columns, _ = self.map_shape(name)
        border = max(MOST_PAD, *self._border(name))
        return (max(rows, columns) + 2 * border) * 4 <= MOST_SIDE

    # Positions that share a slot

    def _columns(self, node, grid, result):
        """:class:`Regular` of a convolution on a source of ``grid`` (or ``None``) whose result has
        ``result`` columns in a block."""
        (rows, columns, _), sides = self.map_shape(node.inputs[0]), self.map_shape(node.output)
        block, phase = (grid.block, grid.phase) if grid is not None else ((1, 1), (0, 0))
        whole = node.inputs[0] in self.folds
        found = [
            side(
                taps=k,
                stride=s,
                before=pad,
                phase=p,
                length=n,
                results=r,
                source=each,
                result=of,
                whole=whole,
            )
            for k, s, pad, p, n, r, each, of in zip(
                node.weights.shape[1:3],
                node.stride,
                node.padding[:2],
                phase,
                (rows, columns),
                sides[:2],
                block,
                (1, result),
                strict=True,
            )
        ]
        if whole and None not in found and tuple(s.groups for s in found) != grid.shape[:2]:
            return None
        return (
            None
            if None in found or max(max(s.before, s.after) for s in found) > MOST_PAD
            else Regular(*found)
        )

    def regular(self, node: Conv) -> Regular | None:
        """The :class:`Regular` of a convolution whose source or result shares slots, else
        ``None``."""
        source, result = self.grids.get(node.inputs[0]), self.grids.get(node.output)
        if source is None and result is None:
            return None
        return self._columns(node, source, 1 if result is None else result.block[1])

    def _fold(self, name):
        """The :class:`Grid` of an input with a single reader, a convolution: blocks of its stride,
        or of divisors of it if these have more than 64 channels, padding included, if that saves
        work."""
        readers, shape = self.readers(name), self.graph.shape(name)
        if (
            len(readers) != 1
            or not isinstance(readers[0], Conv)
            or name in self.graph.kept()
            or len(shape) != 3
        ):
            return None
        node = readers[0]
        if node.groups > 1 or node.dilation != (1, 1) or len(node.inputs) > 1:
            return None
        found = [self._in_blocks(node, shape, block) for block in _blocks(node.stride, shape[2])]
        unfolded = _steps(node.weights.shape[1] * node.weights.shape[2], shape[2])
        saving = [one for one in found if one is not None and one[0] < unfolded]
        return min(saving, key=lambda one: one[:2])[2] if saving else None

    def _in_blocks(self, node, shape, block):
        """A convolution on an input of ``shape`` in blocks: (its steps for a result, whether its
        stride is longer than those of ``conv``, :class:`Grid` of the input); ``None`` if blocks do
        not divide evenly."""
        sides = [
            side(
                taps=k,
                stride=s,
                before=pad,
                phase=pad,
                length=n,
                results=r,
                source=each,
                result=1,
                whole=True,
            )
            for k, s, pad, n, r, each in zip(
                node.weights.shape[1:3],
                node.stride,
                node.padding[:2],
                shape[:2],
                self.graph.shape(node.output)[:2],
                block,
                strict=True,
            )
        ]
        if None in sides:
            return None
        (rows, columns), channels = sides, shape[2] * block[0] * block[1]
        grid = Grid(block, tuple(node.padding[:2]), (rows.groups, columns.groups, channels))
        strided = max(rows.stride, columns.stride) > MOST_STRIDE
        return _steps(rows.taps * columns.taps, channels), strided, grid

    def _share(self):
        """Adds Grids for tensors of at most 8 channels between convolutions: several columns share
        a slot, which saves memory bandwidth."""
        for node in self.graph.nodes:
            channels = self.map_shape(node.output)[2]
            if (
                node.output in self.grids
                or NARROW % channels
                or channels == NARROW
                or not any(
                    isinstance(reader, Conv) and reader.groups == channels > 1
                    for reader in self.readers(node.output)
                )
            ):
                continue
            found = self._chain(node.output, NARROW // channels, {})
            if found is not None:
                self.grids.update(found)

    def _chain(self, name, count, found):
        """Grids of ``name`` in blocks of ``count`` columns, and of all later tensors that need the
        same blocks; ``None`` if that is impossible."""
        node, (rows, columns, channels) = self.maker(name), self.map_shape(name)
        readers = self.readers(name)
        fits = channels * count <= _SLOT and (NARROW % channels == 0 or channels % NARROW == 0)
        if (
            not all(
                isinstance(n, Conv) and len(n.inputs) == 1 and n.dilation == (1, 1)
                for n in (node, *readers)
            )
            or not fits
            or not readers
            or name in self.graph.kept()
            or columns % count
        ):
            return None
        found = {
            **found,
            name: Grid((1, count), (0, 0), (rows, columns // count, channels * count)),
        }
        source = node.inputs[0]
        if self._columns(node, found.get(source, self.grids.get(source)), count) is None:
            return None
        for reader in readers:
            if self._columns(reader, found[name], 1) is None:
                found = self._chain(reader.output, count, found)
                if found is None:
                    return None
        return found
