# SPDX-License-Identifier: BSD-2-Clause
"""Line buffers in one core's local memory: a ring buffer of rows for each tensor, and code that
computes a row from others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...graph import Activation, Binary, Conv, Graph, MaxPool, Node
from .maps import Products, pool_row, spans

if TYPE_CHECKING:
    from .arrays.matrices import Matrix
    from .codegen import CoreBuilder
    from .program import ProgramWriter

__all__ = ["LineBuffers", "Stores", "margins_of", "reads"]

#: Bytes of a store, which holds up all moves after it for a cycle each memory beat.
_STORED = 128


def margins_of(nodes: Sequence[Node]) -> dict[str, tuple[int, int]]:
    """Columns of zero padding on both sides of a tensor's rows, tensor name -> (left, right): the
    greatest that a convolution among ``nodes`` needs."""
    margins = {name: (0, 0) for node in nodes for name in (*node.inputs, node.output)}
    for node in nodes:
        if isinstance(node, Conv):
            left, right = margins[node.inputs[0]]
            margins[node.inputs[0]] = max(left, node.padding[1]), max(right, node.padding[3])
    return margins


def reads(graph: Graph, node: Node, y: int) -> list[tuple[str, int]]:
    """Source rows, (tensor, row within the map) pairs, on which row ``y`` of a node's result
    depends."""
    if isinstance(node, Conv | MaxPool):
        name = node.inputs[0]
        return [(name, r) for r in spans(node, graph.shape(name)[0], y, 0)]
    return [(name, y) for name in node.inputs]


class LineBuffers:
    """The line buffers of ``nodes``, all on one core.

    Parameters
    ----------
    graph : Graph
    size : function, tensor name -> bytes of an element
    nodes : list, in order
    """

    def __init__(self, graph: Graph, size: Callable[[str], int], nodes: Sequence[Node]):
        self.graph, self.size, self.nodes = graph, size, nodes
        self.margins = margins_of(nodes)
        self._pitches, self._places = {}, {}
        for name, margins in self.margins.items():
            _, width, channels = graph.shape(name)
            self._places[name] = channels * size(name)
            self._pitches[name] = (sum(margins) + width) * self._places[name]

    def pitch(self, name: str) -> int:
        """Distance in bytes between consecutive rows, margins included."""
        return self._pitches[name]

    def bytes(self, slots: Mapping[str, int], matrices: Mapping[str, list[Matrix]]) -> int:
        """Bytes of all line buffers in local memory; ``slots``: tensor name -> rows of its buffer,
        ``matrices``: node name -> list of Matrix."""
        return (
            sum(n * self.pitch(name) for name, n in slots.items())
            + self._zeros()
            + self._patches(matrices)
            + self._tall()
        )

    def _zeros(self):
        """Bytes of the shared zero row, which stands for rows outside the map."""
        return max(
            [
                self.pitch(n.inputs[0])
                for n in self.nodes
                if isinstance(n, Conv) and (n.padding[0] or n.padding[2])
            ],
            default=0,
        )

    def _patches(self, matrices):
        """Bytes of the two buffers in which convolutions assemble windows; all convolutions share
        them."""
        return max(
            [
                Products.space(n, matrices[n.name], self.size(n.inputs[0]))
                for n in self.nodes
                if isinstance(n, Conv)
            ],
            default=0,
        )

    def _tall(self):
        """Bytes of the row buffer in which poolings compare rows; all poolings share it."""
        return max(
            [self.pitch(n.inputs[0]) for n in self.nodes if isinstance(n, MaxPool)], default=0
        )

    def open(
        self,
        writer: ProgramWriter,
        core: CoreBuilder,
        slots: Mapping[str, int],
        ranks: Mapping[str, Mapping[int, int]],
        groups: Mapping[str, Sequence[tuple[Matrix, int]]],
        what: str,
    ) -> None:
        """Allocates the line buffers in ``core``'s local memory and clears their padding.
        ``ranks``: tensor name -> row -> its index among the core's rows; ``groups``: node name ->
        list of (Matrix, group)."""
        self.writer, self.core, self._ranks = writer, core, ranks
        self._buffers = {
            name: (core.allocate(n * self.pitch(name), what), n) for name, n in slots.items() if n
        }
        self._zero = core.allocate(self._zeros(), what)
        if self._zeros():
            core.fill(self._zero, 0, self._zeros())
        for name, (at, n) in self._buffers.items():
            place = self.graph.shape(name)[2] * self.size(name)
            left, right = self.margins[name]
            for slot in range(n):
                for x, count in ((0, left), (left + self.graph.shape(name)[1], right)):
                    if count:
                        core.fill(at + slot * self.pitch(name) + x * place, 0, count * place)
        space = self._patches({name: [m for m, _ in pairs] for name, pairs in groups.items()})
        patches = [core.allocate(space // 2, what) for _ in range(2)] if space else []
        self._products, self._wide = {}, core.allocate(self._tall(), what)
        for node in self.nodes:
            if isinstance(node, Conv):
                matrices, numbers = zip(*groups[node.name], strict=True)
                self._products[node.name] = Products(
                    core,
                    node,
                    matrices,
                    numbers,
                    self.graph.shape(node.inputs[0])[2],
                    self.graph.shape(node.output),
                    self.size(node.inputs[0]),
                    self.size(node.output),
                    writer.relu(node),
                    patches,
                )

    def row(self, name: str, y: int, margin: int = 0) -> int:
        """Local address of a row's first column, or of a column to the left of it."""
        at = self._zero
        if 0 <= y < self.graph.shape(name)[0]:
            at, slots = self._buffers[name]
            at += self._ranks[name][y] % slots * self._pitches[name]
        return at + (self.margins[name][0] - margin) * self._places[name]

    def row_bytes(self, name: str) -> int:
        """Bytes of a row without its margins."""
        return self.graph.shape(name)[1] * self.graph.shape(name)[2] * self.size(name)

    def make(self, node: Node, y: int) -> Iterator[None]:
        """Emits row ``y`` of a node's result; yields after each operation, for example a
        multiplication."""
        writer, core, name = self.writer, self.core, node.inputs[0]
        results, size = self.row(node.output, y), self.size(node.inputs[0])
        count = self.graph.shape(node.output)[1] * self.graph.shape(node.output)[2]
        if isinstance(node, Conv):
            yield from self._products[node.name].steps(
                lambda r: self.row(name, y * node.stride[0] - node.padding[0] + r, node.padding[1]),
                results,
            )
            if node.activation is not None and node.activation.function == "clip":
                writer.clip(core, node.activation, node.output, results, count)
                yield
        elif isinstance(node, MaxPool):
            _, width, channels = self.graph.shape(name)
            pool_row(
                core,
                node,
                [self.row(*source) for source in reads(self.graph, node, y)],
                self._wide,
                results,
                (width, channels),
                self.graph.shape(node.output)[1],
                size,
            )
            yield
        elif isinstance(node, Binary):
            writer.add(core, node, results, [self.row(source, y) for source in node.inputs], count)
            yield
        else:
            assert isinstance(node, Activation)
            core.move(results, self.row(name, y), count * size)
            writer.activate(core, node, node.output, results, count)
            yield


class Stores:
    """Store queue: rows are stored to main memory in short transfers between other work, since a
    whole row would block later moves."""

    def __init__(self, core: CoreBuilder, pointer: int):
        self.core, self.pointer = core, pointer
        self._left: list[tuple[int, int, int]] = []

    def put(self, source: int, size: int, target: int) -> None:
        """Queues a row at the local address ``source`` for the global address ``target``; the
        previous row must be drained."""
        self.flush()
        self._left = [
            (source + k, min(_STORED, size - k), target + k) for k in range(0, size, _STORED)
        ]

    def step(self) -> None:
        """Emits the next transfer of the queued row, if any."""
        if self._left:
            source, size, target = self._left.pop(0)
            self.core.store(self.pointer, source, size, target)

    def flush(self) -> None:
        """Emits all remaining transfers."""
        while self._left:
            self.step()
