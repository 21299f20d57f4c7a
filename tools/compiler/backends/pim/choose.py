# SPDX-License-Identifier: BSD-2-Clause
"""Which layers run together, as chains or side by side: neighbours are joined while the estimated cycles of the whole program fall."""
from ...graph import Conv, Reshape
from ..base import LoweringError
from .assign import assign
from .chain import Joined, may_chain
from .homes import staged
from .matrices import matrices_of
from .program import ProgramWriter, unique
from .stages import may_stage

__all__ = ["choose_joined"]

#: Nodes of a chain at most.
_MOST = 10


def choose_joined(quantised, params):
    """List of :class:`~.chain.Joined` for :class:`ProgramWriter`."""
    chains = _chains(quantised, params)
    best, lowest = chains, _cycles(quantised, params, chains)
    stages = _stages(quantised, params)
    if stages:
        taken = {node.name for some in stages for node in some.nodes}
        both = [*stages, *(some for some in chains if not taken & {node.name for node in some.nodes})]
        if _cycles(quantised, params, both) < lowest:
            best = both
    return best


def _matrices(quantised, params, whole):
    """Node name -> list of Matrix of every convolution; ``whole``: see :func:`~.matrices.matrices_of`."""
    graph = quantised.graph
    return {node.name: matrices_of(node, quantised.layers[node.name], params, graph.shape(node.output)[1], whole=whole)
            for node in graph.nodes if isinstance(node, Conv)}


def _chains(quantised, params):
    graph, chains = quantised.graph, []
    nodes = [node for node in graph.nodes if not isinstance(node, Reshape)]
    matrices = _matrices(quantised, params, whole=False)
    lowest, first = _cycles(quantised, params, chains), 0
    while first < len(nodes):
        best = None
        for end in range(first + 2, min(first + _MOST, len(nodes)) + 1):
            some = Joined(nodes[first:end])
            if not may_chain(graph, some.nodes) or not _holds(quantised, params, some.nodes, matrices):
                continue
            cycles = _cycles(quantised, params, [*chains, some])
            if cycles < lowest:
                best, lowest = some, cycles
        if best is not None:
            chains.append(best)
        first += len(best.nodes) if best else 1
    return chains


def _stages(quantised, params):
    """The longest stretches of the network that can be stages."""
    graph, found, first = quantised.graph, [], 0
    nodes = [node for node in graph.nodes if not isinstance(node, Reshape)]
    matrices = _matrices(quantised, params, whole=True)
    while first < len(nodes) and params["cores"] > 1:
        end = next((end for end in range(len(nodes), first + 1, -1) if may_stage(graph, nodes[first:end])), first + 1)
        if end > first + 1:
            some = staged(graph, nodes[first:end], ProgramWriter(quantised, params).size, matrices, params)
            found += [some] if some is not None else []
        first = end
    return found


def _holds(quantised, params, nodes, matrices):
    """Whether local memory holds the rings, in a band at the map's edge and in one inside."""
    chain = ProgramWriter(quantised, params).chain(nodes)
    height = quantised.graph.shape(nodes[-1].output)[0]
    return all(chain.bytes(chain.order(first, height), matrices) <= params["lmem_bytes"] for first in (0, height // 2))


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
    total = sum(some.plan.cycles for some in staged) + sum(need.time(len(need.cores)) for need in unique(needs) if need.home is None)
    weighted = {node.name for node, _, _ in needs} | apart
    for node in quantised.graph.nodes:
        nodes = writer.joined.get(id(node), Joined([node])).nodes
        if node is nodes[-1] and not isinstance(node, Reshape) and not any(n.name in weighted for n in nodes):
            total += writer.floor(nodes)
    return total
