# SPDX-License-Identifier: BSD-2-Clause
"""Demand of a network's layers for the cores' arrays, and their assignment to cores: one copy of
each layer's weights, then further copies where they gain most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph import Binary, Conv, Dense, Graph, Gru, Lstm, MatMul, Node
from ....quantised import Integer, Quantised, Scale
from ...base import LoweringError
from ..cost import SDRAM
from ..recurrent import need_of
from ..stages import needed_rows
from .matrices import MOST_ARRAYS, MOST_ROWS, Need, demand, dense_tiling, matrices_of

if TYPE_CHECKING:
    from ..schedule import FusedGroup

__all__ = ["assign", "empty_numbers", "floor", "layer_needs", "unique"]


class _Packing:
    """Packing of weight copies into cores; cached, since the search asks for the same numbers of
    copies again and again."""

    def __init__(self, needs, params):
        self.needs, self._found = needs, {}
        self._cores = range(params["cores"])
        self._most = [params["arrays"], params["bias_words"], params["groups"]]
        self._order = sorted(
            range(len(needs)), key=lambda n: (needs[n].is_free, -needs[n].arrays, n)
        )

    def packed(self, copies):
        """Packs the given number of copies of each need, largest first, each into the core with
        most free arrays; returns the cores of each need, or the need that does not fit."""
        key = tuple(copies)
        if key not in self._found:
            self._found[key] = self._pack(key)
        return self._found[key]

    def _pack(self, copies):
        left = [self._most[:] for _ in self._cores]
        found = [[] for _ in self.needs]
        for n in self._order:
            need, own = self.needs[n], found[n]
            arrays, biases, groups = need.arrays, need.biases, need.groups
            cores = self._cores if need.placement is None else need.placement
            for _ in range(copies[n]):
                best = None
                for c in cores:
                    have = left[c]
                    if (
                        have[0] >= arrays
                        and have[1] >= biases
                        and have[2] >= groups
                        and (best is None or (have, -c) > (left[best], -best))
                        and c not in own
                    ):
                        best = c
                if best is None:
                    return need
                have = left[best]
                left[best] = [have[0] - arrays, have[1] - biases, have[2] - groups]
                own.append(best)
        return found


def _total(needs, copies):
    return sum(need.time(count) for need, count in zip(needs, copies, strict=True))


def _grown(packing, copies, found):
    """Adds copies where they gain most per array, until no more fit: ``(copies, cores of
    each)``."""
    needs = packing.needs
    options = {n for n, need in enumerate(needs) if need.is_free}
    while options:
        best = max(
            options,
            key=lambda n: (
                (needs[n].time(copies[n]) - needs[n].time(copies[n] + 1)) / max(needs[n].arrays, 1),
                -n,
            ),
        )
        more = [count + (n == best) for n, count in enumerate(copies)]
        if more[best] > needs[best].most or needs[best].time(copies[best]) <= needs[best].time(
            more[best]
        ):
            options.discard(best)
            continue
        tried = packing.packed(more)
        if isinstance(tried, Need):
            options.discard(best)
        else:
            copies, found = more, tried
    return copies, found


def assign(needs: list[Need], params: Mapping[str, Any]) -> list[Need]:
    """Fills ``cores`` of every :class:`Need`: one copy each, then further copies where they gain
    most per array.

    Raises
    ------
    LoweringError
        The arrays do not hold all.
    """
    copies = [need.least for need in needs]
    packing = _Packing(needs, params)
    found = packing.packed(copies)
    if isinstance(found, Need):
        raise LoweringError(
            f"takes {found.arrays} arrays, {found.biases} biases and "
            f"{found.groups} groups of a core; the network takes "
            f"{sum(n.arrays * n.least for n in needs)} arrays, there are {params['cores']} x "
            f"{params['arrays']} of {params['xb_rows']} x "
            f"{params['xb_cols']}, {params['bias_words']} biases and {params['groups']} groups "
            f"a core",
            found.name,
        )
    copies, found = _grown(packing, copies, found)
    # The greatest gain per array need not be the best choice: take copies away where others then
    # gain more.
    better = True
    while better:
        better = False
        for n in sorted(
            (n for n in range(len(needs)) if copies[n] > 1 and needs[n].is_free),
            key=lambda n: -needs[n].arrays,
        ):
            for m in (
                m
                for m in range(len(needs))
                if m != n and copies[m] < needs[m].most and needs[m].is_free
            ):
                tried = [count - (k == n) + (k == m) for k, count in enumerate(copies)]
                packed = packing.packed(tried)
                if isinstance(packed, Need):
                    continue
                tried, packed = _grown(packing, tried, packed)
                if _total(needs, tried) < _total(needs, copies):
                    copies, found, better = tried, packed, True
                    break
            if better:
                break
    for need, cores in zip(needs, found, strict=True):
        need.cores = sorted(cores)
    return needs


def layer_needs(
    quantised: Quantised,
    params: Mapping[str, Any],
    fused: Sequence[FusedGroup] = (),
    rate: float = SDRAM.rate,
) -> list[tuple[Any, Any, Need]]:
    """Demand of every layer with weights: (node, matrices or columns, Need). Layers of a chain
    share one Need; pipeline stages share that of their core.

    ``fused``: list of :class:`~..schedule.FusedGroup`, the fused nodes; ``rate``: bytes a cycle of
    main memory.
    """
    found = _each(quantised, params, {id(node) for some in fused for node in some.nodes}, rate)
    for some in fused:
        own = [k for k, (node, _, _) in enumerate(found) if any(node is n for n in some.nodes)]
        if some.stages is not None:
            for k in own:
                cores = some.stages.placement[found[k][0].name]
                found[k][2].placement, found[k][2].least = cores, len(cores)
        elif own:
            need = _chain_need(quantised, params, some, [found[k] for k in own], rate)
            for k in own:
                found[k] = *found[k][:2], need
    return found


def _chain_need(quantised, params, chain, own, rate):
    graph, nodes, needs = quantised.graph, chain.nodes, [need for _, _, need in own]
    height = graph.shape(nodes[-1].output)[0]
    # Rows that a band makes only because others have theirs: what a quarter of the map takes above
    # a quarter of all.
    band = height // 4, max(height // 2, height // 4 + 1)
    cost = {node.name: need.cycles / graph.shape(node.output)[0] for node, _, need in own}
    whole, part = (
        sum(len(rows.get(node.output, ())) * cost.get(node.name, 0) for node in nodes)
        for rows in (needed_rows(graph, nodes, some) for some in ((0, height), band))
    )
    return Need(
        nodes[-1].name,
        sum(n.arrays for n in needs),
        sum(n.biases for n in needs),
        sum(n.groups for n in needs),
        round(whole),
        floor(quantised, nodes, rate),
        min(height, params["cores"]),
        max(0, round(part - whole * (band[1] - band[0]) / height)),
    )


def _each(quantised, p, together, rate):
    """Demand of every layer as in :func:`layer_needs`, but with a Need per layer; ``together``: ids
    of the nodes that are fused with others."""
    graph, found = quantised.graph, []
    for node in graph.nodes:
        numbers = quantised.layers.get(node.name)
        if isinstance(node, Conv):
            height, width, _ = graph.shape(node.output)
            matrices = matrices_of(node, numbers, p, width, whole=id(node) in together)
            if any(m.shape[0] > MOST_ROWS or m.arrays(p) > MOST_ARRAYS for m in matrices):
                largest = max(matrices, key=lambda m: m.arrays(p))
                raise LoweringError(
                    f"a neighbourhood of {largest.shape[0]} values for "
                    f"{largest.outputs} channels takes "
                    f"{largest.arrays(p)} arrays, a group has at most {MOST_ROWS} rows and "
                    f"{MOST_ARRAYS} arrays",
                    node.name,
                )
            # Channels of the result may be different cores', but where nodes run together a core
            # makes whole rows.
            for some in [matrices] if id(node) in together else [[m] for m in matrices]:
                cycles = round(height * width * sum(m.cycles(p) for m in some))
                found.append(
                    (
                        node,
                        some,
                        Need(
                            node.name,
                            *demand(some, p),
                            cycles,
                            floor(quantised, [node], rate),
                            min(height, p["cores"]),
                        ),
                    )
                )
        elif isinstance(node, Dense):
            out, rows = node.weights.shape
            tiling = dense_tiling(quantised, node, p)
            if tiling is None:
                raise LoweringError(_without_tiling(node, p), node.name)
            for first in range(0, out, tiling.columns):
                cols = min(tiling.columns, out - first)
                several = len(tiling.splits) > 1
                found.append(
                    (
                        node,
                        (first, cols, tiling),
                        Need(
                            node.name,
                            tiling.arrays(p),
                            cols if numbers.bias is not None or several else 0,
                            len(tiling.splits),
                            rows * -(-cols // p["lanes"]),
                            0,
                            1,
                        ),
                    )
                )
        elif isinstance(node, Lstm | Gru):
            found.append((node, None, need_of(graph, node, p)))
    return found


def _without_tiling(node, params):
    """Reason why a dense layer has no tiling."""
    inputs = node.weights.shape[1]
    return (
        f"{inputs} inputs exceed a group or the {params['lmem_bytes']} bytes of local memory "
        f"(lmem_bytes); sums of parts want max_biw = 32, this build has {params['max_biw']}"
    )


def floor(quantised: Quantised, nodes: Sequence[Node], rate: float) -> float:
    """Least cycles of main memory traffic for the maps that nodes (a layer or a chain) read and
    store; ``rate``: bytes a cycle."""
    graph, made = quantised.graph, {node.output for node in nodes}
    names = {name for node in nodes for name in node.inputs} - made | {nodes[-1].output}
    return sum(graph.tensors[name].size * quantised.scales[name].bits // 8 for name in names) / rate


def unique(needs: Iterable[tuple[Any, Any, Need]]) -> list[Need]:
    """Removes duplicate Needs and keeps their order."""
    return list({id(need): need for _, _, need in needs}.values())


def empty_numbers(graph: Graph, bits: int) -> Quantised:
    """A :class:`Quantised` with zero weights, for estimates that do not depend on values."""
    # A layer without biases has them where the quantiser makes up for what rounding does to a mean.
    layers = {
        node.name: Integer(
            weights=np.zeros(node.weights.shape, np.int8),
            bias=np.zeros(len(node.weights), np.int32),
            shift=np.zeros(1, np.int64),
            bias_shift=np.zeros(1, np.int64),
        )
        for node in graph.nodes
        if isinstance(node, Conv | Dense)
    }
    nothing, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    layers.update(
        {
            node.name: Integer(
                weights=node.weights,
                bias=node.bias,
                shift=one,
                bias_shift=one,
                recurrent=node.recurrent,
                recurrent_shift=one,
            )
            for node in graph.nodes
            if isinstance(node, Lstm | Gru)
        }
    )
    layers.update(
        {
            node.name: Integer(
                weights=nothing, bias=None, shift=np.zeros(1, np.int64), bias_shift=nothing
            )
            for node in graph.nodes
            if isinstance(node, MatMul) or isinstance(node, Binary) and node.function == "mul"
        }
    )
    return Quantised(
        graph=graph, scales={name: Scale(1.0, bits) for name in graph.tensors}, layers=layers
    )
