# SPDX-License-Identifier: BSD-2-Clause
"""Runs a plan on a target: constants written and checked once, then input, start, output for every input."""
import time
import zlib
from dataclasses import dataclass, field

import numpy as np

from ..errors import Exit, InputError, QuintetError
from .evaluate import run_graph
from .plan import MachineStep, PlanError
from .ports import from_graph, to_graph

__all__ = ["RunFailed", "Session", "SessionReport"]

#: Bytes that a request takes on the line beside its data.
_FRAME = 24


class RunFailed(QuintetError):
    """A program of a plan that did not end well; ``outcome`` says how."""
    code = Exit.FAULT

    def __init__(self, message, outcome):
        super().__init__(message)
        self.outcome = outcome


@dataclass
class SessionReport:
    """What a session has done.

    Attributes
    ----------
    inputs : inputs that have gone through
    cycles : of all runs; a golden model has none where its document gives no formula
    counters : name -> sum over all runs
    constant_bytes : bytes written and checked once
    input_bytes, output_bytes : bytes written and read for all inputs
    load_seconds, input_seconds, run_seconds, output_seconds, host_seconds : wall time
    """
    inputs: int = 0
    counters: dict = field(default_factory=dict)
    constant_bytes: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    load_seconds: float = 0.0
    input_seconds: float = 0.0
    run_seconds: float = 0.0
    output_seconds: float = 0.0
    host_seconds: float = 0.0

    @property
    def cycles(self):
        return self.counters.get("cycles")

    def as_dict(self):
        return {"inputs": self.inputs, "cycles": self.cycles, "counters": self.counters, "constant_bytes": self.constant_bytes,
                "input_bytes": self.input_bytes, "output_bytes": self.output_bytes,
                "seconds": {what: round(getattr(self, f"{what}_seconds"), 4) for what in ("load", "input", "run", "output", "host")}}


