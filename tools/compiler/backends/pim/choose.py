# SPDX-License-Identifier: BSD-2-Clause
"""Search for layers to fuse into chains or pipelines: neighbours are fused while the estimated
cycles of the whole program fall. Pipelines are placed so that the load of cores is balanced and
their arrays hold the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...graph import Conv, Graph, Node
from ..base import LoweringError
from .arrays.assign import assign, floor, layer_needs, unique
from .arrays.matrices import Matrix, demand, matrices_of
from .cost import SDRAM, Timing, simulate
from .program import ProgramWriter
from .refinement import refined
from .schedule import IN_PLACE, FusedGroup, Plan, can_fuse, plan_stages
from .stages import Stages

if TYPE_CHECKING:
    from ...quantised import Quantised

__all__ = ["choose_fused", "load_cycles", "program_cycles", "simulated_cycles", "written"]


#: Cycles of LOAD: always; for a group whose entry waits among the bursts of all cores' first code,
#: and for one that is read alone.
_LOAD, _LOAD_GROUP, _LOAD_ALONE = 600, 500, 150


def load_cycles(writer: ProgramWriter, weights: bool = False) -> int:
    """Cycles before the cores start: from the second run on, or, with ``weights``, of a run that
    fills the arrays."""
    groups = [group for core in writer.cores for group in core.groups]
    # The cores fill their buffers of code meanwhile.
    code = (
        sum(min(4 * len(core.words), 8 * writer.params["prefetch_words"]) for core in writer.cores)
        / writer.timing.rate
    )
    waiting = min(len(groups), int(code / _LOAD_GROUP))
    found = _LOAD + _LOAD_GROUP * waiting + _LOAD_ALONE * (len(groups) - waiting)
    if weights:
        columns = writer.params["xb_cols"]
        size = sum(
            -(-group.cols // columns) * columns * group.rows
            + (0 if group.bias is None else 4 * group.cols)
            for group in groups
        )
        found += round(size / writer.timing.rate / writer.timing.share)
    return found


def program_cycles(
    writer: ProgramWriter, weights: bool = False, most: float = float("inf")
) -> list[tuple[float, int]]:
    """Cycles and main memory bytes of each stretch of a written program; LOAD counts to the first.
    ``weights``: see :func:`load_cycles`. Empty for a program of ``most`` cycles or more."""
    cores = writer.cores
    marks = [[after[k] for _, _, after in writer.stretches] for k in range(len(cores))]
    ends = simulate(
        [core.words for core in cores],
        [core.groups for core in cores],
        marks,
        writer.params,
        load_cycles(writer, weights),
        writer.timing,
        most,
    )
    return [
        (round(end - before), moved)
        for (before, _), (end, moved) in zip([(0, 0), *ends], ends, strict=False)
    ]


def written(
    quantised: Quantised,
    params: Mapping[str, Any],
    fused: Sequence[FusedGroup],
    timing: Timing = SDRAM,
) -> ProgramWriter | None:
    """Writes the program with the fused groups ``fused`` and returns its
    :class:`~.program.ProgramWriter`; ``None`` if that is impossible."""
    writer = ProgramWriter(quantised, params, fused, timing=timing)
    try:
        writer.place_all(1 << 20)
        writer.write()
    except LoweringError:
        return None
    return writer


def simulated_cycles(
    quantised: Quantised,
    params: Mapping[str, Any],
    fused: Sequence[FusedGroup],
    most: float = float("inf"),
    timing: Timing = SDRAM,
) -> float:
    """Simulated cycles of the program with the fused groups ``fused``; infinite if it cannot be
    written or takes ``most`` cycles or more."""
    writer = written(quantised, params, fused, timing)
    if writer is None:
        return float("inf")
    stretches = program_cycles(writer, most=most)
    return sum(cycles for cycles, _ in stretches) if stretches else float("inf")


#: Nodes of a chain at most.
_MOST = 10
#: Pipelines of a stretch of layers that are planned, and those that are written out to be compared.
_LOOKED, _TRIED = 3, 3
#: Where tensors lie while programs are compared: any place that takes as long to write as that of
#: the end.
_PLACES = 1 << 20


def choose_fused(
    quantised: Quantised, params: Mapping[str, Any], timing: Timing = SDRAM
) -> list[FusedGroup]:
    """Chooses the list of :class:`~.schedule.FusedGroup` with which the program of
    :class:`ProgramWriter` ends first, by the timing of its instructions and of main memory."""
    writer = ProgramWriter(quantised, params, timing=timing)
    matrices = _matrices(quantised, params)
    writer.place_all(_PLACES)
    finder = _Chains(quantised, params, matrices, timing.rate)
    free_bytes = {core: params["lmem_bytes"] for core in range(params["cores"])}

    def bound(fused):
        least = Plan({}, {}, fused[0].stages.busiest())
        return _cycles(quantised, params, [replace(fused[0], plan=least), *fused[1:]], timing.rate)

    def planned(found):
        """Returns the best of ``found`` after replacing the cores' lower bounds by real plans;
        drops candidates that exceed local memory. A candidate that cannot be among the best is not
        planned."""
        bounds = [bound(fused) for fused in found]
        best = []  # (cycles, number among those found, fused groups)
        for number in sorted(range(len(found)), key=lambda number: bounds[number]):
            if len(best) == _TRIED and bounds[number] > best[-1][0]:
                break
            fused = found[number]
            plan = plan_stages(fused[0].stages, free_bytes)
            if plan is not None:
                fused = [replace(fused[0], plan=plan), *fused[1:]]
                best.append((_cycles(quantised, params, fused, timing.rate), number, fused))
                best = sorted(best, key=lambda entry: entry[:2])[:_TRIED]
        return [fused for _, _, fused in best]

    # The best candidates are evaluated more precisely, step by step.
    found = planned(list(_side_by_side(finder, writer, free_bytes)))
    candidates = [finder.chains([])]
    for fused in found:
        candidates.append(fused)
        plan = refined(fused[0].stages, fused[0].plan, writer)
        if plan.steps != fused[0].plan.steps:
            candidates.append([replace(fused[0], plan=plan), *fused[1:]])
    if len(candidates) == 1:
        # Nothing to compare it with: it is enough that it can be written.
        (fused,) = candidates
        return fused if fused and written(quantised, params, fused, timing) is not None else []
    best, lowest = [], float("inf")
    for fused in candidates:
        cycles = simulated_cycles(quantised, params, fused, lowest, timing)
        if cycles < lowest:
            best, lowest = fused, cycles
    return best


def _matrices(quantised, params):
    """Matrices of every convolution if one core computes all channels: node name -> list of
    Matrix."""
    graph = quantised.graph
    return {
        node.name: matrices_of(
            node, quantised.layers[node.name], params, graph.shape(node.output)[1], whole=True
        )
        for node in graph.nodes
        if isinstance(node, Conv)
    }


class _Chains:
    """Chains of fused layers in a network; results are cached across the candidate pipelines.

    Parameters
    ----------
    quantised : Quantised
    params : build parameters
    matrices : node name -> list of Matrix
    rate : bytes a cycle of main memory
    """

    def __init__(self, quantised, params, matrices, rate):
        self.quantised, self.params, self.matrices = quantised, params, matrices
        self.rate = rate
        self.nodes = [node for node in quantised.graph.nodes if not isinstance(node, IN_PLACE)]
        self._chain_of, self._cycles_of = {}, {}

    def _chain(self, first, end):
        """The chain of the nodes ``first`` to ``end`` - 1, or ``None`` if they cannot form one."""
        key = first, end
        if key not in self._chain_of:
            some = FusedGroup(self.nodes[first:end])
            able = can_fuse(self.quantised.graph, some.nodes) and _holds(
                self.quantised, self.params, some, self.matrices
            )
            self._chain_of[key] = some if able else None
        return self._chain_of[key]

    def _cycles(self, chains):
        key = tuple(id(chain) for chain in chains)
        if key not in self._cycles_of:
            self._cycles_of[key] = _cycles(self.quantised, self.params, chains, self.rate)
        return self._cycles_of[key]

    def chains(self, others):
        """Chains among the nodes outside of ``others``."""
        taken = {node.name for some in others for node in some.nodes}
        chains, nodes = [], self.nodes
        lowest, first = self._cycles([]), 0
        while first < len(nodes):
            best = None
            for end in range(first + 2, min(first + _MOST, len(nodes)) + 1):
                if taken & {node.name for node in nodes[first:end]}:
                    break
                some = self._chain(first, end)
                if some is None:
                    continue
                cycles = self._cycles([*chains, some])
                if cycles < lowest:
                    best, lowest = some, cycles
            if best is not None:
                chains.append(best)
            first += len(best.nodes) if best else 1
        return chains


def _side_by_side(finder, writer, free_bytes):
    """Candidate pipelines, lists of :class:`FusedGroup` with the pipelined group first. Each covers
    a stretch that begins where a single tensor leads on; the other nodes form chains. Plans are
    still empty, with the busiest core's cycles as a lower bound."""
    quantised, params, matrices = finder.quantised, finder.params, finder.matrices
    graph, nodes, first = quantised.graph, finder.nodes, 0
    while first < len(nodes) and params["cores"] > 1:
        end = next(
            (end for end in range(len(nodes), first + 1, -1) if can_fuse(graph, nodes[first:end])),
            first + 1,
        )
        for begin in range(first, end - 1):
            some = nodes[begin:end]
            if (
                len(
                    {name for node in some for name in node.inputs} - {node.output for node in some}
                )
                == 1
            ):
                chains = finder.chains([FusedGroup(some)])
                found = []
                for cycles, placement in _candidate_placements(
                    graph, some, writer.size, matrices, params
                ):
                    stages = _stages_of(graph, some, placement, writer.size, matrices, params)
                    if stages.fits(stages.least(), free_bytes):
                        fused = [FusedGroup(some, stages, Plan({}, {}, cycles)), *chains]
                        cycles = _cycles(quantised, params, fused, finder.rate)
                        found.append((cycles, len(found), fused))
                yield from (
                    fused for cycles, _, fused in sorted(found)[:_LOOKED] if cycles < float("inf")
                )
        first = end


