# SPDX-License-Identifier: BSD-2-Clause
"""What each layer of a plan takes and loses: cycles counted on a target, signal to noise against
the network in floating point.

A layer's cycles are the difference of two runs: of the program that ends behind it, and of the one
that ends behind the layer before. Both are the plan's own program but for the few bytes that end it
early (:class:`~..backends.base.LayerSpan`), so that they add up to those of the whole. What a layer
does beside the one before it is not counted twice; the first has what any start takes.
"""

from math import isfinite

from ..evaluate import run_graph
from ..plan import MachineStep
from ..session import SessionReport
from ..values import to_values
from .accuracy import signal_to_noise

__all__ = ["layer_counters", "layer_snr"]

#: Inputs of which signal to noise is that of the layers, at most.
MOST_INPUTS = 32


def layer_snr(plan, inputs, numbers):
    """(number of a step, number of its layer) -> dB, ``None`` where nothing differs or there is no
    signal.

    Parameters
    ----------
    inputs : dict, tensor name -> float64 with the first axis of inputs
    numbers : dict, tensor name -> numbers of the machine,
        as :func:`~..verification.reference_tensors` gives them
    """
    values, found = {name: array[:MOST_INPUTS] for name, array in inputs.items()}, {}
    for number, step in enumerate(plan.steps):
        machine = isinstance(step, MachineStep)
        graph = step.part.graph if machine else step.graph
        exact = run_graph(
            graph, {port.tensor: values[port.tensor] for port in graph.inputs}, keep=machine
        )
        values.update({port.tensor: exact[port.tensor] for port in graph.outputs})
        if not machine:
            continue
        results = {node.name: node.output for node in graph.nodes}
        for place, span in enumerate(step.lowered.layers):
            tensor = results.get(span.name)
            if tensor in numbers and tensor in exact:
                snr = signal_to_noise(
                    exact[tensor], to_values(step.part, tensor, numbers[tensor][:MOST_INPUTS])
                )
                found[number, place] = snr if isfinite(snr) else None
    return found


def layer_counters(session, inputs):
    """(number of a step, number of its layer) -> counters of one input, name -> number. Layers that
    the program does not do one after the other have theirs with the last of them.

    Parameters
    ----------
    session : Session; its report stays as it is
    inputs : dict, tensor name -> float64 with the first axis of inputs, of which a run's are taken
    """
    plan, kept, found = session.plan, session.report, {}
    count = max(step.lowered.images for step in plan.machine_steps)
    values = {name: array[:count] for name, array in inputs.items()}
    count = len(next(iter(values.values())))
    try:
        for number, step in enumerate(plan.steps):
            if not isinstance(step, MachineStep):
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
            before = {}
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
    """Counters of a step's runs on ``values``, which get its results; ``cut``: how its program ends
    early."""
    lowered, target = step.lowered, session.target
    session.report = SessionReport()
    pieces = [(at, bytes.fromhex(data)) for at, data in cut]
    try:
        for at, data in pieces:
            target.write(lowered.program_at + at, data)
        session.machine(step, values)
    finally:
        for at, data in pieces:
            target.write(lowered.program_at + at, lowered.program[at : at + len(data)])
    return session.report.counters
