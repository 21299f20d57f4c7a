# SPDX-License-Identifier: BSD-2-Clause
"""Execution of a plan on a target: constants are written and checked once, then every input is
written, run and read. States, the values that the next inference reads, are kept as far as the
host holds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, QuintetError, suggestion
from ..evaluate import run_graph
from ..plan import CoreStep, PlanError
from ..values import check_inputs, from_graph, to_graph, to_numbers, to_values
from .listed import ListPlaces, in_lists
from .report import SessionReport
from .runs import Runs, Transfer, in_turns, one_by_one

if TYPE_CHECKING:
    from ...targets.base import Target
    from ..backends.base import Lowered
    from ..graph import State
    from ..plan.plan import CoreStep, Plan

__all__ = ["Session", "StateInvalid", "States", "initial_bytes"]


def initial_bytes(step: CoreStep, state: State) -> bytes:
    """Initial memory contents of a state that a program keeps in main memory."""
    placed = step.lowered.states[state.input.tensor]
    values = to_graph(state.input, state.initial[None])
    memory = np.zeros(placed.layout.end - placed.layout.first, np.uint8)
    numbers = to_numbers(step.part, state.input.tensor, values)
    placed.layout.write(memory, numbers, placed.layout.first)
    return memory.tobytes()


class StateInvalid(QuintetError):
    """Error: a run failed, so that the states are unknown; ``reset``, or an assignment of all
    states, makes them valid."""


class States:
    """States of a plan's session, with their validity.

    Attributes
    ----------
    values : dict, tensor of the input -> float64 [1, ...]; of a state that stays in the target's
        memory only what was written there last
    valid : bool, false behind a run that failed
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self.values: dict[str, np.ndarray] = {}
        self.valid = True

    def check(self) -> None:
        """Raises :class:`StateInvalid` if a run failed since the states were set."""
        if not self.valid:
            names = ", ".join(state.input.name for state in self._plan.states)
            raise StateInvalid(
                f"{self._plan.network}: the states {names} are invalid, since a run failed: "
                f"expected session.reset(), or a saved session.state of all of them"
            )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Context manager around inferences: if one fails, the states are invalid."""
        self.check()
        self.valid = False
        yield
        self.valid = True

    def checked(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Checks arrays against the names and shapes of the states' inputs. Raises InputError."""
        ports = {state.input.name: state.input for state in self._plan.states}
        found = {}
        for name, value in values.items():
            if name not in ports:
                raise InputError(f"no state {name!r}{suggestion(name, ports)}")
            array = np.asarray(value)
            if array.shape != tuple(ports[name].shape):
                raise InputError(
                    f"state {name}: has the shape {list(array.shape)}, expected "
                    f"{list(ports[name].shape)}"
                )
            if array.dtype.kind not in "iufb" or not np.isfinite(array).all():
                raise InputError(f"state {name}: expected finite numbers")
            found[name] = array
        return found