class Session:
    """A plan on an open target. A context manager; leaving it closes the target.

    Parameters
    ----------
    plan : Plan
    target : Target
    progress : callable(what, done, total), optional

    Calling it with an array for each input of the network, positional or by name, gives the outputs: an array for one, else a dict by name.

    Raises
    ------
    PlanError
        The target cannot run the plan, or an array is not what an input takes.
    LinkError
        The link failed, or memory does not hold what was written.
    RunFailed
        The core met a fault.
    """
    def __init__(self, plan, target, progress=None):
        self.plan, self.target, self._progress = plan, target, progress
        if target.info.kind == "model":
            target.configure(like=_info(plan, target))
        plan.check_target(target.info, target.name)
        #: :class:`SessionReport` of all that has run.
        self.report = SessionReport()
        target.reset_core()
        # Programs that lie side by side stay; others take turns in the same memory.
        self._resident, self._last = [], None
        self._known, self._cleared = {}, []
        if _side_by_side([step.lowered for step in plan.machine_steps]):
            for step in plan.machine_steps:
                self._load(step)

    # Memory

    def _load(self, step):
        began = time.monotonic()
        for address, size in step.lowered.zeros:
            self.target.fill(address, size)
        self._write(step.lowered.program_at, np.frombuffer(step.lowered.program, np.uint8), "program")
        for address, data, what in step.lowered.constants:
            self._write(address, data, what)
        for data, address in step.lowered.setup:
            self._write(address, np.frombuffer(data, np.uint8), "setup program")
            self._run(step.lowered, {**step.lowered.registers, "program_address": address, "program_length": len(data)})
        self._resident.append(step)
        self.report.load_seconds += time.monotonic() - began

    def _write(self, address, data, what):
        if not len(data):
            return
        data = data.tobytes()
        report = None if self._progress is None else lambda done, total: self._progress(f"write {what}", done, total)
        self.target.write(address, data, report)
        self.report.constant_bytes += len(data)
        if self.target.info.kind == "model":
            return
        found = self.target.checksum(address, len(data))
        if found != zlib.crc32(data):
            from ..link.errors import LinkError
            raise LinkError(f"{self.target.name}: {what} at {address:#x} does not read back as written (checksum {found:08x}, expected "
                            f"{zlib.crc32(data):08x})")

    def _put(self, lowered, layout, values):
        """Write a tensor. What lies between its elements is its own, and zero, or the program's."""
        first, end = layout.first, layout.end
        strips = [] if layout.in_program else self._strips(layout)
        if strips:
            if layout not in self._cleared:
                self.target.fill(first, end - first)
                self._cleared.append(layout)
            data, at = np.ascontiguousarray(values, np.dtype(layout.dtype).newbyteorder("<")).view(np.uint8).ravel(), 0
            for offset, run, stride, count in strips:
                self.target.write_runs(layout.address + offset, data[at:at + run * count].reshape(count, run), stride)
                at += run * count
            self.report.input_bytes += data.size
            return
        memory = np.zeros(end - first, np.uint8)
        if layout.in_program:
            memory[:] = np.frombuffer(lowered.program, np.uint8)[first - lowered.program_at:end - lowered.program_at]
        layout.write(memory, values, first)
        self.target.write(first, memory.tobytes())
        self.report.input_bytes += memory.size

    def _strips(self, layout):
        """Strips of a layout, where they take fewer bytes on the line than its whole span."""
        if layout not in self._known:
            strips = layout.strips()
            self._known[layout] = strips if sum(_FRAME + run * count for _, run, _, count in strips) < layout.end - layout.first else []
        return self._known[layout]

    def _get(self, layout):
        strips = self._strips(layout)
        if strips:
            parts = [self.target.read_runs(layout.address + offset, run, stride, count).ravel() for offset, run, stride, count in strips]
            data = np.concatenate(parts)
            self.report.output_bytes += data.size
            return data.view(np.dtype(layout.dtype).newbyteorder("<")).reshape(layout.shape).astype(layout.dtype)
        data = self.target.read(layout.first, layout.end - layout.first)
        self.report.output_bytes += len(data)
        return layout.read(np.frombuffer(data, np.uint8), layout.first)

    # Runs

    def __call__(self, *arrays, **named):
        found = self.outputs(*arrays, **named)
        return found if len(found) > 1 else next(iter(found.values()))

    def outputs(self, *arrays, **named):
        """Outputs of the network, name -> array, the first axis the inputs."""
        inputs = self.check(*arrays, **named)
        values = self.run(inputs)
        self.report.inputs += len(next(iter(inputs.values())))
        return {port.name: from_graph(port, values[port.tensor]) for port in self.plan.outputs}

    def check(self, *arrays, **named):
        """Inputs as the graph has them, tensor name -> float64 with the first axis of inputs. Raises :class:`PlanError`."""
        ports = self.plan.inputs
        if len(arrays) > len(ports):
            raise PlanError(f"{self.plan.network} has {len(ports)} inputs, {len(arrays)} arrays were given")
        given = {**dict(zip((port.name for port in ports), arrays, strict=False)), **named}
        return check_inputs(self.plan.network, ports, given)

    def run(self, inputs, keep=None):
        """Values of every tensor at the borders of the plan's steps, in real numbers.

        Parameters
        ----------
        inputs : dict, tensor name -> float64 with the first axis of inputs
        keep : dict, filled with tensor name -> numbers as they lay in memory, of all tensors that each step's program keeps
        """
        values = dict(inputs)
        for step in self.plan.steps:
            if isinstance(step, MachineStep):
                self.machine(step, values, keep)
            else:
                began = time.monotonic()
                values.update(run_graph(step.graph, {port.tensor: values[port.tensor] for port in step.graph.inputs}))
                self.report.host_seconds += time.monotonic() - began
        return values

    def machine(self, step, values, keep=None):
        """Run a step on the machine; ``values`` get its outputs, the rest as :meth:`run`."""
        if step not in self._resident:
            self._resident.clear()
            self._cleared.clear()
            self._load(step)
        lowered = step.lowered
        given = {name: to_numbers(step.part, placed.tensor, values[placed.tensor]) for name, placed in lowered.inputs.items()}
        count, parts = len(next(iter(given.values()))), []
        # What a run has left in the core serves the next, as long as no other program comes between.
        registers = {**lowered.registers, **(lowered.again if self._last is step else {})}
        read = {**lowered.outputs, **(lowered.tensors if keep is not None else {})}
        for at in range(0, count, lowered.images):
            if self._progress is not None:
                self._progress("inputs", at, count)
            began = time.monotonic()
            for name, placed in lowered.inputs.items():
                some = given[name][at:at + lowered.images]
                if len(some) < lowered.images:
                    some = np.concatenate([some, np.zeros((lowered.images - len(some), *some.shape[1:]), some.dtype)])
                self._put(lowered, placed.layout, some)
            ready = time.monotonic()
            outcome = self._run(lowered, registers)
            registers.update(lowered.again)
            self._last = step
            ended = time.monotonic()
            parts.append({name: self._get(placed.layout)[:count - at] for name, placed in read.items()})
            for name, value in outcome.counters.items():
                self.report.counters[name] = self.report.counters.get(name, 0) + value
            self.report.input_seconds += ready - began
            self.report.run_seconds += ended - ready
            self.report.output_seconds += time.monotonic() - ended
        made = {node.output for node in step.part.graph.nodes}
        for name, placed in read.items():
            numbers = np.concatenate([part[name] for part in parts])
            if name in lowered.outputs:
                values[placed.tensor] = to_values(step.part, placed.tensor, numbers)
            if keep is not None and placed.tensor in made:
                keep[placed.tensor] = numbers

    def _run(self, lowered, registers):
        outcome = self.target.run(registers)
        if outcome.status != "done":
            raise RunFailed(_failure(self.plan, self.target, lowered, outcome), outcome)
        return outcome

    def close(self):
        self.target.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _side_by_side(programs):
    """Whether no two programs take the same memory."""
    spans = sorted((min([p.program_at, *(at for at, *_ in p.constants), *(at for _, at in p.setup)]), p.memory) for p in programs)
    return all(before[1] <= after[0] for before, after in zip(spans, spans[1:], strict=False))


