# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of the core: each unit by a small network, compared with the golden model; then
counters, a fault and the interrupt."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..compiler.backends import backend_class, backend_names
from ..compiler.partition import PartitionError
from ..compiler.planning import compile_graph, random_calibration
from ..compiler.session import RunFailed, Session
from ..compiler.target_build import TargetBuild
from ..errors import InputError
from ..targets.link import LinkTarget
from .finding import Finding
from .networks import CONVOLUTION, PRODUCTS, networks
from .programs import plain_program

__all__ = ["test_core"]

_CLASSES = ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")
#: Most estimated cycles of a run that is soon over.
_SOON = 100_000
#: Place of the interrupt in the SoC's registers.
_SOC_INTERRUPT = 0x04
_SICK = (
    "the units that this network needs, or the block RAM and multipliers behind them: build "
    "again with another seed, at a slower clock; the same channels again point to a cell"
)


def test_core(target: LinkTarget, one: bool = False) -> Iterator[Finding]:
    """Tests the core: one finding per unit, then those of the core as a whole.

    ``one``: of the units only that of convolutions, which uses most of a core; without it, or if it
    takes long, the one whose network has the fewest bytes to load.

    """
    isa = target.info.isa
    if isa is None or isa not in backend_names():
        yield Finding(
            "core",
            "units",
            None,
            f"the compiler has no back end for {isa}; run one of its jobs with quintet verify",
        )
        return
    plans = [
        (what, graph, plan)
        for what, graph in networks()
        if (plan := _plan(target, graph)) is not None
    ]
    plain = None
    if {what for what, *_ in plans} <= {PRODUCTS}:
        # Such a network leaves most of a core's instructions untested.
        plain = plain_program(isa, target.info.params, target.info.memory_size)
        plans = plans if plain is None else []
    if one and plans:
        soon = [unit for unit in plans if _cycles(unit[-1]) <= _SOON]
        plans = [min(soon or plans, key=lambda unit: (unit[0] != CONVOLUTION, _bytes(unit[-1])))]
    if not plans and plain is None:
        yield Finding(
            "core",
            "units",
            None,
            "this build is too small for any of the networks; run one of its jobs with quintet "
            "verify",
        )
        return
    good = None
    for what, graph, plan in plans:
        run, finding = _unit(target, what, graph, plan)
        yield finding
        good = run if finding.ok else good
    if plain is not None:
        run, finding = _plain(target, plain)
        yield finding
        good = run if finding.ok else good
    if good is not None:
        yield _counters(good.counters)
        yield _fault(target, good.registers)
        yield _interrupt(target, good.registers)


def _plan(target, graph):
    """Compiles a test network for this build; ``None`` if the core lacks the operation, or cannot
    hold it in one program."""
    info = target.info
    build = TargetBuild(
        info.isa, info.preset, info.params, info.memory_size, info.board, info.clock_hz, target.name
    )
    backend = backend_class(info.isa)(params=info.params, memory_size=info.memory_size)
    if not all(backend.check_support(graph, node).runs for node in graph.nodes):
        return None
    try:
        plan = compile_graph(graph, build, random_calibration(graph))
    except (PartitionError, InputError):
        return None
    return plan if len(plan.core_steps) == 1 else None


def _cycles(plan):
    """Estimated cycles of a run."""
    (step,) = plan.core_steps
    return sum(layer.cycles for layer in step.lowered.layers)


def _bytes(plan):
    """Number of bytes that are sent to the board before the first run."""
    (step,) = plan.core_steps
    lowered = step.lowered
    return (
        len(lowered.program)
        + sum(len(data) for _, data, *_ in lowered.constants)
        + sum(len(data) for data, _ in lowered.setup)
    )


@dataclass(frozen=True)
class _Run:
    """A successful run: its ``registers`` and ``counters``."""

    registers: dict[str, int]
    counters: dict[str, int]


