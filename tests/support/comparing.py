# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a core's gateware with its golden model, for any ISA.

A *case* has ``name``, ``params``, ``memory`` (the image), ``registers``; the ISA defines its words.
"""

from dataclasses import replace

import numpy as np
import pytest

from quintet.tools.measure.case import registers_of

__all__ = [
    "aborted_run",
    "bench_fixture",
    "class_problems",
    "compare_run",
    "failing_run",
    "first_difference",
    "registers_of",
    "run_differently",
    "shared_bench",
    "with_words",
    "word_index",
]

_open = {}


def shared_bench(open_build, name):
    """Bench of a build, created once per process by ``open_build(name)``."""
    key = open_build, name
    if key not in _open:
        _open[key] = open_build(name)
    return _open[key]


def bench_fixture(open_build, builds):
    """Fixture over ``builds``; a bench stays usable after a test that violates a rule."""

    @pytest.fixture(params=builds)
    def bench(request):
        bench = shared_bench(open_build, request.param)
        bench.clear_injections()
        yield bench
        bench.recover()

    return bench


def first_difference(got, expected):
    """Describes where two memories differ first, or ``None``."""
    at = (got != expected).nonzero()[0]
    if not at.size:
        return None
    return (
        f"{at.size} bytes of memory differ, the first at {int(at[0]):#x}: {got[at[0]]:#04x}, "
        f"expected {expected[at[0]]:#04x}"
    )


def class_problems(outcome):
    """Errors of the cycle classes, a list; empty if the classes add up."""
    c = outcome.counters
    classes = (
        c["work"] + c["stall_fetch"] + c["stall_operand"] + c["stall_write"] + c["stall_other"]
    )
    return (
        [] if classes == c["cycles"] else [f"work and stalls are {classes} of {c['cycles']} cycles"]
    )


def compare_run(bench, case, expected, memory, behaviour, seed, limit, *, more=()):
    """Runs ``case`` completely: ``(differences from the golden model's outcome and memory, outcome
    of the gateware)``.

    ``behaviour`` ``None`` leaves the memory as it is; counters named in ``more`` may be above the
    model's.
    """
    if behaviour is not None:
        bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    got = bench.run(registers_of(case), limit)
    problems = class_problems(got)
    for name in ("status", "fault", "values"):
        if getattr(got, name) != getattr(expected, name):
            problems.append(f"{name} {getattr(got, name)}, expected {getattr(expected, name)}")
    difference = first_difference(bench.memory[: case.memory.size], memory)
    if difference:
        problems.append(difference)
    for name, value in expected.counters.items():
        if got.counters[name] != value and not (name in more and got.counters[name] > value):
            problems.append(f"counter {name} {got.counters[name]}, expected {value}")
    return problems, got


def run_differently(got, expected, now, memory):
    """Differences in outcome and memory, for a run that an injected error did not reach."""
    problems = []
    if got.status != expected.status or got.fault != expected.fault:
        problems.append(
            f"{got.status} {got.fault}, expected {expected.status} {expected.fault} or a bus error"
        )
    difference = first_difference(now, memory)
    return problems + [difference] if difference else problems


def aborted_run(bench, case, cycle, behaviour, seed):
    """Aborts a run of ``case`` at ``cycle``: ``(problems, outcome)``; it may have ended earlier."""
    bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    bench.start(registers_of(case))
    bench.step(cycle)
    if bench.busy:
        bench.abort()
    outcome = bench.outcome()
    problems = class_problems(outcome)
    if outcome.status == "aborted" and (outcome.fault.code != 8 or outcome.fault.detail != 0):
        problems.append(f"fault {outcome.fault}")
    return problems, outcome


def failing_run(bench, case, address, write, behaviour, seed, limit):
    """Runs ``case`` while every access of a kind (``write``: ``None`` for both) to the beat at
    ``address`` fails."""
    bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    bench.clear_injections()
    bench.inject(low=address, high=address + 1, write=write, count=1 << 40)
    try:
        return bench.run(registers_of(case), limit)
    finally:
        bench.clear_injections()


def with_words(isa, case, words):
    """Returns ``case`` with other words of ``isa``, at most as long as its own."""
    memory, at = case.memory.copy(), case.registers["program_address"]
    data = np.frombuffer(isa.store(words), np.uint8)
    memory[at : at + data.size] = data
    return replace(
        case,
        words=list(words),
        memory=memory,
        registers={**case.registers, "program_length": data.size},
    )


def word_index(case, pc, word, size, problems):
    """Index of the word at ``pc``, of ``word`` bytes, in a program of ``size`` bytes; records a
    problem if there is none."""
    base = case.registers["program_address"]
    if (pc - base) % word or not 0 <= pc - base <= size:
        problems.append(f"pc {pc:#x} is no word of the program at {base:#x}")
        return None
    return (pc - base) // word
