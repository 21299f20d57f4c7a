# SPDX-License-Identifier: BSD-2-Clause
"""Which layers run together, as chains or side by side: neighbours are joined while the estimated cycles of the whole program fall."""
from ...graph import Conv, Reshape
from ..base import LoweringError
from .assign import assign
from .estimate import played
from .homes import staged
from .joined import Joined, may_join
from .matrices import matrices_of
from .program import ProgramWriter, unique

__all__ = ["choose_joined"]

#: Nodes of a chain at most.
_MOST = 10
#: Ways to have layers side by side that are written out to be compared.
_TRIED = 3


def choose_joined(quantised, params):
    """List of :class:`~.chain.Joined` for :class:`ProgramWriter`: of all candidates the one whose program ends first by the instructions' timing."""
    candidates = [_chains(quantised, params, [])]
    found = [(_cycles(quantised, params, [*stages, *chains]), [*stages, *chains]) for stages in _stages(quantised, params)
             for chains in [_chains(quantised, params, stages)]]
    candidates += [joined for cycles, joined in sorted(found, key=lambda pair: pair[0])[:_TRIED] if cycles < float("inf")]
    if len(candidates) == 1:
        return candidates[0]
    return min(candidates, key=lambda joined: played(quantised, params, joined))


def _matrices(quantised, params):
    """Node name -> list of Matrix of every convolution on a core that does all channels."""
    graph = quantised.graph
    return {node.name: matrices_of(node, quantised.layers[node.name], params, graph.shape(node.output)[1], whole=True)
            for node in graph.nodes if isinstance(node, Conv)}


def _chains(quantised, params, stages):
    """Chains among the nodes that are not in ``stages``."""
    graph, chains = quantised.graph, []
    nodes, taken = [node for node in graph.nodes if not isinstance(node, Reshape)], {node.name for some in stages for node in some.nodes}
    matrices = _matrices(quantised, params)
    lowest, first = _cycles(quantised, params, stages), 0
    while first < len(nodes):
        best = None
        for end in range(first + 2, min(first + _MOST, len(nodes)) + 1):
            some = Joined(nodes[first:end])
            if taken & {node.name for node in some.nodes}:
                break
            if not may_join(graph, some.nodes) or not _holds(quantised, params, some, matrices):
                continue
            cycles = _cycles(quantised, params, [*stages, *chains, some])
            if cycles < lowest:
                best, lowest = some, cycles
        if best is not None:
            chains.append(best)
        first += len(best.nodes) if best else 1
    return chains


def _stages(quantised, params):
    """Ways to have layers side by side, lists of :class:`Joined`: in every stretch that can be, from one of the nodes on that a single tensor leads to."""
    graph, found, first = quantised.graph, [], 0
    nodes = [node for node in graph.nodes if not isinstance(node, Reshape)]
    matrices, size = _matrices(quantised, params), ProgramWriter(quantised, params).size
    while first < len(nodes) and params["cores"] > 1:
        end = next((end for end in range(len(nodes), first + 1, -1) if may_join(graph, nodes[first:end])), first + 1)
        for begin in range(first, end - 1):
            if len({name for node in nodes[begin:end] for name in node.inputs} - {node.output for node in nodes[begin:end]}) == 1:
                some = staged(graph, nodes[begin:end], size, matrices, params)
                found += [[some]] if some is not None else []
        first = end
    return found


def _holds(quantised, params, chain, matrices):
    """Whether local memory holds the rings, in a band at the map's edge and in one inside."""
    size, height = ProgramWriter(quantised, params).size, quantised.graph.shape(chain.nodes[-1].output)[0]
    quarter = -(-height // 4)
    return all(chain.band(quantised.graph, size, matrices, params, first, min(first + quarter, height), spare=False)[1] is not None
               for first in (0, height // 4))


def _cycles(quantised, params, joined):
    """Estimate of the whole, before anything is written; infinite where the arrays do not hold it."""
    writer = ProgramWriter(quantised, params, joined)
    needs = writer.needs()
    try:
        assign(unique(needs), params)
    except LoweringError:
        return float("inf")
    staged = [some for some in joined if some.stages is not None]
    apart = {node.name for some in staged for node in some.nodes}
    total = sum(some.plan.cycles for some in staged) + sum(need.time(len(need.cores)) for need in unique(needs) if need.homes is None)
    weighted = {node.name for node, _, _ in needs} | apart
    for node in quantised.graph.nodes:
        nodes = writer.joined.get(id(node), Joined([node])).nodes
        if node is nodes[-1] and not isinstance(node, Reshape) and not any(n.name in weighted for n in nodes):
            total += writer.floor(nodes)
    return total