def _holds(quantised, params, chain, matrices):
    """Whether local memory can hold the line buffers, for a band at the map's edge and for one
    inside."""
    size, height = (
        ProgramWriter(quantised, params).size,
        quantised.graph.shape(chain.nodes[-1].output)[0],
    )
    quarter = -(-height // 4)
    return all(
        chain.band(
            quantised.graph,
            size,
            matrices,
            params,
            first,
            min(first + quarter, height),
            spare=False,
        )[1]
        is not None
        for first in (0, height // 4)
    )


def _cycles(quantised, params, fused, rate):
    """Cycle estimate of the whole program before it is written; infinite if the arrays cannot hold
    it."""
    try:
        needs = layer_needs(quantised, params, fused, rate)
        assign(unique(needs), params)
    except LoweringError:
        return float("inf")
    staged = [some for some in fused if some.stages is not None]
    pipelined = {node.name for some in staged for node in some.nodes}
    total = sum(some.plan.cycles for some in staged) + sum(
        need.time(len(need.cores)) for need in unique(needs) if need.is_free
    )
    weighted = {node.name for node, _, _ in needs} | pipelined
    together = {id(node): some.nodes for some in fused for node in some.nodes}
    for node in quantised.graph.nodes:
        nodes = together.get(id(node), [node])
        if (
            node is nodes[-1]
            and not isinstance(node, IN_PLACE)
            and not any(n.name in weighted for n in nodes)
        ):
            total += floor(quantised, nodes, rate)
    return total


def _stages_of(
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


def _candidate_placements(
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
    alone = _stages_of(
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
