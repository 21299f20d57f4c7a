# SPDX-License-Identifier: BSD-2-Clause
"""A compiled network: core and host steps in execution order, with the quantised network from which
they were generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..backends import backend_class
from ..backends.base import Backend, LayerSpan, Lowered
from ..quantised import Quantised

if TYPE_CHECKING:
    from ...targets.base import TargetInfo
    from ..graph import Graph, Port, State

__all__ = ["HostStep", "CoreStep", "Plan", "PlanError", "drop_unread"]


class PlanError(InputError):
    """Error: a plan is damaged, or a target cannot run it; the message says what was found and what
    was expected."""


@dataclass(eq=False)
class CoreStep:
    """A step on the core: ``part``, the quantised nodes that it computes; ``lowered``, its program;
    and ``buffered_copy``, a copy of the program with other addresses for inputs and outputs, or
    ``None``."""

    part: Quantised
    lowered: Lowered
    buffered_copy: Lowered | None = None

    @property
    def names(self) -> list[str]:
        """Names of the step's nodes."""
        return [node.name for node in self.part.graph.nodes]


@dataclass(eq=False)
class HostStep:
    """A step on the host, in floating point: ``graph`` is a subgraph whose inputs and outputs are
    tensors of the whole network."""

    graph: Graph

    @property
    def names(self) -> list[str]:
        """Names of the step's nodes."""
        return [node.name for node in self.graph.nodes]


@dataclass(eq=False, kw_only=True)
class Plan:
    """A network compiled for one build of one core.

    Attributes
    ----------
    network : name of the network
    isa, preset, board : names; ``preset`` and ``board`` may be ``None``
    params : dict, build parameters that it was made for
    memory_size : bytes of main memory of the target that it was made for
    inputs, outputs : list of Port, as the user sees them
    states : list of State, whose ports are none of ``inputs`` and ``outputs``
    steps : list of CoreStep and HostStep
    target : name of the target that it was made for
    choices : list of dict, choices of the quantiser
    notes : list of str, notes for the user (random calibration, nodes on the host)
    snr : signal to noise against floating point in dB, infinite if equal, minus infinity if
        results are not finite; ``None`` if not measured
    vocabulary : tuple of str, texts of the tokens of a language model; empty for other networks
    """

    network: str
    isa: str
    params: Mapping[str, Any]
    memory_size: int
    inputs: list[Port]
    outputs: list[Port]
    steps: list[CoreStep | HostStep]
    preset: str | None = None
    board: str | None = None
    target: str | None = None
    choices: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    snr: float | None = None
    states: list[State] = field(default_factory=list)
    vocabulary: tuple[str, ...] = ()

    def on_board(self, state: State) -> bool:
        """Whether a state stays in the target's memory between runs."""
        return any(state.input.tensor in step.lowered.states for step in self.core_steps)

    @property
    def core_steps(self) -> list[CoreStep]:
        """The steps that run on the core."""
        return [step for step in self.steps if isinstance(step, CoreStep)]

    @property
    def memory(self) -> int:
        """Bytes of main memory that the programs use."""
        return max((step.lowered.memory for step in self.core_steps), default=0)

    @property
    def memory_overlapped(self) -> int | None:
        """Bytes of main memory with the double-buffered copies; ``None`` if the plan has none."""
        copies = [
            step.buffered_copy.memory for step in self.core_steps if step.buffered_copy is not None
        ]
        if not copies or len(copies) < len(self.core_steps):
            return None
        return max(copies)

    @property
    def cycles(self) -> float:
        """Estimated cycles per input."""
        return sum(
            span.cycles / step.lowered.images
            for step in self.core_steps
            for span in step.lowered.layers
        )

    @property
    def layers(self) -> list[tuple[CoreStep, LayerSpan]]:
        """All layers in execution order: pairs (step, LayerSpan)."""
        return [(step, span) for step in self.core_steps for span in step.lowered.layers]

    def clock(self, clock_hz: float | None) -> float | None:
        """Frequency in Hz of the clock that counts the plan's cycles, on a target whose main clock
        is ``clock_hz``; ``None`` if it is unknown."""
        return None if clock_hz is None else clock_hz * self.backend().clock_ratio

    def backend(self) -> Backend:
        """The back end that compiled the plan, for the same build."""
        return backend_class(self.isa)(params=self.params, memory_size=self.memory_size)

    def check_target(self, info: TargetInfo, name: str) -> None:
        """Raises :class:`PlanError` if a target cannot run the plan."""
        if info.isa != self.isa:
            raise PlanError(
                f"{name} holds {'no core' if info.isa is None else f'core {info.isa}'}; the "
                f"plan of {self.network} is for {self.isa}"
            )
        needs: dict[str, Any] = {}
        for step in self.core_steps:
            needs.update(step.lowered.params)
        wrong = [
            f"{key} = {info.params.get(key)} (plan: {value})"
            for key, value in needs.items()
            if info.params.get(key) != value
        ]
        if wrong:
            raise PlanError(
                f"{name} has {', '.join(wrong)}: the plan of {self.network} was compiled for "
                f"another build; compile it for this one"
            )
        if info.memory_size < self.memory:
            raise PlanError(
                f"{name} has {info.memory_size:,} bytes of main memory; the plan of "
                f"{self.network} takes {self.memory:,}"
            )


def drop_unread(plan: Plan) -> None:
    """Removes outputs from programs that are read only for a state which the program itself keeps,
    since they need not be transferred."""
    for number, step in enumerate(plan.steps):
        if not isinstance(step, CoreStep):
            continue
        wanted = {port.tensor for port in plan.outputs}
        wanted |= {state.output.tensor for state in plan.states if not plan.on_board(state)}
        for later in plan.steps[number + 1 :]:
            graph = later.part.graph if isinstance(later, CoreStep) else later.graph
            wanted |= {port.tensor for port in graph.inputs}
        for name in [name for name in step.lowered.outputs if name not in wanted]:
            if step.lowered.states:
                del step.lowered.outputs[name]
