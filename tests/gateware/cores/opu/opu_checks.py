# SPDX-License-Identifier: BSD-2-Clause
"""What every OPU engine must stand, pipelined or small: checks of one bench against the golden model."""
import random
from functools import partial

import comparing
import opu_compare as compare
import opu_directed
import opu_programs
from campaigns import random_behaviour

__all__ = ["aborts", "bench_fixture", "bus_errors", "check", "core_resets", "directed", "every_fault", "random_programs"]

bench_fixture = partial(comparing.bench_fixture, compare.open_build)


def check(bench, case, behaviour, seed=0, note=""):
    """A run equals the model's; its outcome."""
    problems, outcome = compare.check_case(bench, case, behaviour, seed)
    assert not problems, (case.name, note, problems)
    return outcome


def random_programs(bench, seeds):
    """A quarter of them end in a fault; every one with a memory of its own temper."""
    for seed in seeds:
        check(bench, opu_programs.random_case(seed, bench.params, legal=seed % 4 != 0, budget=8000), random_behaviour(seed), seed)


def every_fault(bench, fault):
    for seed in range(8):
        case = opu_programs.random_case(seed, bench.params, fault=fault, budget=4000)
        assert check(bench, case, random_behaviour(seed), seed).fault.name == case.fault


def directed(bench, group, count, behaviour):
    """``count`` of the directed programs of ``group``, the same every time."""
    for case in opu_directed.shuffled(opu_directed.directed_cases(bench.params, group), 1, count):
        check(bench, case, behaviour)


def aborts(bench, count, latest, behaviour, every=4):
    """Aborts at random cycles below ``latest``; after every ``every``-th the same program runs whole."""
    for seed in range(count):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        problems, _ = compare.check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(latest))),
                                            random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        if seed % every == 0:
            check(bench, case, behaviour, note="after an abort")


def core_resets(bench, count):
    """Core resets at random cycles, and the same program whole after each."""
    for seed in range(count):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 3 != 0, budget=4000)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start(comparing.registers_of(case))
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        check(bench, case, random_behaviour(seed), seed, "after a core reset")


def bus_errors(bench, count, least, behaviour):
    """At addresses that the case is likely to touch, reads or writes or both; more than ``least`` must be hit."""
    hit = 0
    for seed in range(count):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        address = compare.some_address(case, rng)
        problems, outcome = compare.check_bus_error(bench, case, address, rng.choice((True, False, None)),
                                                    random_behaviour(seed), seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
        if seed % 4 == 0:
            check(bench, case, behaviour, note="after a bus error")
    assert hit > least
