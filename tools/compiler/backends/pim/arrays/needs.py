# SPDX-License-Identifier: BSD-2-Clause
"""Demand of a network's layers for the cores' arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....graph import Binary, Conv, Dense, Graph, Gru, Lstm, MatMul, Node
from ....quantised import Integer, Quantised, Scale
from ...base import LoweringError
from ..cost.clocks import BEAT
from ..recurrent import need_of
from ..stages import needed_rows
from .assign import Need
from .matrices import MOST_ARRAYS, MOST_ROWS, demand, dense_splits, matrices_of

if TYPE_CHECKING:
    from ..fused import FusedGroup

__all__ = ["empty_numbers", "floor", "layer_needs", "unique"]


def layer_needs(
    quantised: Quantised, params: Mapping[str, Any], fused: Sequence[FusedGroup] = ()
) -> list[tuple[Any, Any, Need]]:
    """Demand of every layer with weights: (node, matrices or columns, Need). Layers of a chain
    share one Need; pipeline stages share that of their core.

    ``fused``: list of :class:`~..fused.FusedGroup`, the fused nodes.
    """
    found = _each(quantised, params, {id(node) for some in fused for node in some.nodes})
    for some in fused:
        own = [k for k, (node, _, _) in enumerate(found) if any(node is n for n in some.nodes)]
        if some.stages is not None:
            for k in own:
                found[k][2].placement = some.stages.placement[found[k][0].name]
        elif own:
            need = _chain_need(quantised, params, some, [found[k] for k in own])
            for k in own:
                found[k] = *found[k][:2], need
    return found


def _chain_need(quantised, params, chain, own):
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
        floor(quantised, nodes),
        min(height, params["cores"]),
        max(0, round(part - whole * (band[1] - band[0]) / height)),
    )


def _each(quantised, p, together):
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
                            floor(quantised, [node]),
                            min(height, p["cores"]),
                        ),
                    )
                )
        elif isinstance(node, Dense):
            out, rows = node.weights.shape
            wide = p["xb_cols"]
            for first in range(0, out, wide):
                cols = min(wide, out - first)
                splits = dense_splits(rows, cols, p)
                if not splits:
                    raise LoweringError(f"{cols} columns of {rows} rows fit no group", node.name)
                arrays = sum(-(-n // p["xb_rows"]) for _, n in splits)
                found.append(
                    (
                        node,
                        (first, cols),
                        Need(
                            node.name,
                            arrays,
                            cols if numbers.bias is not None or len(splits) > 1 else 0,
                            len(splits),
                            rows * -(-cols // p["lanes"]),
                            0,
                            1,
                        ),
                    )
                )
        elif isinstance(node, Lstm | Gru):
            found.append((node, None, need_of(graph, node, p)))
    return found


def floor(quantised: Quantised, nodes: Sequence[Node]) -> float:
    """Least cycles of main memory traffic for the maps that nodes (a layer or a chain) read and
    store."""
    graph, made = quantised.graph, {node.output for node in nodes}
    names = {name for node in nodes for name in node.inputs} - made | {nodes[-1].output}
    return sum(graph.tensors[name].size * quantised.scales[name].bits // 8 for name in names) / BEAT


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
