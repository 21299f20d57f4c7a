# SPDX-License-Identifier: BSD-2-Clause
"""Quantisation noise of each layer at a plan's outputs: which layers cost accuracy, and which
options would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fidelity import chosen_tensor, exact_states, signal_power, some_inputs
from ..passes import simplify
from ..plan import CoreStep
from ..planning import random_calibration
from ..quantise.calibration import run_alone
from ..streams.states import carried
from ..values import to_graph, to_numbers, to_values

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..plan.plan import Plan
    from ..planning import Options
    from ..quantised import Quantised

__all__ = ["LayerNoise", "NoiseReport", "measure_noise"]

#: Calibration inputs that suffice.
ENOUGH = 100
#: Share of the noise from which a layer is worth advice, and of its own error that counts as most.
_WORTH, _MOST = 0.1, 0.5
_RANDOM = "calibration inputs are random: --calibrate with real ones gives ranges that fit"


@dataclass(frozen=True)
class LayerNoise:
    """Noise at the outputs from the quantisation of a single layer.

    Attributes
    ----------
    layer : name of the layer as it runs on the core, or "input NAME" for a tensor that comes to
        the core from the user or the host
    kind : kind of its node, "input" for an input
    node : name of the network's node that it belongs to, ``None`` for an input
    share : of the noise of all layers together, 0 to 1
    snr : dB of the outputs if everything else computed in floating point
    rounding : share of the layer's own error that comes from rounding its result to the tensor's
        scale, 0 to 1; the rest comes from its weights and the core's arithmetic
    clipped : share of the result's elements that lie beyond the tensor's range
    bits : width of its result, ``None`` in floating point
    """

    layer: str
    kind: str
    node: str | None
    share: float
    snr: float
    rounding: float
    clipped: float
    bits: int | None


@dataclass(frozen=True)
class NoiseReport:
    """Noise of every layer, the noisiest first; ``inputs``: number of inputs measured; ``advice``:
    options that would lower the noise."""

    layers: list[LayerNoise]
    inputs: int
    advice: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Serialises the report for JSON; infinite ratios become ``None``."""
        found = asdict(self)
        for row in found["layers"]:
            row["snr"] = row["snr"] if np.isfinite(row["snr"]) else None
        return found


def measure_noise(
    plan: Plan, graph: Graph, calibration: Mapping[str, np.ndarray] | None, options: Options
) -> NoiseReport:
    """Measures the noise of every layer of a plan.

    Each layer is computed as the core does and in floating point, both on the same operands. Their
    difference goes through the layers behind it in floating point. So the result shows the cost of
    this layer alone.

    Parameters
    ----------
    plan : Plan
    graph : Graph, as imported
    calibration : dict, name of every input -> array in the user's layout; ``None``: random ones
    options : Options, of the compilation
    """
    given = random_calibration(graph) if calibration is None else calibration
    if options.states:
        given = carried(graph, options.states, given, options.steps)
    inputs = some_inputs(plan, graph, given)
    found = {port.tensor: to_graph(port, inputs[port.name]) for port in plan.inputs}
    walk = _Walk(plan, {**found, **exact_states(plan, inputs)})
    own = {node.output: node.name for node in simplify(graph).nodes}
    rows = [(walk.at_outputs(one), one) for one in walk.errors()]
    total = sum(noise for noise, _ in rows)
    layers = sorted(
        (
            LayerNoise(
                one.layer,
                one.kind,
                None if one.node is None else walk.network_node(one.tensor, own),
                noise / total if total else 0.0,
                _decibels(noise),
                one.rounding,
                one.clipped,
                one.bits,
            )
            for noise, one in rows
        ),
        key=lambda layer: -layer.share,
    )
    advice = [] if calibration is not None else [_RANDOM]
    count = len(next(iter(given.values())))
    if calibration is not None and count < ENOUGH:
        advice.append(f"{count} calibration inputs: some {ENOUGH} give ranges that hold for others")
    return NoiseReport(layers, len(next(iter(inputs.values()))), [*advice, *_advice(plan, layers)])


@dataclass(frozen=True)
class _Error:
    """A tensor's ``values`` with the quantisation error of a single layer. ``node``: ``None`` for
    an input; other fields as in :class:`LayerNoise`."""

    layer: str
    kind: str
    node: Node | None
    tensor: str
    values: np.ndarray
    rounding: float
    clipped: float
    bits: int | None


