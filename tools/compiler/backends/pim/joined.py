# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that run together: consecutive maps of which only inputs and the last result touch main
memory."""

from dataclasses import dataclass, field

from ...graph import Activation, Binary, Conv, MaxPool, Reshape, Slice
from .schedule import plan_stages
from .stages import Stages

__all__ = ["IN_PLACE", "Joined", "may_join"]

#: Nodes that take no instruction: their results lie in what they read.
IN_PLACE = (Reshape, Slice)


def may_join(graph, nodes):
    """Whether nodes that follow one another may run together: maps all, and nobody outside reads
    what lies between."""
    inside, kept = {node.name for node in nodes}, graph.kept()
    for node in nodes:
        if not isinstance(node, Conv | MaxPool | Activation) and not (
            isinstance(node, Binary) and node.function != "mul"
        ):
            return False
        if any(len(graph.shape(name)) != 3 for name in (*node.inputs, node.output)):
            return False
        if isinstance(node, Binary) and len({graph.shape(name) for name in node.inputs}) > 1:
            return False
        readers = {reader.name for reader in graph.readers(node.output)}
        if node is not nodes[-1] and (node.output in kept or not readers or not readers <= inside):
            return False
    return True


@dataclass(eq=False)
class Joined:
    """A chain, all of whose nodes every core has for rows of its own, or, with ``stages``
    (:class:`~.stages.Stages`) and their ``plan`` (:class:`~.schedule.Plan`), nodes on one core
    each."""

    nodes: list
    stages: Stages | None = None
    plan: object = None
    _bands: dict = field(default_factory=dict)

    def band(self, graph, size, matrices, params, first, end, *, spare=True):
        """(:class:`Stages` with core 0, Plan) of rows ``first`` to ``end`` - 1 of a chain's result;
        the plan is ``None`` where local memory does not hold them. ``spare``: see
        :func:`~.schedule.plan_stages`."""
        key = first, end, spare
        if key not in self._bands:
            stages = Stages(
                graph,
                self.nodes,
                dict.fromkeys((node.name for node in self.nodes), (0,)),
                size,
                matrices,
                params["lanes"],
                (first, end),
            )
            self._bands[key] = stages, plan_stages(stages, {0: params["lmem_bytes"]}, spare=spare)
        return self._bands[key]