class Session:
    """A plan on an open target. A context manager; leaving it closes the target.

    While the core works on an input, the next one is written and the output before is read, where
    the plan has double-buffered copies of its programs and the target the memory for them. A target
    that walks lists of runs takes up to :data:`~.listed.MOST` inputs in a row (:mod:`.listed`).

    Parameters
    ----------
    plan : Plan
    target : Target
    progress : callable(what, done, total), optional
    overlap : bool; without it every run has main memory for itself,
        and so the cycles that the plan's estimate is compared with

    resident : bool; the target has the plan's constants from its flash memory: they are checked and
        not written

    Calling it with an array for each input of the network, positional or by name, gives the
    outputs: an array for one, else a dict by name.

    Raises
    ------
    PlanError
        The target cannot run the plan, or an array is not what an input takes.
    LinkError
        The link failed, beside which input the message says, or memory does not hold what was
        written.
    RunFailed
        The core met a fault.
    """

    def __init__(
        self,
        plan: Plan,
        target: Target,
        progress: Callable[..., None] | None = None,
        *,
        overlap: bool = True,
        resident: bool = False,
    ):
        self.plan, self.target, self._progress = plan, target, progress
        if target.info.kind == "model":
            target.configure(like=_info(plan, target))
        plan.check_target(target.info, target.name)
        self._memory, self.runs = (
            Transfer(target, SessionReport(), progress, resident=resident),
            Runs(plan.network, target),
        )
        #: Inputs of a call after which the states begin anew, ``None``: never.
        self.reset_every: int | None = None
        #: For progress: inputs in all (``None``: those of a call), and inputs before this call.
        self.expected, self.behind = None, 0
        self.states = States(plan)
        self._overlap = (
            overlap
            and plan.memory_overlapped is not None
            and plan.memory_overlapped <= target.info.memory_size
        )
        self._lists = overlap and target.info.run_list
        if resident:
            target.wait_ready()
        target.reset_core()
        # Programs that lie side by side stay; others take turns in the same memory.
        self._resident: list[CoreStep] = []
        if side_by_side([step.lowered for step in plan.core_steps]):
            for step in plan.core_steps:
                self._load(step)
        self.reset()

    # States

    def reset(self) -> None:
        """Resets every state to its initial value; the next inference is the first of a
        sequence."""
        self.states.valid = True
        for state in self.plan.states:
            self._set_state(state, state.initial)

    @property
    def state(self) -> dict[str, np.ndarray]:
        """Present states, name of the input -> array of its shape, which the next inference reads.
        Assigning such a dict continues from there; omitted states are unchanged. Raises
        :class:`StateInvalid` after a run that failed."""
        self.states.check()
        return {state.input.name: self._get_state(state) for state in self.plan.states}

    @state.setter
    def state(self, values: Mapping[str, np.ndarray]) -> None:
        arrays = self.states.checked(values)
        if len(arrays) == len(self.plan.states):
            self.states.valid = True
        self.states.check()
        for state in self.plan.states:
            if state.input.name in arrays:
                self._set_state(state, arrays[state.input.name])

    def _set_state(self, state, array):
        tensor = state.input.tensor
        values = to_graph(state.input, np.asarray(array)[None])
        self.states.values[tensor] = values
        report, self.report = self.report, SessionReport()  # no bytes of an input
        for step in self.plan.core_steps:
            placed = step.lowered.states.get(tensor)
            if placed is not None:
                numbers = to_numbers(step.part, tensor, values)
                self._memory.put(step.lowered, placed.layout, numbers)
        self.report = report

    def _get_state(self, state):
        tensor, values = state.input.tensor, self.states.values[state.input.tensor]
        report, self.report = self.report, SessionReport()
        for step in self.plan.core_steps:
            placed = step.lowered.states.get(tensor)
            if placed is not None:
                values = to_values(step.part, tensor, self._memory.get(placed.layout))
        self.report = report
        return from_graph(state.input, values)[0]

    @property
    def report(self) -> SessionReport:
        """The :class:`SessionReport` of all runs so far; it can be replaced temporarily."""
        return self._memory.report

    @report.setter
    def report(self, report: SessionReport) -> None:
        self._memory.report = report

    def _load(self, step):
        began = time.monotonic()
        for program in self._programs(step):
            self._hold(program, step.lowered)
        self._resident.append(step)
        self.report.load_seconds += time.monotonic() - began

    def _hold(self, lowered, first):
        """Writes a program with its constants to the target; a double-buffered copy shares the
        constants of ``first``."""
        for address, size in lowered.zeros:
            self.target.fill(address, size)
        for placed in lowered.read.values():
            self._memory.clear(placed.layout)
        if lowered is first or lowered.program_at != first.program_at:
            self._memory.hold(
                lowered.program_at, np.frombuffer(lowered.program, np.uint8), "program"
            )
        for address, data, what in lowered.constants:
            self._memory.hold(address, data, what)
        for data, address in lowered.setup:
            self._memory.hold(address, np.frombuffer(data, np.uint8), "setup program")
            self.runs.setup(lowered, data, address)

    def _programs(self, step):
        """The programs of a step that alternate."""
        return [step.lowered, step.buffered_copy] if self._overlap else [step.lowered]

    # Runs

    def __call__(self, *arrays, **named):
        found = self.outputs(*arrays, **named)
        return found if len(found) > 1 else next(iter(found.values()))

    def outputs(self, *arrays: Any, **named: Any) -> dict[str, np.ndarray]:
        """Computes the outputs of the network, name -> array, whose first axis counts inputs."""
        inputs = self.check(*arrays, **named)
        count = len(next(iter(inputs.values())))
        values = _concatenated(
            [
                self._sequence({name: array[part] for name, array in inputs.items()}, part.start)
                for part in self._sequences(count)
            ]
        )
        self.report.inputs += count
        return {port.name: from_graph(port, values[port.tensor]) for port in self.plan.outputs}

    def _sequences(self, count):
        """Ranges of ``count`` inputs between which the states are reset."""
        length = count
        if self.plan.states and self.reset_every is not None:
            length = self.reset_every
        return [slice(at, min(at + length, count)) for at in range(0, count, length)]

    def _sequence(self, inputs, first):
        """Tensors between steps for the inputs of one sequence; the sequence from input 0 on
        continues with the present states."""
        if first:
            self.reset()
        return self.run_steps(inputs)

    def check(self, *arrays: Any, **named: Any) -> dict[str, np.ndarray]:
        """Checks the arguments of a call and converts them: tensor name -> float64, whose first
        axis counts inputs.

        Arrays in the order of the network's inputs, by name, or one dict of name -> array.
        Raises :class:`PlanError`.
        """
        ports = self.plan.inputs
        if any(isinstance(array, dict) for array in arrays):
            if len(arrays) > 1 or named:
                raise PlanError(
                    f"{self.plan.network}: a dict of inputs was given beside others: expected "
                    f"all of them in the dict"
                )
            named = arrays[0]
            arrays = ()
        if len(arrays) > len(ports):
            raise PlanError(
                f"{self.plan.network} has {len(ports)} inputs, {len(arrays)} arrays were given"
            )
        given = {**dict(zip((port.name for port in ports), arrays, strict=False)), **named}
        for state in self.plan.states:
            if state.input.name in given:
                raise PlanError(
                    f"{self.plan.network}: {state.input.name} is a state, which the inference "
                    f"before leaves: expected the other inputs alone, and session.state to set it"
                )
        return check_inputs(self.plan.network, ports, given)

    def run(
        self, output_names: Sequence[str] | None, inputs: Mapping[str, np.ndarray]
    ) -> list[np.ndarray]:
        """Computes outputs from a dict of inputs, with the signature of onnxruntime's sessions:
        those of ``output_names`` (``None``: all), in that order."""
        found = self.outputs(dict(inputs))
        names = list(found) if output_names is None else list(output_names)
        for name in names:
            if name not in found:
                raise PlanError(
                    f"{self.plan.network} has no output {name!r}{suggestion(name, found)}"
                )
        return [found[name] for name in names]

    def run_steps(
        self, inputs: Mapping[str, np.ndarray], keep: dict[str, np.ndarray] | None = None
    ) -> dict[str, np.ndarray]:
        """Runs all steps; returns real numbers of every tensor between steps.

        Parameters
        ----------
        inputs : dict, tensor name -> float64 with the first axis of inputs
        keep : dict, filled with tensor name -> numbers as they lay in memory,
            of all tensors that each step's program keeps
        """
        if not self.plan.states:
            return self._run_together(inputs, keep)
        with self.states.running():
            hosted = [state for state in self.plan.states if not self.plan.on_board(state)]
            if not hosted:
                return self._run_together(inputs, keep)
            return self._run_in_order(inputs, hosted, keep)

    def _run_in_order(self, inputs, hosted, keep):
        """Runs inputs one by one; ``hosted`` states are passed from the outputs of one to the
        inputs of the next."""
        found: list[dict[str, np.ndarray]] = []
        kept: list[dict[str, np.ndarray]] = []
        count = len(next(iter(inputs.values())))
        for number in range(count):
            one = {name: array[number : number + 1] for name, array in inputs.items()}
            one |= {state.input.tensor: self.states.values[state.input.tensor] for state in hosted}
            own: dict[str, np.ndarray] = {}
            values = self._run_together(one, None if keep is None else own)
            for state in hosted:
                self.states.values[state.input.tensor] = to_graph(
                    state.input, from_graph(state.output, values[state.output.tensor])
                )
            found.append(values)
            kept.append(own)
        if keep is not None:
            keep.update(_concatenated(kept))
        return _concatenated(found)

    def _run_together(self, inputs, keep):
        """Runs all steps on all inputs, one step after another."""
        values = dict(inputs)
        for step in self.plan.steps:
            if isinstance(step, CoreStep):
                self.run_on_core(step, values, keep)
            else:
                began = time.monotonic()
                values.update(
                    run_graph(
                        step.graph, {port.tensor: values[port.tensor] for port in step.graph.inputs}
                    )
                )
                self.report.host_seconds += time.monotonic() - began
        return values

    def run_on_core(
        self,
        step: CoreStep,
        values: dict[str, np.ndarray],
        keep: dict[str, np.ndarray] | None = None,
    ) -> None:
        """Runs a step on the core and adds its outputs to ``values``; other arguments as in
        :meth:`run_steps`."""
        if step not in self._resident:
            self._resident.clear()
            self._load(step)
        lowered = step.lowered
        given = {
            name: to_numbers(step.part, placed.tensor, values[placed.tensor])
            for name, placed in lowered.inputs.items()
        }
        count, images = len(next(iter(given.values()))), lowered.images
        self._count = count
        batches = [
            {name: array[at : at + images] for name, array in given.items()}
            for at in range(0, count, images)
        ]
        self.runs.counters()  # remains of a call that failed
        began, (sent, received) = self.target.now(), self.target.traffic()
        # Tensors to keep are read when the run is over, before any other.
        programs = self._programs(step) if len(batches) > 1 and keep is None else [lowered]
        places = self._list_places(programs, len(batches), keep)
        if places is not None:
            parts = in_lists(self, step, places, batches)
        elif len(programs) > 1:
            parts = in_turns(self, step, programs, batches)
        else:
            parts = one_by_one(self, step, batches, keep)
        after, report = self.target.traffic(), self.report
        report.sent_bytes, report.received_bytes = (
            report.sent_bytes + after[0] - sent,
            report.received_bytes + after[1] - received,
        )
        report.moving_seconds += self.target.now() - began
        for name, value in self.runs.counters().items():
            report.counters[name] = report.counters.get(name, 0) + value
        made = {node.output for node in step.part.graph.nodes}
        for name, placed in self._read(lowered, keep).items():
            numbers = np.concatenate([part[name] for part in parts])[:count]
            if name in lowered.outputs:
                values[placed.tensor] = to_values(step.part, placed.tensor, numbers)
            if keep is not None and placed.tensor in made:
                keep[placed.tensor] = numbers

    def _list_places(self, programs, runs, keep):
        """Memory for run lists, if the target executes them and has space for two runs."""
        if not self._lists or runs < 2 or keep is not None:
            return None
        taken = [step.lowered.memory for step in self.plan.core_steps]
        taken += [program.memory for program in programs]
        if self._overlap:
            taken.append(self.plan.memory_overlapped)
        places = ListPlaces(self._memory, programs, max(taken), self.target.info.memory_size, runs)
        return places if places.chunks else None

    def tell(self, number: int, lowered: Lowered) -> None:
        """Reports progress before run ``number`` of a program."""
        if self._progress is not None:
            done = self.behind + number * lowered.images
            self._progress("inputs", done, self.expected or self._count)

    def put(
        self,
        lowered: Lowered,
        batch: Mapping[str, np.ndarray],
        number: int = 0,
        waiting: Mapping[str, int] | None = None,
    ) -> None:
        """Writes the inputs of run ``number`` of a program, tensor name -> numbers; a short batch
        is padded with zeros. ``waiting``: queue addresses to which they are written, packed."""
        with self.runs.about(lowered, number, "written"):
            for name, placed in lowered.inputs.items():
                at = None if waiting is None else waiting[name]
                self._memory.put(lowered, placed.layout, _padded(batch[name], lowered.images), at)

    def get(
        self,
        lowered: Lowered,
        number: int,
        keep: dict[str, np.ndarray] | None = None,
        waiting: Mapping[str, int] | None = None,
    ) -> dict[str, np.ndarray]:
        """Reads the outputs of run ``number`` of a program, by name. ``waiting``: queue addresses
        from which they are read, packed."""
        with self.runs.about(lowered, number, "read"):
            return {
                name: self._memory.get(placed.layout, None if waiting is None else waiting[name])
                for name, placed in self._read(lowered, keep).items()
            }

    @staticmethod
    def _read(lowered, keep):
        """Tensors of a program that the host reads after a run."""
        return {**lowered.outputs, **(lowered.tensors if keep is not None else {})}

    def close(self) -> None:
        """Closes the target."""
        self.target.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _concatenated(parts):
    """Concatenates the arrays of several runs."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def side_by_side(programs: Sequence[Lowered]) -> bool:
    """Whether no two programs overlap in memory, tensors included: a program that stays in memory
    must not lie where another writes its results."""
    spans = sorted((_lowest(program), program.memory) for program in programs)
    return all(before[1] <= after[0] for before, after in zip(spans, spans[1:], strict=False))


def _lowest(program: Lowered) -> int:
    """Lowest byte address that a program uses."""
    places = (*program.read.values(), *program.outputs.values(), *program.tensors.values())
    return min(
        [
            program.program_at,
            *(at for at, *_ in program.constants),
            *(at for _, at in program.setup),
            *(at for at, _ in program.zeros),
            *(placed.layout.address for placed in places),
        ]
    )


def _info(plan, target):
    from ...targets import TargetInfo

    size = max(target.info.memory_size, plan.memory) if target.info.memory_size else plan.memory
    return TargetInfo(
        kind="model",
        isa=plan.isa,
        params=plan.params,
        memory_size=max(size, plan.memory_size),
        preset=plan.preset,
    )


def _padded(array, images):
    """The inputs of a run, padded with zeros to the batch size."""
    return (
        np.concatenate([array, np.zeros((images - len(array), *array.shape[1:]), array.dtype)])
        if len(array) < images
        else array
    )
