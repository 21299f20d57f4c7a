# SPDX-License-Identifier: BSD-2-Clause
"""Homes of stages: which core does which layer, so that all have about as much to do and hold the weights."""
from ...graph import Conv
from .joined import Joined
from .schedule import plan_stages
from .stages import Stages

__all__ = ["staged"]


def staged(graph, nodes, size, matrices, params):
    """:class:`~.chain.Joined` of ``nodes`` as stages, or ``None`` where arrays or local memories do not hold them.

    Neighbours share cores: the stretch is cut where the core with most to do has least. Then single layers move while the played clocks say so.
    """
    weights = {node.name: _weights(matrices.get(node.name, ()), params) for node in nodes}
    room = {core: params["lmem_bytes"] for core in range(params["cores"])}

    def plan(homes):
        stages = Stages(graph, nodes, homes, size, {n.name: matrices[n.name] for n in nodes if isinstance(n, Conv)}, params["lanes"])
        found = plan_stages(stages, room)
        return None if found is None else Joined(nodes, stages, found)

    best = None
    for homes in _cuts(graph, nodes, size, matrices, params, weights):
        found = plan(homes)
        if found is not None and (best is None or found.plan.cycles < best.plan.cycles):
            best = found
    return best


def _weights(matrices, params):
    """Arrays, biases and groups of a layer."""
    return (sum(m.arrays(params) for m in matrices), sum(m.shape[1] for m in matrices if m.bias is not None), len(matrices))


def _cuts(graph, nodes, size, matrices, params, weights):
    """Homes, node name -> core, of the best cuts of the stretch into parts of neighbours, the best first."""
    limits = params["arrays"], params["bias_words"], params["groups"]
    alone = Stages(graph, nodes, dict.fromkeys((node.name for node in nodes), (0,)), size,
                   {n.name: matrices[n.name] for n in nodes if isinstance(n, Conv)}, params["lanes"])
    work = [len(alone.rows.get(node.output, ())) * sum(max(p.cycles if p.matrix else p.issue, p.issue) for p in alone.parts(node)) for node in nodes]
    count = len(nodes)

    def part(a, b):
        """Work of the nodes a to b - 1 on one core, or ``None`` where it does not hold them."""
        taken = [sum(weights[node.name][k] for node in nodes[a:b]) for k in range(3)]
        return None if any(t > most for t, most in zip(taken, limits, strict=True)) else sum(work[a:b])

    # best[b]: the cheapest (longest part, sum of squares, cuts) of the nodes before b in at most so many parts
    best = {0: (0, 0, (0,))}
    found = []
    for _ in range(params["cores"]):
        following = {}
        for a, (longest, squares, cuts) in best.items():
            for b in range(a + 1, count + 1):
                cycles = part(a, b)
                if cycles is None:
                    break
                entry = max(longest, cycles), squares + cycles ** 2, (*cuts, b)
                if b not in following or entry < following[b]:
                    following[b] = entry
        if count in following:
            found.append(following[count])
        best = following
    for _, _, cuts in sorted(found):
        yield {node.name: (core,) for core, (a, b) in enumerate(zip(cuts, cuts[1:], strict=False)) for node in nodes[a:b]}