def _info(plan, target):
    from ..targets import TargetInfo
    size = max(target.info.memory_size, plan.memory) if target.info.memory_size else plan.memory
    return TargetInfo(kind="model", isa=plan.isa, params=plan.params, memory_size=max(size, plan.memory_size), preset=plan.preset)


def _failure(plan, target, lowered, outcome):
    """What a run that did not end well is called: fault, address, and the layer whose instruction it was."""
    if outcome.fault is None:
        return f"{target.name}: the run of {plan.network} ended {outcome.status}"
    fault = outcome.fault
    span = next((s for s in lowered.layers if s.begin is not None and s.begin <= fault.pc < s.end), None)
    where = f", in layer {span.name}" if span else ""
    return f"{target.name}: {plan.network}: fault {fault.name} ({fault.code}) at pc {fault.pc:#x}{where}, detail {fault.detail:#x}"


# Numbers

def to_numbers(part, tensor, values):
    """Real ``values`` of a tensor as the machine has them: whole numbers, or float32 where it has no scale."""
    scale = part.scales.get(tensor)
    return np.asarray(values, np.float32) if scale is None else scale.quantise(values)


def to_values(part, tensor, numbers):
    """The real numbers, float64, that a machine's ``numbers`` stand for."""
    scale = part.scales.get(tensor)
    return np.asarray(numbers, np.float64) if scale is None else scale.value(numbers)


def check_inputs(network, ports, given):
    """Arrays by the names of ``ports`` as the graph has them, tensor name -> float64 with the first axis of inputs; errors as :func:`check_arrays`."""
    arrays = check_arrays(network, ports, given)
    return {port.tensor: to_graph(port, arrays[port.name]) for port in ports}


def check_arrays(network, ports, given):
    """Arrays by the names of ``ports`` as the user has them, each with its axis of inputs, which may be left out for one.

    Raises
    ------
    PlanError
        A name that is missing or unknown, another shape, what is no finite number, different numbers of inputs.
    """
    for name in given:
        if name not in [port.name for port in ports]:
            raise PlanError(f"{network} has no input {name!r}; it has {', '.join(port.name for port in ports)}")
    found = {}
    for port in ports:
        if port.name not in given:
            raise PlanError(f"{network}: input {port.name} is missing; expected numbers of shape [inputs, {', '.join(map(str, port.shape))}]")
        array = np.asarray(given[port.name])
        found[port.name] = array = array[None] if array.shape == tuple(port.shape) else array
        if not array.size:
            raise PlanError(f"{network}: input {port.name} has the shape {list(array.shape)}, which holds no input")
        try:
            to_graph(port, array)
        except InputError as error:
            raise PlanError(f"{network}: {error}") from None
    if len({len(array) for array in found.values()}) > 1:
        raise PlanError(f"{network}: inputs of different numbers: {', '.join(f'{name} {len(array)}' for name, array in found.items())}")
    return found