def _unit(target, what, graph, plan):
    """Runs a network on the target and compares it with the golden model: (_Run, Finding)."""
    from ..targets import open_target

    (step,) = plan.core_steps
    inputs = {
        port.tensor: array[:2]
        for port, array in zip(
            plan.inputs, random_calibration(graph, 2, seed=1).values(), strict=True
        )
    }
    with Session(plan, open_target(f"model:{plan.isa}"), overlap=False) as model:
        expected = model.run_steps(inputs)["y"]
    session = Session(plan, target, overlap=False)
    try:
        found = session.run_steps(inputs)["y"]
    except RunFailed as error:
        return None, Finding("core", what, False, str(error), _SICK)
    wrong = np.argwhere(found != expected)
    if len(wrong):
        return None, Finding(
            "core",
            what,
            False,
            f"{len(wrong)} of {expected.size} results "
            f"differ{_channels(wrong[:, -1], expected.shape[-1])}",
            _SICK,
        )
    counters = session.report.counters
    text = f"{counters['cycles']:,} cycles, {expected.size} results equal to the golden model"
    return _Run(step.lowered.registers, counters), Finding(
        "core", what, True, text, counters=counters
    )


def _model(target):
    """The golden model of the target's build."""
    from ..targets import TargetInfo, open_target

    model = open_target(f"model:{target.info.isa}")
    model.configure(
        like=TargetInfo(
            kind="model",
            isa=target.info.isa,
            params=target.info.params,
            memory_size=target.info.memory_size,
        )
    )
    return model


def _plain(target, plain):
    target.reset_core()
    results, outcomes = [], []
    for one in (_model(target), target):
        one.fill(plain.results[0], plain.results[1])
        for address, data in plain.loads:
            one.write(address, data)
        outcomes.append(one.run(plain.registers))
        results.append(np.frombuffer(one.read(*plain.results), np.int8))
    outcome, (expected, found) = outcomes[1], results
    if outcome.status != "done":
        return None, Finding(
            "core",
            "program of every instruction",
            False,
            f"ended {outcome.status} {outcome.fault.name if outcome.fault else ''}".rstrip(),
            _SICK,
        )
    wrong = np.flatnonzero(found != expected)
    if wrong.size:
        n = target.info.params["n"]
        return None, Finding(
            "core",
            "program of every instruction",
            False,
            f"{wrong.size} of {found.size} results differ{_channels(wrong % n, n)}",
            _SICK,
        )
    text = f"{outcome.counters['cycles']:,} cycles, {found.size} results equal to the golden model"
    return _Run(plain.registers, outcome.counters), Finding(
        "core", "program of every instruction", True, text, counters=outcome.counters
    )


def _channels(sick, count):
    """Describes the channels that differ, if only some do."""
    channels = sorted(set(sick.tolist()))
    if len(channels) == count:
        return ", in all channels"
    steps = set(np.diff(channels).tolist())
    every = f", every {steps.pop()}th" if len(channels) > 2 and len(steps) == 1 else ""
    return (
        f", all in channels "
        f"{', '.join(map(str, channels[:6]))}{' ...' if len(channels) > 6 else ''}{every}"
    )


def _counters(counters):
    sums = sum(counters.get(name, 0) for name in _CLASSES)
    ok = sums == counters["cycles"] > 0
    return Finding(
        "core",
        "counters",
        ok,
        f"{counters['cycles']:,} cycles, {sums:,} of them classified",
        "" if ok else "counters are block RAM of the control block: build again with another seed",
    )


def _fault(target, registers):
    """Tests a fault: a run whose program lies outside its window must end with the golden model's
    fault."""
    registers = {
        **registers,
        "window_base": target.info.memory_size - 64,
        "window_limit": target.info.memory_size,
    }
    target.reset_core()
    seen, expected = (
        f"{o.status} {o.fault.name if o.fault else ''}".strip()
        for o in (target.run(registers), _model(target).run(registers))
    )
    target.reset_core()
    ok = seen == expected and seen.startswith("fault")
    return Finding(
        "core",
        "faults",
        ok,
        f"a program outside its window: {seen}" + ("" if ok else f", expected {expected}"),
        "" if ok else _SICK,
    )


def _interrupt(target, registers):
    """Tests the interrupt: enabled, a run leaves it pending; after it is acknowledged, it is
    gone."""
    before = target.soc_word(_SOC_INTERRUPT)
    outcome = target.run({**registers, "irq_enable": 1})
    pending = target.soc_word(_SOC_INTERRUPT)
    target.write_register("irq_enable", 0)
    after = target.soc_word(_SOC_INTERRUPT)
    ok = (before & 1, pending & 1, after & 1, outcome.status) == (0, 1, 0, "done")
    return Finding(
        "core",
        "interrupt",
        ok,
        f"before {before & 1}, after a run {pending & 1}, disabled {after & 1}",
        "" if ok else _SICK,
    )