class _Walk:
    """All nodes of a plan in order, with the exact value of every tensor for some ``inputs``,
    tensor name -> float64 array."""

    def __init__(self, plan: Plan, inputs: Mapping[str, np.ndarray]) -> None:
        self.plan, self.backend = plan, plan.backend()
        self.nodes: list[tuple[Quantised | None, Graph, Node]] = []
        for step in plan.steps:
            if isinstance(step, CoreStep):
                graph = step.part.graph
                self.nodes += [(step.part, graph, node) for node in graph.nodes]
            else:
                self.nodes += [(None, step.graph, node) for node in step.graph.nodes]
        self.count = len(next(iter(inputs.values())))
        self.exact = dict(inputs)
        for _, graph, node in self.nodes:
            self.exact[node.output] = self._value(graph, node, {})
        judged = [chosen_tensor(plan, port.tensor) or port.tensor for port in plan.outputs]
        self.signals = {name: signal_power(self.exact[name]) for name in judged}

    def _value(self, graph, node, changed):
        """Result of a node in floating point, computed from the ``changed`` tensors where it reads
        them."""
        operands = []
        for name in node.inputs:
            data = graph.tensors[name].data
            operands.append(
                data[None] if data is not None else changed.get(name, self.exact.get(name))
            )
        with np.errstate(all="ignore"):
            value = node.run(*operands)
        return np.broadcast_to(value, (self.count, *value.shape[1:]))

    def errors(self) -> Iterator[_Error]:
        """Quantisation errors (:class:`_Error`) of each tensor that enters the core, and of each of
        its layers."""
        ports = {port.tensor: port.name for port in self.plan.inputs}
        seen = {node.output for part, _, node in self.nodes if part is not None}
        for part, graph, node in self.nodes:
            if part is None:
                continue
            flowing = [name for name in node.inputs if graph.tensors[name].data is None]
            numbers = {name: to_numbers(part, name, self.exact[name]) for name in flowing}
            rounded = {name: to_values(part, name, numbers[name]) for name in flowing}
            for name in flowing:
                if name not in seen:
                    seen.add(name)
                    layer = f"input {ports.get(name, name)}"
                    yield self._error(layer, None, part, name, self.exact[name], rounded[name])
            exact = self._value(graph, node, rounded)
            whole = run_alone(self.backend, part, node, numbers)
            found = to_values(part, node.output, whole)
            yield self._error(node.name, node, part, node.output, exact, found)

    def _error(self, layer, node, part, tensor, exact, found):
        """Quantisation error of one tensor; ``exact``: the tensor in floating point, from the
        operands of ``found``."""
        scale = part.scales.get(tensor)
        rounded = to_values(part, tensor, to_numbers(part, tensor, exact))
        own, rounding = np.square(found - exact).sum(), np.square(rounded - exact).sum()
        clipped = 0.0
        if scale is not None:
            low, high = (scale.low - 0.5) * scale.step, (scale.high + 0.5) * scale.step
            clipped = float(np.mean((exact > high) | (exact < low)))
        return _Error(
            layer,
            "input" if node is None else node.kind,
            node,
            tensor,
            self.exact[tensor] + (found - exact),
            float(min(1.0, rounding / own)) if own else 0.0,
            clipped,
            None if scale is None else scale.bits,
        )

    def at_outputs(self, error: _Error) -> float:
        """Noise at the outputs from one tensor's error, relative to their signal, added up."""
        changed = {error.tensor: error.values}
        for _, graph, node in self.nodes:
            if node.output != error.tensor and not changed.keys().isdisjoint(node.inputs):
                changed[node.output] = self._value(graph, node, changed)
        return float(
            sum(
                np.square(changed[name] - self.exact[name]).sum() / signal
                for name, signal in self.signals.items()
                if name in changed and signal
            )
        )

    def network_node(self, tensor: str, own: Mapping[str, str]) -> str | None:
        """Name of the network's node, by its output in ``own``, that computes ``tensor``, or else
        the next one after it; ``None`` if there is none."""
        while tensor not in own:
            reader = next((node for _, _, node in self.nodes if tensor in node.inputs), None)
            if reader is None:
                return None
            tensor = reader.output
        return own[tensor]


def _advice(plan, layers):
    """Advice for the noisiest layers, with the ratio that the outputs would have without their
    noise."""
    noisy = [layer for layer in layers if layer.share >= _WORTH]
    widths = getattr(plan.backend(), "bits", ())
    narrow = [
        layer for layer in noisy if layer.bits is not None and layer.bits < max(widths, default=0)
    ]
    found = []
    if narrow:
        found.append(
            f"--bits {max(widths)}: layers of {narrow[0].bits} bits make "
            f"{100 * sum(layer.share for layer in narrow):.0f} % of the noise or more"
        )
    elif sum(layer.share * layer.rounding for layer in layers if layer.bits) > _MOST:
        found.append(
            "rounding makes most of the noise: quintet compare shows cores with wider numbers"
        )
    for layer in noisy:
        if layer.clipped > 0 and layer.rounding > _MOST:
            found.append(
                f"--percentile 100: {100 * layer.clipped:.2g} % of the values of {layer.layer} lie "
                "beyond their range"
            )
        # Values computed by the host are also rounded for the core.
        gone = layer.share * (1 - layer.rounding)
        if layer.node is not None and gone >= _WORTH:
            more = f"some {-10 * np.log10(1 - gone):.1f} dB more" if gone < 1 else "no noise left"
            found.append(f"--on-host {layer.node}: {more}")
    return found


def _decibels(noise: float) -> float:
    """Signal-to-noise ratio in dB of a relative noise; infinite without noise."""
    return float(-10 * np.log10(noise)) if noise > 0 else float("inf")
