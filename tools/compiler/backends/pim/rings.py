# SPDX-License-Identifier: BSD-2-Clause
"""Rows of maps in one core's local memory: a ring for each tensor, and the making of a row out of
others."""

from ...graph import Binary, Conv, MaxPool
from .maps import Products, pool_row, spans

__all__ = ["Rings", "Stores", "margins_of", "reads"]

#: Bytes of a store, which holds up all moves behind it for a cycle each memory beat.
_STORED = 128


def margins_of(nodes):
    """Columns of zeros on both sides of a tensor's rows, tensor name -> (left, right): the most
    that a convolution among ``nodes`` asks for."""
    margins = {name: (0, 0) for node in nodes for name in (*node.inputs, node.output)}
    for node in nodes:
        if isinstance(node, Conv):
            left, right = margins[node.inputs[0]]
            margins[node.inputs[0]] = max(left, node.padding[1]), max(right, node.padding[3])
    return margins


def reads(graph, node, y):
    """(tensor, row inside the map) pairs that row ``y`` of a node's result takes."""
    if isinstance(node, Conv | MaxPool):
        name = node.inputs[0]
        return [(name, r) for r in spans(node, graph.shape(name)[0], y, 0)]
    return [(name, y) for name in node.inputs]


class Rings:
    """The rings of ``nodes``, all on one core, in its local memory.

    Parameters
    ----------
    graph : Graph
    size : function, tensor name -> bytes of an element
    nodes : list, in order
    """

    def __init__(self, graph, size, nodes):
        self.graph, self.size, self.nodes = graph, size, nodes
        self.margins = margins_of(nodes)
        self._pitches, self._places = {}, {}
        for name, margins in self.margins.items():
            _, width, channels = graph.shape(name)
            self._places[name] = channels * size(name)
            self._pitches[name] = (sum(margins) + width) * self._places[name]

    def pitch(self, name):
        """Bytes of a row with its margins."""
        return self._pitches[name]

    def bytes(self, slots, matrices):
        """Local memory that it takes; ``slots``: tensor name -> rows of its ring, ``matrices``:
        node name -> list of Matrix."""
        return (
            sum(n * self.pitch(name) for name, n in slots.items())
            + self._zeros()
            + self._patches(matrices)
            + self._tall()
        )

    def _zeros(self):
        """Bytes of the row outside the map that all share."""
        return max(
            [
                self.pitch(n.inputs[0])
                for n in self.nodes
                if isinstance(n, Conv) and (n.padding[0] or n.padding[2])
            ],
            default=0,
        )

    def _patches(self, matrices):
        """Bytes of the two places, shared by all convolutions, where neighbourhoods are put
        together."""
        return max(
            [
                Products.space(n, matrices[n.name], self.size(n.inputs[0]))
                for n in self.nodes
                if isinstance(n, Conv)
            ],
            default=0,
        )

    def _tall(self):
        """Bytes of the row that all poolings compare rows in."""
        return max(
            [self.pitch(n.inputs[0]) for n in self.nodes if isinstance(n, MaxPool)], default=0
        )

    def open(self, writer, core, slots, ranks, groups, what):
        """Give the rings their places in ``core``'s local memory and clear what stays zero;
        ``ranks``: tensor name -> row -> its number among the rows that the core has; ``groups``:
        node name -> list of (Matrix, group)."""
        self.writer, self.core, self._ranks = writer, core, ranks
        self._rings = {
            name: (core.allocate(n * self.pitch(name), what), n) for name, n in slots.items() if n
        }
        self._zero = core.allocate(self._zeros(), what)
        if self._zeros():
            core.fill(self._zero, 0, self._zeros())
        for name, (at, n) in self._rings.items():
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
                self._products[node.name] = Products(
                    core,
                    node,
                    *zip(*groups[node.name], strict=True),
                    self.graph.shape(node.inputs[0])[2],
                    self.graph.shape(node.output),
                    self.size(node.inputs[0]),
                    self.size(node.output),
                    writer.relu(node),
                    patches,
                )

    def row(self, name, y, margin=0):
        """Local address of a row's first column, or so many before it."""
        at = self._zero
        if 0 <= y < self.graph.shape(name)[0]:
            at, slots = self._rings[name]
            at += self._ranks[name][y] % slots * self._pitches[name]
        return at + (self.margins[name][0] - margin) * self._places[name]

    def row_bytes(self, name):
        """Bytes of a row without its margins."""
        return self.graph.shape(name)[1] * self.graph.shape(name)[2] * self.size(name)

    def make(self, node, y):
        """Write the instructions of row ``y`` of a node's result; yields behind each part, of which
        a multiplication is one."""
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
            core.move(results, self.row(name, y), count * size)
            writer.activate(core, node, node.output, results, count)
            yield


class Stores:
    """Rows on their way to main memory, a piece at a time between other work: a whole row would
    hold up the moves of the next."""

    def __init__(self, core, pointer):
        self.core, self.pointer, self._left = core, pointer, []

    def put(self, source, size, target):
        """A row at the local address ``source`` is to go to the global address ``target``; the one
        before has gone."""
        self.flush()
        self._left = [
            (source + k, min(_STORED, size - k), target + k) for k in range(0, size, _STORED)
        ]

    def step(self):
        """A piece, if one is left."""
        if self._left:
            source, size, target = self._left.pop(0)
            self.core.store(self.pointer, source, size, target)

    def flush(self):
        """All that is left."""
        while self._left:
            self.step()
