# SPDX-License-Identifier: BSD-2-Clause
"""Layer-by-layer verification of a plan on two targets, or on one against numpy: finds the first
element that differs and the instruction that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .fidelity import reference_tensors
from .plan import CoreStep, drop_unread
from .session import Session
from .values import to_numbers

if TYPE_CHECKING:
    from ..targets.base import Target
    from .plan import Plan
    from .results.kept import KeptResults

__all__ = [
    "CHUNK",
    "LayerDifference",
    "PlanComparison",
    "group_size",
    "instruction_at",
    "keeping",
    "random_inputs",
    "verify_plan",
]

#: Inputs whose tensors are held and compared at a time, at least; a multiple of those of a run.
CHUNK = 32


@dataclass
class LayerDifference:
    """The first difference between two executions of a plan.

    ``layer``: the node that makes ``tensor``; ``element``: (input, then the tensor's axes); ``a``,
    ``b``: the numbers; ``count`` elements of this tensor differ; ``address`` in main memory, and
    ``pc`` of the instruction that wrote it, where a model was one of the two.
    """

    layer: str
    tensor: str
    element: tuple[int, ...]
    a: object
    b: object
    count: int
    address: int | None = None
    pc: int | None = None
    text: str | None = None

    def __str__(self):
        found = (
            f"layer {self.layer}: {self.tensor}[{', '.join(map(str, self.element))}] differs: "
            f"{self.a} and {self.b} ({self.count} elements of this "
            "tensor differ)"
        )
        if self.address is not None:
            found += f", at {self.address:#x}"
        if self.pc is not None:
            found += f"; written by the instruction at pc {self.pc:#x}" + (
                f": {self.text}" if self.text else ""
            )
        return found


@dataclass
class PlanComparison:
    """Result of :func:`verify_plan`: names of the compared ``tensors``, number of ``elements``, and
    the first ``difference`` (``None``: equal)."""

    a: str
    b: str
    inputs: int
    tensors: list[str]
    elements: int
    difference: LayerDifference | None

    @property
    def equal(self) -> bool:
        """Whether all elements are equal."""
        return self.difference is None

    def as_dict(self) -> dict[str, object]:
        """Serialises the comparison for JSON."""
        return {**asdict(self), "equal": self.equal}


def keeping(plan: Plan) -> Plan:
    """Returns the same plan with programs that keep every intermediate tensor in memory."""
    backend = plan.backend()
    backend.states = tuple(
        (state.input.tensor, state.output.tensor) for state in plan.states if plan.on_board(state)
    )
    steps = [
        CoreStep(step.part, backend.lower(step.part, keep=True))
        if isinstance(step, CoreStep)
        else step
        for step in plan.steps
    ]
    whole = replace(plan, steps=steps)
    drop_unread(whole)
    return whole


def random_inputs(plan: Plan, count: int = 2, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs of a plan, tensor name -> float64 [count, ...], uniform over the range of each
    input."""
    rng, found = np.random.default_rng(seed), {}
    for port in plan.inputs:
        shape = tuple(port.shape[axis] for axis in port.order)
        scales = [
            step.part.scales[port.tensor]
            for step in plan.core_steps
            if port.tensor in step.part.scales
        ]
        found[port.tensor] = (
            scales[0].value(rng.integers(scales[0].low, scales[0].high + 1, (count, *shape)))
            if scales
            else rng.normal(0, 1, (count, *shape))
        )
    return found


def _session_tensors(plan, open_target, inputs, progress, start, count):
    with Session(plan, open_target(), progress) as session:
        session.behind, session.expected = start, count
        found = {}
        session.run_steps(inputs, keep=found)
        return found


def group_size(plan: Plan) -> int:
    """Number of inputs to compare at a time: a multiple of the batch size of the plan's
    programs."""
    images = max((step.lowered.images for step in plan.core_steps), default=1)
    return -(-CHUNK // images) * images


def _groups(plan, count):
    """Indices of the inputs that are compared at a time; with states all of them, since each reads
    the results of those before."""
    size = count if plan.states else group_size(plan)
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def verify_plan(
    plan: Plan,
    inputs: dict[str, np.ndarray],
    name_a: str,
    open_a: Callable[[], Target],
    name_b: str,
    open_b: Callable[[], Target] | None,
    progress: Callable[..., None] | None = None,
    kept: KeptResults | None = None,
) -> PlanComparison:
    """Compares every tensor of every layer between two targets, or between a target and numpy.
    Inputs are compared in groups; the first difference ends the comparison.

    Parameters
    ----------
    inputs : dict, tensor name -> float64 with the first axis of inputs
        (:func:`~.values.check_inputs`)
    name_a, name_b : names for messages
    open_a, open_b : callables that open a target;
        ``open_b`` may be ``None`` for the reference in numpy
    kept : gets the results of each group of inputs that is equal, by the number of its first
        input; groups that it holds already are not run again
    """
    whole = keeping(plan)
    count = len(next(iter(inputs.values())))
    tensors, elements = [], 0
    for start, end in _groups(plan, count):
        if kept is not None and str(start) in kept.results:
            done = kept.results[str(start)]
            tensors, elements = done["tensors"], elements + done["elements"]
            continue
        some = {name: array[start:end] for name, array in inputs.items()}
        run = partial(_session_tensors, inputs=some, progress=progress, start=start, count=count)
        a = run(whole, open_a)
        # The program that the plan itself holds gives its outputs by another way through memory.
        short = run(plan, open_a)
        if open_b is None:
            b = reference_tensors(plan, some, progress)[0]
        else:
            b = run(whole, open_b)
        names = [node.output for step in whole.core_steps for node in step.part.graph.nodes]
        tensors = [name for name in dict.fromkeys(names) if name in a and name in b]
        pairs = [(name, a[name], b[name]) for name in tensors]
        pairs += [(name, short[name], b[name]) for name in short if name in b]
        differences = (_difference(whole, *pair) for pair in pairs)
        difference = next((found for found in differences if found is not None), None)
        equal_elements = sum(a[name].size for name in tensors)
        elements += equal_elements
        if difference is not None:
            _name_writer(whole, difference, some, {name_a: open_a, name_b: open_b})
            if difference.element:
                difference.element = (start + difference.element[0], *difference.element[1:])
            return PlanComparison(name_a, name_b, count, tensors, elements, difference)
        if kept is not None:
            kept.add(str(start), {"tensors": tensors, "elements": equal_elements})
    return PlanComparison(name_a, name_b, count, tensors, elements, None)


def _difference(plan, tensor, a, b):
    a, b = np.asarray(a), np.asarray(b)
    same = (a == b) | ((a != a) & (b != b)) if a.shape == b.shape else None
    if same is not None and same.all():
        return None
    maker = next(
        (
            node.name
            for step in plan.core_steps
            for node in step.part.graph.nodes
            if node.output == tensor
        ),
        tensor,
    )
    if same is None:
        return LayerDifference(
            maker, tensor, (), f"shape {list(a.shape)}", f"shape {list(b.shape)}", 0
        )
    place = tuple(int(n) for n in np.argwhere(~same)[0])
    return LayerDifference(
        maker, tensor, place, a[place].item(), b[place].item(), int((~same).sum())
    )


def _name_writer(plan, difference, inputs, openers):
    """Finds the address of the differing element and, from a model's trace, the instruction that
    wrote it last."""
    step = next(
        (
            step
            for step in plan.core_steps
            if difference.tensor in {p.tensor for p in step.lowered.tensors.values()}
        ),
        None,
    )
    if step is None or not difference.element:
        return
    lowered = step.lowered
    layout = next(
        placed.layout for placed in lowered.tensors.values() if placed.tensor == difference.tensor
    )
    image, *place = difference.element
    element = (image % lowered.images, *place)
    difference.address = layout.address + int(layout.offsets()[element])
    first_alone = step is plan.core_steps[0] and not plan.states
    if not first_alone or any(placed.tensor not in inputs for placed in lowered.inputs.values()):
        return
    from ..targets import open_target

    writer, first = [], image // lowered.images * lowered.images
    with Session(plan, open_target(f"model:{plan.isa}")) as session:
        model = session.target

        def note(pc, address, size):
            if address <= difference.address < address + size:
                writer[:] = [pc]

        session.put(
            lowered,
            {
                name: to_numbers(
                    step.part, placed.tensor, inputs[placed.tensor][first : first + lowered.images]
                )
                for name, placed in lowered.inputs.items()
            },
        )
        model.run(lowered.registers, None, note)
    if writer:
        difference.pc = writer[0]
        difference.text = _instruction(plan, lowered, writer[0])


def instruction_at(plan: Plan, pc: int) -> str | None:
    """Disassembles the instruction at byte address ``pc`` of a plan's programs; ``None`` if no
    single instruction word is there."""
    programs = (
        program
        for step in plan.core_steps
        for program in (step.lowered, step.buffered_copy)
        if program is not None
    )
    return next(
        (text for program in programs if (text := _instruction(plan, program, pc)) is not None),
        None,
    )


def _instruction(plan, lowered, pc):
    """Assembly text of the instruction at ``pc``, for a program whose instructions all have one
    size."""
    from ...gateware.cores import open_core
    from ...gateware.isa.asm.disassembler import instruction_text

    software = open_core(plan.isa).software.SOFTWARE
    storage = software.isa.storage[0]
    at = pc - lowered.program_at
    if (
        software.listing is not None
        or len(software.isa.storage) != 1
        or not 0 <= at <= len(lowered.program) - storage.size
    ):
        return None
    stored = lowered.program[at : at + storage.size]
    return instruction_text(
        software.isa, storage.load(stored, 0)[0], stored, storage, plan.params
    ).strip()
