# SPDX-License-Identifier: BSD-2-Clause
"""Cycles and signal-to-noise ratio per layer of a plan, measured on a target.

A layer's cycles are the difference of two runs: of the program that ends behind it, and of the one
that ends behind the layer before. Both are the plan's own program but for the few bytes that end it
early (:class:`~..backends.base.LayerSpan`), so that they add up to those of the whole. Overlapped
work of a layer is not counted twice; the first includes the cost of any start.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..evaluate import run_graph
from ..plan import CoreStep
from ..session import SessionReport
from ..values import to_values
from .accuracy import signal_to_noise

if TYPE_CHECKING:
    from ..plan.plan import Plan
    from ..session.session import Session

__all__ = ["layer_counters", "layer_snr"]

#: Largest number of inputs for the layers' signal-to-noise ratios.
MOST_INPUTS = 32


def layer_snr(
    plan: Plan, inputs: Mapping[str, np.ndarray], numbers: Mapping[str, np.ndarray]
) -> dict[tuple[int, int], float | None]:
    """Signal-to-noise ratio in dB of each layer, keyed by (index of the step, index of its layer);
    ``None`` if nothing differs or there is no signal.

    Parameters
    ----------
    inputs : dict, tensor name -> float64 with the first axis of inputs
    numbers : dict, tensor name -> integers of the core, as
        :func:`~..fidelity.reference_tensors` gives them
    """
    values, found = {name: array[:MOST_INPUTS] for name, array in inputs.items()}, {}
    for number, step in enumerate(plan.steps):
        on_core = isinstance(step, CoreStep)
        graph = step.part.graph if isinstance(step, CoreStep) else step.graph
        exact = run_graph(
            graph, {port.tensor: values[port.tensor] for port in graph.inputs}, keep=on_core
        )
        values.update({port.tensor: exact[port.tensor] for port in graph.outputs})
        if not isinstance(step, CoreStep):
            continue
        results = {node.name: node.output for node in graph.nodes}
        for place, span in enumerate(step.lowered.layers):
            tensor = results.get(span.name)
            if tensor in numbers and tensor in exact:
                snr = signal_to_noise(
                    exact[tensor], to_values(step.part, tensor, numbers[tensor][:MOST_INPUTS])
                )
                found[number, place] = snr if snr is not None and isfinite(snr) else None
    return found


def layer_counters(
    session: Session, inputs: Mapping[str, np.ndarray]
) -> dict[tuple[int, int], dict[str, float]]:
    """Hardware counters per input of each layer, keyed by (index of the step, index of its layer).
    Layers that the program does not run one after the other are counted with the last of them.

    Parameters
    ----------
    session : Session; its report stays as it is
    inputs : dict, tensor name -> float64 with the first axis of inputs, of which a run's are taken
    """
    plan, kept, found = session.plan, session.report, {}
    count = max(step.lowered.images for step in plan.core_steps)
    values = {name: array[:count] for name, array in inputs.items()}
    count = len(next(iter(values.values())))
    try:
        for number, step in enumerate(plan.steps):
            if not isinstance(step, CoreStep):
                values.update(
                    run_graph(
                        step.graph, {port.tensor: values[port.tensor] for port in step.graph.inputs}
                    )
                )
                continue
            after = dict(values)
            # The first run may find the core empty; the others are what any but the first input
            # takes.
            _counters(session, step, after)
            before: dict[str, float] = {}
            for place, span in enumerate(step.lowered.layers):
                if span.cut is None and place < len(step.lowered.layers) - 1:
                    continue
                counters = _counters(session, step, dict(values), span.cut or ())
                found[number, place] = {
                    name: (value - before.get(name, 0)) / count for name, value in counters.items()
                }
                before = counters
            values = after
    finally:
        session.report = kept
    return found


def _counters(session, step, values, cut=()):
    """Counters of a step's runs on ``values``, which the results are added to; ``cut``: patches
    that end the program early."""
    lowered, target = step.lowered, session.target
    session.report = SessionReport()
    patches = [(at, bytes.fromhex(data)) for at, data in cut]
    try:
        for at, data in patches:
            target.write(lowered.program_at + at, data)
        session.run_on_core(step, values)
    finally:
        for at, data in patches:
            target.write(lowered.program_at + at, lowered.program[at : at + len(data)])
    return session.report.counters
