# SPDX-License-Identifier: BSD-2-Clause
"""Which layers run as chains: neighbours are joined while the estimated cycles of the whole program fall."""
from ...graph import Conv, Reshape
from ..base import LoweringError
from .assign import assign
from .chain import may_chain
from .program import ProgramWriter, unique

__all__ = ["choose_chains"]

#: Nodes of a chain at most.
_MOST = 10


def choose_chains(quantised, params):
    """Lists of nodes, each a chain, for :class:`ProgramWriter`."""
    graph, chains = quantised.graph, []
    nodes = [node for node in graph.nodes if not isinstance(node, Reshape)]
    matrices = {node.name: what for node, what, _ in ProgramWriter(quantised, params).needs() if isinstance(node, Conv) and node.groups == 1}
    lowest, first = _cycles(quantised, params, chains), 0
    while first < len(nodes):
        best = None
        for end in range(first + 2, min(first + _MOST, len(nodes)) + 1):
            if not may_chain(graph, nodes[first:end]) or not _holds(quantised, params, nodes[first:end], matrices):
                continue
            cycles = _cycles(quantised, params, [*chains, nodes[first:end]])
            if cycles < lowest:
                best, lowest = end, cycles
        if best is not None:
            chains.append(nodes[first:best])
        first = best or first + 1
    return chains


def _holds(quantised, params, nodes, matrices):
    """Whether local memory holds the rings, in a band at the map's edge and in one inside."""
    chain = ProgramWriter(quantised, params).chain(nodes)
    height = quantised.graph.shape(nodes[-1].output)[0]
    return all(chain.bytes(chain.order(first, height), matrices) <= params["lmem_bytes"] for first in (0, height // 2))


def _cycles(quantised, params, chains):
    """Estimate of the whole, before anything is written; infinite where the arrays do not hold it."""
    writer = ProgramWriter(quantised, params, chains)
    needs = writer.needs()
    try:
        assign(unique(needs), params)
    except LoweringError:
        return float("inf")
    total, weighted = sum(need.time(len(need.cores)) for need in unique(needs)), {node.name for node, _, _ in needs}
    for node in quantised.graph.nodes:
        nodes = writer.chains.get(id(node), [node])
        if node is nodes[-1] and not isinstance(node, Reshape) and not any(n.name in weighted for n in nodes):
            total += writer.floor(nodes)
    return total
