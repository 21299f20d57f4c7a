# SPDX-License-Identifier: BSD-2-Clause
"""Layer-to-core placement of pipeline stages: balances the load and respects the capacity of each
core's arrays."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...graph import Conv, Graph, Node
from .arrays.matrices import Matrix, demand
from .stages import Stages

__all__ = ["candidate_placements", "stages_of"]


def stages_of(
    graph: Graph,
    nodes: list[Node],
    placement: dict[str, tuple[int, ...]],
    size: Callable[[str], int],
    matrices: Mapping[str, list[Matrix]],
    params: Mapping[str, Any],
) -> Stages:
    """The :class:`~.stages.Stages` of ``nodes`` for a placement."""
    return Stages(
        graph,
        nodes,
        placement,
        size,
        {n.name: matrices[n.name] for n in nodes if isinstance(n, Conv)},
        params["lanes"],
    )


def candidate_placements(
    graph: Graph,
    nodes: list[Node],
    size: Callable[[str], int],
    matrices: Mapping[str, list[Matrix]],
    params: Mapping[str, Any],
) -> Iterator[tuple[float, dict[str, tuple[int, ...]]]]:
    """Candidate placements of a stretch of nodes: (cycles of the busiest core, node name -> cores).
    The stretch is split into groups of neighbours, each on one or several cores; for every number
    of groups and cores, the best balanced split."""
    limits, weights = (
        (params["arrays"], params["bias_words"], params["groups"]),
        {node.name: demand(matrices.get(node.name, ()), params) for node in nodes},
    )
    alone = stages_of(
        graph, nodes, dict.fromkeys((node.name for node in nodes), (0,)), size, matrices, params
    )
    work = [
        len(alone.rows.get(node.output, ()))
        * sum(max(p.cycles if p.matrix else p.issue, p.issue) for p in alone.parts(node))
        for node in nodes
    ]
    count = len(nodes)

    def part(a, b):
        """Cycles of the nodes a to b - 1 on one core, or ``None`` if its arrays cannot hold
        them."""
        taken = [sum(weights[node.name][k] for node in nodes[a:b]) for k in range(3)]
        return (
            None if any(t > most for t, most in zip(taken, limits, strict=True)) else sum(work[a:b])
        )

    # (nodes, cores of each part) -> the cheapest (longest part, sum of squares, ends of parts)
    best: dict[tuple[int, tuple[int, ...]], tuple[float, float, tuple[int, ...]]] = {
        (0, ()): (0, 0, (0,))
    }
    for a in range(count):
        for shares in [shares for at, shares in best if at == a]:
            longest, squares, ends = best[a, shares]
            for b in range(a + 1, count + 1):
                cycles = part(a, b)
                if cycles is None:
                    break
                for more in range(1, params["cores"] - sum(shares) + 1):
                    entry = max(longest, cycles / more), squares + cycles**2 / more, (*ends, b)
                    key = b, (*shares, more)
                    best[key] = min(best.get(key, entry), entry)
    for (at, shares), (longest, _, ends) in best.items():
        if at == count and sum(shares) > 1:
            placement, core = {}, 0
            for a, b, some in zip(ends, ends[1:], shares, strict=False):
                placement.update(
                    {node.name: tuple(range(core, core + some)) for node in nodes[a:b]}
                )
                core += some
            yield longest, placement
