# SPDX-License-Identifier: BSD-2-Clause
"""Chains of layers in local memory: consecutive nodes row by row on one core, of which only inputs and the last result touch main memory."""
from dataclasses import dataclass

from ...graph import Activation, Binary, Conv, MaxPool
from .rings import Rings, reads

__all__ = ["Chain", "Joined", "may_chain"]


@dataclass(eq=False)
class Joined:
    """Nodes of which only inputs and the last result touch main memory: a chain, all of whose nodes every core has for rows of its own, or, with ``stages``
    (:class:`~.stages.Stages`) and their ``plan`` (:class:`~.schedule.Plan`), nodes on one core each."""
    nodes: list
    stages: object = None
    plan: object = None


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
        self.graph, self.nodes, self.rings = graph, nodes, Rings(graph, size, nodes)
        self.makers = {node.output: node for node in nodes}
        self.last = nodes[-1].output

    @property
    def inputs(self):
        return list(dict.fromkeys(name for node in self.nodes for name in node.inputs if name not in self.makers))

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
                for source in reads(self.graph, self.makers[tensor], y):
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
                for source in reads(self.graph, self.makers[step[0]], step[1]):
                    last[source] = k
        found = {}
        for name in self.rings.margins:
            lives = [(y, k, last[name, y]) for (tensor, y), k in begin.items() if tensor == name]
            found[name] = next(n for n in range(1, len(lives) + 2) if _held(lives, n)) if lives else 0
        found[self.last] = min(2, len([s for s in steps if s[0] == self.last]))
        return found

    def bytes(self, steps, matrices):
        """Local memory that it takes; ``matrices``: node name -> list of Matrix."""
        return self.rings.bytes(self.slots(steps), matrices)

    def emit(self, writer, core, pointer, groups, first, end):
        """Write rows ``first`` to ``end`` - 1 of the result into a core's program; ``groups``: node name -> list of (Matrix, group)."""
        steps, rings = self.order(first, end), self.rings
        rings.open(writer, core, self.slots(steps), groups, self.nodes[-1].name)
        for name, y in steps:
            count = rings.row_bytes(name)
            if name in self.makers:
                for _ in rings.make(self.makers[name], y):
                    pass
            else:
                core.load(rings.row(name, y), pointer, count, writer.places[name] + y * count)
            if name == self.last:
                core.store(pointer, rings.row(name, y), count, writer.places[name] + y * count)


def _held(lives, slots):
    """Whether a ring of so many rows holds rows (number, made, last read), in the order of their making."""
    held = {}
    for y, made, last in lives:
        if held.get(y % slots, -1) >= made:
            return False
        held[y % slots] = last
    return True
