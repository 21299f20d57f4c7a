# SPDX-License-Identifier: BSD-2-Clause
"""A plan: steps on the machine and on the host, in order, with the network in the machine's numbers
that they were made of."""

from dataclasses import dataclass, field

from ...errors import InputError
from ..backends import backend_class
from ..backends.base import Lowered
from ..quantised import Quantised

__all__ = ["HostStep", "MachineStep", "Plan", "PlanError"]


class PlanError(InputError):
    """A plan that is damaged, or that a target cannot run; the message says what it has and what
    was expected."""


@dataclass(eq=False)
class MachineStep:
    """A program of the machine: ``part``, the nodes it does with their numbers, ``lowered``, the
    program, and ``twin``, the same with other places for inputs and outputs, or ``None``."""

    part: Quantised
    lowered: Lowered
    twin: Lowered | None = None

    @property
    def names(self):
        return [node.name for node in self.part.graph.nodes]


@dataclass(eq=False)
class HostStep:
    """Nodes that the host computes in floating point: ``graph``, whose inputs and outputs are
    tensors of the whole network."""

    graph: object

    @property
    def names(self):
        return [node.name for node in self.graph.nodes]


@dataclass(eq=False, kw_only=True)
class Plan:
    """What a network has become for one build of one machine.

    Attributes
    ----------
    network : name of the network
    isa, preset, board : names; ``preset`` and ``board`` may be ``None``
    params : dict, build parameters that it was made for
    memory_size : bytes of main memory of the target that it was made for
    inputs, outputs : list of Port, as the user sees them
    steps : list of MachineStep and HostStep
    target : name of the target that it was made for
    choices : list of dict, what the quantiser chose
    notes : list of str, what the user should know (random calibration, what runs on the host)
    snr : signal to noise against floating point in dB, infinite if equal, minus infinity if
        results are not finite; ``None`` if not measured
    """

    network: str
    isa: str
    params: dict
    memory_size: int
    inputs: list
    outputs: list
    steps: list
    preset: str | None = None
    board: str | None = None
    target: str | None = None
    choices: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    snr: float | None = None

    @property
    def machine_steps(self):
        return [step for step in self.steps if isinstance(step, MachineStep)]

    @property
    def memory(self):
        """Bytes of main memory that it takes."""
        return max((step.lowered.memory for step in self.machine_steps), default=0)

    @property
    def memory_overlapped(self):
        """Bytes of main memory that it takes together with the programs' twins; ``None`` where it
        has none."""
        if not self.machine_steps or any(step.twin is None for step in self.machine_steps):
            return None
        return max(step.twin.memory for step in self.machine_steps)

    @property
    def cycles(self):
        """Estimated cycles of one input."""
        return sum(
            span.cycles / step.lowered.images
            for step in self.machine_steps
            for span in step.lowered.layers
        )

    @property
    def layers(self):
        """Pairs (step, LayerSpan)."""
        return [(step, span) for step in self.machine_steps for span in step.lowered.layers]

    def clock(self, clock_hz):
        """Hz of the clock that its cycles count, on a target of this main clock; ``None`` where
        that is not known."""
        return None if clock_hz is None else clock_hz * self.backend().clock_ratio

    def backend(self):
        """The back end that it was made by, for the same build."""
        return backend_class(self.isa)(params=self.params, memory_size=self.memory_size)

    def check_target(self, info, name):
        """Refuse a target (its ``TargetInfo``) that cannot run the plan."""
        if info.isa != self.isa:
            raise PlanError(
                f"{name} holds {'no core' if info.isa is None else f'core {info.isa}'}; the "
                f"plan of {self.network} is for {self.isa}"
            )
        needs = {}
        for step in self.machine_steps:
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
