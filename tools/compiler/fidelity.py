# SPDX-License-Identifier: BSD-2-Clause
"""Fidelity of a plan: its result in numpy, its signal-to-noise ratio against the network in
floating point, and the layer that loses most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .evaluate import run_graph
from .graph import INDEX_FUNCTIONS, Graph, Reduce
from .plan import CoreStep
from .quantise.calibration import evenly, fewer
from .values import from_graph, to_graph, to_numbers, to_values

if TYPE_CHECKING:
    from .plan.plan import Plan

__all__ = [
    "LEAST",
    "Fidelity",
    "chosen_tensor",
    "exact_states",
    "measure",
    "reference_tensors",
    "signal_power",
    "some_inputs",
    "states_read",
]

#: dB below which a user is warned.
LEAST = 20.0
#: Inputs that are measured, at most.
_INPUTS = 16
#: Multiplications of all inputs together where the reference works number by number, as that of
#: floating point does.
_FLOATING_MACS = 1 << 23
#: Share of a tensor's power below which differences between inputs are rounding of float64.
_CONSTANT = 1e-20


@dataclass(frozen=True)
class Fidelity:
    """Accuracy of a plan against the network in floating point.

    Attributes
    ----------
    snr : dB of the worst output, infinite if all are equal, ``None`` if none has any signal
    inputs : how many were measured
    place : "layer NAME" or "input NAME" that adds most noise, ``None`` if none does
    before, after : dB of the worst tensor that it reads, and of its result
    """

    snr: float | None
    inputs: int
    place: str | None = None
    before: float = float("inf")
    after: float = float("inf")


def measure(plan: Plan, graph: Graph, calibration: Mapping[str, np.ndarray]) -> Fidelity:
    """Measures the :class:`Fidelity` of a plan on some of the calibration inputs.

    Parameters
    ----------
    plan : Plan
    graph : Graph, as imported
    calibration : dict, name of every input -> array in the user's layout
    """
    inputs = some_inputs(plan, graph, calibration)
    given = {port.tensor: to_graph(port, inputs[port.name]) for port in plan.inputs}
    numbers, values = reference_tensors(plan, given)
    layers = _layers(plan, {**given, **exact_states(plan, inputs)}, numbers, values)
    exact = run_graph(
        graph, {port.tensor: to_graph(port, inputs[port.name]) for port in graph.inputs}
    )
    found = []
    outputs = {port.name: port for port in graph.outputs}
    for port in plan.outputs:
        own = outputs[port.name]
        chosen = chosen_tensor(plan, port.tensor)
        if chosen is None:
            found.append(_ratio(_real(own, exact), _real(port, values)))
        else:
            found.append(layers.ratios.get(chosen))
    snr = min((ratio for ratio in found if ratio is not None), default=None)
    return Fidelity(snr, len(next(iter(inputs.values()))), *layers.worst)


def some_inputs(
    plan: Plan, graph: Graph, calibration: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Selects inputs to measure, in the user's layout: few enough for memory and time. For a plan
    with states, the first inferences of a sequence."""
    count = _INPUTS
    if plan.backend().floating:
        macs = sum(graph.macs(node) for node in graph.nodes)
        count = max(2, min(count, _FLOATING_MACS // max(macs, 1)))
    if plan.states:
        return {name: np.asarray(array)[:count] for name, array in calibration.items()}
    return evenly(fewer(graph, {name: np.asarray(a) for name, a in calibration.items()}), count)


def exact_states(plan: Plan, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """States in floating point that each inference reads, tensor name -> array."""
    return {
        state.input.tensor: to_graph(state.input, inputs[state.input.name]) for state in plan.states
    }


def _real(port, values):
    """Real values of an output, with the user's order of axes."""
    return from_graph(replace(port, scale=None), values[port.tensor])


def chosen_tensor(plan: Plan, tensor: str) -> str | None:
    """Input of the argmax that produces an output ``tensor``, else ``None``: class numbers have no
    signal-to-noise ratio."""
    graphs = [step.part.graph if isinstance(step, CoreStep) else step.graph for step in plan.steps]
    for graph in graphs:
        node = graph.maker(tensor)
        if isinstance(node, Reduce) and node.function in INDEX_FUNCTIONS:
            return node.inputs[0]
    return None


@dataclass
class _Layers:
    """Signal-to-noise ratios in dB by tensor name, and the layer or input that adds most noise: its
    place and the ratio before and after it (fields of :class:`Fidelity`)."""

    ratios: dict = field(default_factory=dict)
    worst: tuple = ()
    most: float = 0.0

    def judge(self, place, before, after):
        """Records ``place`` as the worst if it adds more noise than the worst so far."""
        added = 10 ** (-after / 10) - 10 ** (-before / 10)
        if added > self.most:
            self.most, self.worst = added, (place, before, after)


def _layers(plan, inputs, numbers, values):
    """Computes the :class:`_Layers` of a plan from the result of :func:`reference_tensors` for
    ``inputs``."""
    result = _Layers()
    exact, found = dict(inputs), {**inputs, **states_read(plan, values)}
    for step in plan.steps:
        graph = step.part.graph if isinstance(step, CoreStep) else step.graph
        exact.update(_run(graph, exact))
        seen = {port.tensor: found[port.tensor] for port in graph.inputs}
        if isinstance(step, CoreStep):
            part = step.part
            seen = {
                name: to_values(part, name, to_numbers(part, name, seen[name])) for name in seen
            }
            made = {node.output for node in graph.nodes} & numbers.keys()
            seen |= {name: to_values(part, name, numbers[name]) for name in made}
        else:
            seen |= _run(graph, seen)
        found.update(
            {node.output: seen[node.output] for node in graph.nodes if node.output in seen}
        )
        ratios = {name: _ratio(exact[name], values) for name, values in seen.items()}
        result.ratios |= {name: ratio for name, ratio in ratios.items() if ratio is not None}
        for port in plan.inputs:
            if port.tensor in seen:
                result.judge(f"input {port.name}", np.inf, result.ratios.get(port.tensor, np.inf))
        for node in graph.nodes:
            after = result.ratios.get(node.output, np.inf)
            before = min((result.ratios.get(name, np.inf) for name in node.inputs), default=np.inf)
            result.judge(f"layer {node.name}", before, after)
    return result


def _run(graph, values):
    """Computes every activation of a graph, with inputs from ``values``."""
    return run_graph(graph, {port.tensor: values[port.tensor] for port in graph.inputs}, keep=True)


def _ratio(exact, found):
    """Signal-to-noise ratio in dB, minus infinity if ``found`` is not finite; ``None`` without a
    signal."""
    exact, found = np.asarray(exact, np.float64), np.asarray(found, np.float64)
    if not np.isfinite(exact).all():
        return None
    if not np.isfinite(found).all():
        return -np.inf
    signal = signal_power(exact)
    if not signal:
        return None
    noise = np.square(exact - found).sum()
    return float(10 * np.log10(signal / noise)) if noise else np.inf


def signal_power(exact: np.ndarray) -> float:
    """Power of a tensor's signal over all inputs (the first axis), 0 if it is constant.

    A signal is the part that differs between inputs: a constant, however large, says nothing about
    them.
    Of one input it is the values themselves.
    """
    count, power = len(exact), np.square(exact).sum()
    if count == 1:
        return float(power)
    signal = np.square(exact - exact.mean(axis=0)).sum() * count / (count - 1)
    return float(signal) if signal > _CONSTANT * power else 0.0


def reference_tensors(
    plan: Plan, inputs: Mapping[str, np.ndarray], progress: Callable[..., None] | None = None
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Computes a plan in numpy: (integers of every tensor on the core, as
    :meth:`~.backends.base.Backend.reference` gives them; real numbers of the tensors between
    steps), both by tensor name. Of a plan with states the inputs are the inferences of one
    sequence."""
    backend = plan.backend()
    if not plan.states:
        return _reference_together(plan, backend, inputs, progress)
    found: list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = []
    now = {state.input.tensor: to_graph(state.input, state.initial[None]) for state in plan.states}
    for number in range(len(next(iter(inputs.values())))):
        one = {name: array[number : number + 1] for name, array in inputs.items()}
        found.append(_reference_together(plan, backend, {**one, **now}, progress))
        values = found[-1][1]
        for state in plan.states:
            result = from_graph(state.output, values[state.output.tensor])
            now[state.input.tensor] = to_graph(state.input, result)
    numbers, values = (
        {name: np.concatenate([one[kind][name] for one in found]) for name in found[0][kind]}
        for kind in (0, 1)
    )
    return numbers, values


def _reference_together(plan, backend, inputs, progress):
    """Computes like :func:`reference_tensors`, for independent inputs."""
    values, numbers = dict(inputs), {}
    for step in plan.steps:
        if not isinstance(step, CoreStep):
            values.update(
                run_graph(
                    step.graph, {port.tensor: values[port.tensor] for port in step.graph.inputs}
                )
            )
            continue
        if progress is not None:
            progress("reference")
        given = {
            name: to_numbers(step.part, name, values[name])
            for name in (port.tensor for port in step.part.graph.inputs)
        }
        found = backend.reference(step.part, given, keep=True)
        # A tensor between two programs has a scale in each; what its maker gives counts.
        numbers.update(
            {
                node.output: found[node.output]
                for node in step.part.graph.nodes
                if node.output in found
            }
        )
        for port in step.part.graph.outputs:
            values[port.tensor] = to_values(step.part, port.tensor, found[port.tensor])
    return numbers, values


def states_read(plan: Plan, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Values of a plan's states that each inference of one sequence reads: tensor name -> real
    numbers; ``values``: of :func:`reference_tensors`."""
    found = {}
    for state in plan.states:
        made = to_graph(state.input, from_graph(state.output, values[state.output.tensor]))
        first = to_graph(state.input, state.initial[None])
        found[state.input.tensor] = np.concatenate([first, made[:-1]])
    return found
