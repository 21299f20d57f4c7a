# SPDX-License-Identifier: BSD-2-Clause
"""Sensitivity analysis: how much an error of each channel of each tensor affects the network's
results, propagated backward through squared weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..graph import AveragePool, Concat, Graph, Reduce
from .rows import rows_of, weighted

if TYPE_CHECKING:
    from .statistics import Seen

__all__ = ["sensitivities"]


def _positions(graph, name):
    shape = graph.shape(name)
    return max(1, graph.tensors[name].size // (shape[-1] if shape else 1))


def _fold(values, channels):
    """Adapts per-channel ``values`` to a tensor of ``channels``: means if the channels repeat,
    copies if they are too few."""
    if len(values) % channels == 0:
        return values.reshape(-1, channels).mean(axis=0)
    return np.full(channels, values.mean())


def _through_layer(node, channels, weight, together):
    """Propagates sensitivity through a layer with weights to the source's ``channels``, as if each
    source position had a single result."""
    rows = rows_of(node)
    groups, out, products = rows.shape
    taps = rows.reshape(groups, out, -1, channels // groups)
    gain = np.square(taps.sum(axis=2)) if together else np.square(taps).sum(axis=2)
    return np.einsum("goi,go->gi", gain, weight.reshape(groups, out)).ravel()


def sensitivities(graph: Graph, seen: Mapping[str, Seen], together: bool) -> dict[str, np.ndarray]:
    """Sensitivity of every activation tensor: increase of the results' relative squared error per
    squared error of one element of each channel; dict, tensor name -> float64 [channels].

    ``together``: an error is the same at all positions of a map, as one of a weight is, else every
    position has one of its own, as rounding gives. Errors of channels are taken as independent of
    each other, and a result that an activation cuts as deaf to them.
    """
    result = {name: np.zeros_like(values.channel_power) for name, values in seen.items()}
    for name in graph.kept():
        result[name] += 1 / (seen[name].channel_power.sum() * _positions(graph, name) + 1e-30)
    for node in reversed(graph.nodes):
        after, here = result[node.output], _positions(graph, node.output)
        for at, name in enumerate(node.inputs):
            if name not in result:
                continue
            channels, ratio = len(result[name]), here / _positions(graph, name)
            if isinstance(node, Concat):
                apart = channels < len(after)
                begin = sum(graph.shape(other)[-1] for other in node.inputs[:at]) if apart else 0
                result[name] += after[begin : begin + channels]
                continue
            if weighted(node):
                heard = after * seen[node.output].channel_active
                result[name] += (
                    heard if at else _through_layer(node, channels, heard, together) * ratio
                )
                continue
            if isinstance(node, AveragePool) and not together:
                ratio /= np.prod(node.window)
            elif isinstance(node, Reduce) and node.function == "mean" and not together:
                ratio *= ratio
            result[name] += _fold(after, channels) * ratio
    return result
