# SPDX-License-Identifier: BSD-2-Clause
"""Scales of tensors on builds without ``ext_norm``: all layers have one shift, so that the scales
of a layer's operand and result decide that of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Conv, Dense, Graph, Reshape

if TYPE_CHECKING:
    from ...quantise.calibration import Seen
    from .arithmetic import WiredNorm

__all__ = ["balanced_steps"]

#: Headroom of results that wrap; greatest number of a byte.
_ROOM, _TOP = 1.25, 127
#: Candidate scales of a tensor: per octave, and in all.
_OCTAVE, _TRIED = 4, 48
#: Rounds of the search.
_ROUNDS = 6


def balanced_steps(
    graph: Graph, seen: Mapping[str, Seen], norm: WiredNorm
) -> dict[str, tuple[float, str]]:
    """Chooses the scale of every tensor so that rounding of inputs, weights and results together
    loses least: tensor -> (scale, reason).

    A finer scale of a result makes its layer's weights finer and those of the next layer coarser. A
    result's range must fit its byte, so that the first tensors use few of its numbers.

    Parameters
    ----------
    graph : Graph, legalised
    seen : statistics of every tensor on the calibration inputs
    norm : normalisation of the build
    """
    roots: dict[str, str] = {}
    layers = []
    for node in graph.nodes:
        if isinstance(node, Reshape):
            roots[node.output] = roots.get(node.inputs[0], node.inputs[0])
        elif isinstance(node, Conv | Dense):
            layers.append(node)
    tensors = [port.tensor for port in graph.inputs] + [node.output for node in layers]
    # Results begin at the range of their bytes, and may have a coarser scale.
    room = _ROOM if norm.mode == 0 else 1.0
    least = {name: (seen[name].most or 1.0) * room / _TOP for name in tensors}
    steps = dict(least)

    def noise(name, step):
        """Squared error of rounding a tensor, relative to its own square."""
        return step**2 / 12 / max(float(np.mean(np.square(seen[name].sample))), 1e-30)

    power = {node.name: _power(graph, seen, node, roots) for node in layers}

    def cost():
        total = sum(noise(port.tensor, steps[port.tensor]) for port in graph.inputs)
        for node in layers:
            source = roots.get(node.inputs[0], node.inputs[0])
            weight = steps[node.output] * 2.0**-norm.shift / steps[source]
            # Weights that exceed a byte are clipped.
            weight = max(weight, float(np.abs(node.weights).max()) / _TOP)
            total += noise(node.output, weight * np.sqrt(power[node.name]))
            total += noise(node.output, steps[node.output]) if norm.shift else 0.0
        return total

    for _ in range(_ROUNDS):
        for name in reversed(tensors):
            tried = least[name] * 2.0 ** (np.arange(_TRIED) / _OCTAVE)
            costs = []
            for steps[name] in tried:
                costs.append(cost())
            steps[name] = float(tried[int(np.argmin(costs))])
    why = f"without ext_norm: balanced with the weights, whose sums are shifted by {norm.shift}"
    return {name: (step, why) for name, step in steps.items()}


def _power(graph, seen, node, roots):
    """Sum of the squares of what a layer multiplies its weights with."""
    source = seen[roots.get(node.inputs[0], node.inputs[0])]
    products = int(np.prod(node.weights.shape[1:]))
    return max(float(np.mean(source.channel_power)) * products, 1e-30)
