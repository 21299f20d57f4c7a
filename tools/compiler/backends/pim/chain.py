# SPDX-License-Identifier: BSD-2-Clause
"""Chains of layers in local memory: consecutive nodes row by row on one core, of which only inputs and the last result touch main memory."""
from ...graph import Activation, Binary, Conv, MaxPool
from .maps import Products, pool_row, spans

__all__ = ["Chain", "may_chain"]


def may_chain(graph, nodes):
    """Whether nodes that follow one another may be a chain: maps all, and nobody outside reads what lies between."""
    inside, kept = {node.name for node in nodes}, graph.kept()
    for node in nodes:
        if not (isinstance(node, Conv) and node.groups == 1 or isinstance(node, Binary) and node.function != "mul" or isinstance(node, MaxPool | Activation)):
            return False
        if any(len(graph.shape(name)) != 3 for name in (*node.inputs, node.output)):
            return False
        readers = {reader.name for reader in graph.readers(node.output)}
        if node is not nodes[-1] and (node.output in kept or not readers or not readers <= inside):
            return False
    return True


class Chain:
    """The order in which ``nodes`` make rows, and the rings that this takes.

    Parameters
    ----------
    graph : Graph
    nodes : list, in order; the last one's result is stored
    size : function, tensor name -> bytes of an element
    """
    def __init__(self, graph, nodes, size):
        self.graph, self.nodes, self.size = graph, nodes, size
        self.makers = {node.output: node for node in nodes}
        self.last = nodes[-1].output
        #: Columns of zeros on both sides of a tensor's rows: the most that a convolution asks for.
        self.margins = {name: (0, 0) for node in nodes for name in (*node.inputs, node.output)}
        for node in nodes:
            if isinstance(node, Conv):
                left, right = self.margins[node.inputs[0]]
                self.margins[node.inputs[0]] = max(left, node.padding[1]), max(right, node.padding[3])

    @property
    def inputs(self):
        return list(dict.fromkeys(name for node in self.nodes for name in node.inputs if name not in self.makers))

    def reads(self, node, y):
        """(tensor, row inside the map) pairs that row ``y`` of a node's result takes."""
        if isinstance(node, Conv | MaxPool):
            name = node.inputs[0]
            return [(name, r) for r in spans(node, self.graph.shape(name)[0], y, 0)]
        return [(name, y) for name in node.inputs]

    def order(self, first, end):
        """(tensor, row) in the order in which rows are brought or made, for rows ``first`` to ``end`` - 1 of the result: each as late as it
        can be, but what comes from main memory one making earlier, so that it comes while another row is worked on."""
        done, steps, made = set(), [], None

        def need(tensor, y):
            nonlocal made
            if (tensor, y) in done:
                return
            done.add((tensor, y))
            if tensor in self.makers:
                for source in self.reads(self.makers[tensor], y):
                    need(*source)
                made = len(steps)
                steps.append((tensor, y))
            elif made is None:
                steps.append((tensor, y))
            else:
                steps.insert(made, (tensor, y))
                made += 1

        for y in range(first, end):
            need(self.last, y)
        return steps

    def slots(self, steps):
        """Rows of each tensor's ring, tensor name -> number: no row is overwritten before its last reader has read it."""
        begin, last = {}, {}
        for k, step in enumerate(steps):
            begin[step] = last[step] = k
            if step[0] in self.makers:
                for source in self.reads(self.makers[step[0]], step[1]):
                    last[source] = k
        found = {}
        for name in self.margins:
            lives = [(y, k, last[name, y]) for (tensor, y), k in begin.items() if tensor == name]
            found[name] = next(n for n in range(1, len(lives) + 2) if _held(lives, n)) if lives else 0
        found[self.last] = min(2, len([s for s in steps if s[0] == self.last]))
        return found

    def pitch(self, name):
        _, width, channels = self.graph.shape(name)
        return (sum(self.margins[name]) + width) * channels * self.size(name)

    def bytes(self, steps, matrices):
        """Local memory that it takes; ``matrices``: node name -> list of Matrix."""
        return sum(n * self.pitch(name) for name, n in self.slots(steps).items()) + self._zeros() + sum(self._extra(node, matrices) for node in self.nodes)

    def _zeros(self):
        """Bytes of the row outside the map that all share."""
        return max([self.pitch(n.inputs[0]) for n in self.nodes if isinstance(n, Conv) and (n.padding[0] or n.padding[2])], default=0)

    def _extra(self, node, matrices):
        if isinstance(node, MaxPool):
            return self.pitch(node.inputs[0])
        return Products.space(node, matrices[node.name], self.size(node.inputs[0])) if isinstance(node, Conv) else 0

    def emit(self, writer, core, pointer, groups, first, end):
        """Write rows ``first`` to ``end`` - 1 of the result into a core's program; ``groups``: node name -> list of (Matrix, group)."""
        steps, graph = self.order(first, end), self.graph
        what = self.nodes[-1].name
        rings = {name: (core.allocate(n * self.pitch(name), what), n) for name, n in self.slots(steps).items() if n}
        zeros = core.allocate(self._zeros(), what)
        if self._zeros():
            core.fill(zeros, 0, self._zeros())
        for name, (at, n) in rings.items():
            place = graph.shape(name)[2] * self.size(name)
            left, right = self.margins[name]
            for slot in range(n):
                for x, count in ((0, left), (left + graph.shape(name)[1], right)):
                    if count:
                        core.fill(at + slot * self.pitch(name) + x * place, 0, count * place)
        workers = {}
        for node in self.nodes:
            if isinstance(node, Conv):
                workers[node.name] = Products(core, node, *zip(*groups[node.name], strict=True), graph.shape(node.inputs[0])[2], graph.shape(node.output),
                                              self.size(node.inputs[0]), self.size(node.output), writer.relu(node))
            elif isinstance(node, MaxPool):
                workers[node.name] = core.allocate(self.pitch(node.inputs[0]), what)

        def row(name, y, margin=0):
            """Local address of a row's first column, or so many before it."""
            at = zeros + self.margins[name][0] * graph.shape(name)[2] * self.size(name)
            if 0 <= y < graph.shape(name)[0]:
                at += rings[name][0] + y % rings[name][1] * self.pitch(name) - zeros
            return at - margin * graph.shape(name)[2] * self.size(name)

        for name, y in steps:
            count = graph.shape(name)[1] * graph.shape(name)[2]
            if name in self.makers:
                self._make(writer, core, self.makers[name], y, row, workers, count)
            else:
                core.load(row(name, y), pointer, count * self.size(name), writer.places[name] + y * count * self.size(name))
            if name == self.last:
                core.store(pointer, row(name, y), count * self.size(name), writer.places[name] + y * count * self.size(name))

    def _make(self, writer, core, node, y, row, workers, count):
        results, name, size = row(node.output, y), node.inputs[0], self.size(node.inputs[0])
        if isinstance(node, Conv):
            workers[node.name].row(lambda r: row(name, y * node.stride[0] - node.padding[0] + r, node.padding[1]), results)
            writer.clip(core, node.activation, node.output, results, count)
        elif isinstance(node, MaxPool):
            _, width, channels = self.graph.shape(name)
            pool_row(core, node, [row(*source) for source in self.reads(node, y)], workers[node.name], results, (width, channels),
                     self.graph.shape(node.output)[1], size)
        elif isinstance(node, Binary):
            writer.add(core, node, results, [row(source, y) for source in node.inputs], count)
        else:
            core.move(results, row(name, y), count * size)
            writer.activate(core, node, node.output, results, count)


def _held(lives, slots):
    """Whether a ring of so many rows holds rows (number, made, last read), in the order of their making."""
    held = {}
    for y, made, last in lives:
        if held.get(y % slots, -1) >= made:
            return False
        held[y % slots] = last
    return True
