# SPDX-License-Identifier: BSD-2-Clause
"""Fused nodes: consecutive maps whose intermediate results never lie in main memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...graph import Activation, Binary, Conv, Graph, MaxPool, Node, Reshape, Slice
from .rows.functions import is_function
from .schedule import Plan, plan_stages
from .stages import Stages

if TYPE_CHECKING:
    from .arrays.matrices import Matrix

__all__ = ["IN_PLACE", "FusedGroup", "can_fuse"]

#: Nodes that take no instruction: their results share the memory of their source.
IN_PLACE = (Reshape, Slice)


def can_fuse(graph: Graph, nodes: Sequence[Node]) -> bool:
    """Whether consecutive nodes can be fused: all are maps, and no other node reads the values
    between them."""
    inside, kept = {node.name for node in nodes}, graph.kept()
    for node in nodes:
        if not isinstance(node, Conv | MaxPool | Activation) and not (
            isinstance(node, Binary) and node.function != "mul"
        ):
            return False
        if is_function(node):
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
class FusedGroup:
    """A fused group of nodes: a chain, in which every core computes rows of its own, or, with
    ``stages`` (:class:`~.stages.Stages`) and their ``plan`` (:class:`~.schedule.Plan`), a pipeline
    with one core per node."""

    nodes: list[Node]
    stages: Stages | None = None
    plan: Plan | None = None
    _bands: dict = field(default_factory=dict)

    def band(
        self,
        graph: Graph,
        size: Callable[[str], int],
        matrices: dict[str, list[Matrix]],
        params: Mapping[str, Any],
        first: int,
        end: int,
        *,
        spare: bool = True,
    ) -> tuple[Stages, Plan | None]:
        """Rows ``first`` to ``end`` - 1 of a chain's result as (:class:`Stages` with core 0, Plan);
        the plan is ``None`` if local memory does not hold them. ``spare``: see
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
