# SPDX-License-Identifier: BSD-2-Clause
"""Scale of a network's input: the scale that changes the float network's results least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate import run_graph
from ..quantised import Scale
from .calibration import batches, evenly
from .steps import SPARE, WIDE

if TYPE_CHECKING:
    from ..graph import Graph

__all__ = ["input_step"]

#: Inputs that are tried, units a halving and in all, greatest number of values of a grid.
_INPUTS, _HALVING, _TRIED, _VALUES = 48, 5, 9, 1 << 12


def _grid(values):
    """Greatest scale at which all ``values`` are integers (as those of a sensor or a quantised data
    set are), or ``None``."""
    found = np.unique(values)
    if not 1 < len(found) <= _VALUES:
        return None
    size = max(abs(found[0]), abs(found[-1]))
    gaps = np.diff(found)
    unit = gaps[gaps > 1e-5 * size].min(initial=size)
    return unit if np.abs(found / unit - np.rint(found / unit)).max() < 1e-2 else None


def _results(graph, values):
    outputs = [run_graph(graph, batch) for batch in batches(graph, values)]
    return {name: np.concatenate([output[name] for output in outputs]) for name in outputs[0]}


def input_step(
    graph: Graph, values: Mapping[str, np.ndarray], tensor: str, bits: int
) -> tuple[float, str] | None:
    """Chooses the scale of an input: (scale, reason); ``None`` if all its values are zero.

    Parameters
    ----------
    graph : Graph
    values : dict, name of each input's tensor -> float64 array
    tensor, bits : name of the input's tensor, its width
    """
    values = evenly(values, _INPUTS)
    own, top = values[tensor], (1 << bits - 1) - 1
    greatest = np.abs(own).max()
    if greatest == 0:
        return None
    steps = list(
        greatest
        * (SPARE if bits >= WIDE else 1)
        / top
        * 2.0 ** (-np.arange(1 if bits >= WIDE else _TRIED) / _HALVING)
    )
    unit = _grid(own)
    if unit is not None:
        steps += [
            unit * k for k in range(1, int(steps[0] * 1.05 / unit) + 1) if unit * k > steps[-1]
        ][-4:]
    exact, costs = _results(graph, values), []
    for step in steps:
        scale = Scale(step, bits)
        now = _results(graph, {**values, tensor: scale.value(scale.quantise(own))})
        costs.append(
            sum(
                np.square(now[name] - real).sum() / max(np.square(real).sum(), 1e-300)
                for name, real in exact.items()
            )
        )
    best = steps[int(np.argmin(costs))]
    return (
        best,
        f"least change of the network's results, range {best * top / greatest:.3f} of the "
        f"greatest size seen, {greatest:.5g}",
    )
