# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on PIM's gateware and on its model, and says every way in which they differ."""

from dataclasses import replace

from quintet.firmware.pim.measure.builds import BUILDS, open_build
from quintet.firmware.pim.measure.case import make_case, run_model
from quintet.gateware.cores.pim.isa import ISA, MACHINE
from tests.support.comparing import (
    aborted_run,
    class_problems,
    failing_run,
    first_difference,
    registers_of,
    run_differently,
)

__all__ = [
    "BUILDS",
    "CYCLES",
    "ISA",
    "QUICK",
    "check_aborted",
    "check_bus_error",
    "check_case",
    "core_pc",
    "open_build",
    "run_model",
    "some_address",
    "with_words",
]

#: No case of these tests takes so many cycles unless it hangs.
CYCLES = 2_000_000

#: Those of `make test`.
QUICK = ("sim",)

#: Counters that the model knows of a run that ends well.
_COMMON = ("instructions", "operations", "bytes_read", "bytes_written")


def with_words(case, words):
    """``case`` with other words (pairs of core and word) in place of its own."""
    image = replace(case.image, cores=[replace(c, code=b"", count=0) for c in case.image.cores])
    return make_case(
        case.name,
        case.params,
        image,
        words,
        case.memory,
        case.registers["program_address"],
        cycles=case.cycles,
    )


def _select(bench, core, index=None):
    """Sets ``core_select`` and ``dbg_index``, as the bench knows them."""
    for name, value in (
        ("core_select", core),
        *((("dbg_index", index),) if index is not None else ()),
    ):
        bench.write_register(bench.registers[name].offset, value)
        bench._written[name] = value


def core_pc(bench, core):
    """The program counter of a core; ``core_select`` is the machine again behind it."""
    _select(bench, core)
    pc = bench.read_register(bench.registers["core_pc"].offset)
    _select(bench, MACHINE)
    return pc


def _debug_problems(bench, model, whole, faulty=None):
    """Differences of what the debug window shows; ``whole``: events, too, and each core's counters.
    After a fault of core ``faulty`` nothing is known of others that still ran."""
    problems = []
    offset = bench.registers["dbg_value"].offset
    for core in model.cores[: len(model.entries)]:
        if faulty not in (None, core.number) and core.blocked is None and not core.done:
            continue
        pc = core_pc(bench, core.number)
        if pc != core.pc:
            problems.append(f"core_pc of core {core.number} is {pc}, expected {core.pc}")
        expected = [*core.regs, *core.events, core.ibiw, core.obiw]
        for index in range(66) if whole else (*range(32), 64, 65):
            _select(bench, core.number, index)
            value = bench.read_register(offset)
            if value != expected[index]:
                problems.append(
                    f"dbg_value {index} of core {core.number} is {value:#x}, expected "
                    f"{expected[index]:#x}"
                )
        if whole:
            got = {name: bench.counter(name) for name in bench.counters}
            problems += [
                f"core {core.number}: counter {name} {got[name]}, expected {core.counters[name]}"
                for name in _COMMON
                if got[name] != core.counters[name]
            ]
            classes = sum(
                got[name]
                for name in ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")
            )
            if classes != got["cycles"]:
                problems.append(
                    f"core {core.number}: work and stalls are {classes} of {got['cycles']} cycles"
                )
    _select(bench, MACHINE, 0)
    return problems


def check_case(bench, case, behaviour=None, seed=0, *, limit=CYCLES, whole=None):
    """Differences between gateware and model in one run: outcome, fault, registers, memory,
    counters. Empty: none.

    Returns ``(problems, outcome of the gateware)``.
    """
    whole = seed % 4 == 0 if whole is None else whole
    expected, memory, model = run_model(case)
    if behaviour is not None:
        bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    got = bench.run(registers_of(case), limit)
    problems = class_problems(got)
    for name in ("status", "fault"):
        if getattr(got, name) != getattr(expected, name):
            problems.append(f"{name} {getattr(got, name)}, expected {getattr(expected, name)}")
    difference = first_difference(bench.memory[: case.memory.size], memory)
    if difference:
        problems.append(difference)
    ended = expected.status == "done"
    names = ["fault_core"]
    if ended or expected.fault.name == "deadlock":
        names += ["cores_done", "cores_blocked"]
    problems += [
        f"{name} {got.values[name]:#x}, expected {expected.values[name]:#x}"
        for name in names
        if got.values[name] != expected.values[name]
    ]
    if ended:
        problems += [
            f"counter {name} {got.counters[name]}, expected {value}"
            for name, value in expected.counters.items()
            if got.counters[name] != value
        ]
    if (
        problems
        or expected.fault is not None
        and expected.fault.name in ("table", "bus_error", "aborted")
    ):
        return problems, got
    return _debug_problems(
        bench, model, whole and ended, None if ended else expected.values["fault_core"]
    ), got


def check_aborted(bench, case, cycle, behaviour, seed):
    """Abort a run at ``cycle``: it ends, and names the lowest core that has not."""
    problems, outcome = aborted_run(bench, case, cycle, behaviour, seed)
    if outcome.status == "aborted":
        done, core = outcome.values["cores_done"], outcome.values["fault_core"]
        lowest = next((k for k in range(case.params["cores"]) if not done >> k & 1), 0)
        if core != lowest:
            problems.append(f"fault {outcome.fault} of core {core}, cores done {done:#x}")
    return problems, outcome


def check_bus_error(bench, case, address, write, behaviour, seed):
    """Every access of a kind to the beat at ``address`` fails: a bus error there, or the run as it
    is without."""
    expected, memory, _ = run_model(case)
    got = failing_run(bench, case, address, write, behaviour, seed, CYCLES)
    problems = class_problems(got)
    if got.fault is not None and got.fault.name == "bus_error":
        return problems, got
    return problems + run_differently(got, expected, bench.memory[: case.memory.size], memory), got


def some_address(case, rng):
    """An address of the image, or of GMem."""
    return rng.choice(
        (
            case.registers["program_address"] + rng.randrange(case.registers["program_length"]),
            case.image.gmem_base + rng.randrange(8192),
        )
    )
