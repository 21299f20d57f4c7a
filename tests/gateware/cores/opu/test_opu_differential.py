# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's gateware against its golden model: random programs, directed ones, every fault, aborts, bus errors, resets.

Three builds, one for each type set: the smallest behind the shell's arbiter, 32-bit sums with two banks of ``ifm``, and 16-bit
data with two banks of each. `make test` runs 1,000 random programs and more; the campaigns of ``test_opu_campaigns.py`` go on.
"""
import random

import opu_compare as compare
import opu_directed
import opu_programs
import pytest
from campaigns import random_behaviour
from opu_compare import check_aborted, check_bus_error, check_case, some_address

from quintet.boards.virtual.bench import IDEAL

#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 336, 4

_open = {}


@pytest.fixture(params=compare.QUICK)
def bench(request):
    """One bench of each build for a process; a test that breaks a rule leaves it usable."""
    if request.param not in _open:
        _open[request.param] = compare.open_build(request.param)
    bench = _open[request.param]
    bench.clear_injections()
    yield bench
    bench.recover()


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(bench, part):
    """A quarter of them end in a fault; every one with a memory of its own temper."""
    for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 4 != 0, budget=8000)
        problems, _ = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, problems)


@pytest.mark.parametrize("fault", opu_programs.FAULTS)
def test_every_fault(bench, fault):
    for seed in range(8):
        case = opu_programs.random_case(seed, bench.params, fault=fault, budget=4000)
        problems, outcome = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        assert outcome.fault.name == case.fault


@pytest.mark.parametrize("group", opu_directed.group_names())
def test_directed_programs(bench, group):
    for case in opu_directed.shuffled(opu_directed.directed_cases(bench.params, group), 1, 50):
        problems, _ = check_case(bench, case, IDEAL)
        assert not problems, (case.name, problems)


def test_aborts_and_restarts(bench):
    for seed in range(40):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        problems, _ = check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(4000))),
                                    random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        if seed % 4 == 0:
            problems, _ = check_case(bench, case, IDEAL)
            assert not problems, (case.name, "after an abort", problems)


def test_bus_errors(bench):
    hit = 0
    for seed in range(50):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        address = some_address(case, rng)
        problems, outcome = check_bus_error(bench, case, address, rng.choice((True, False, None)), random_behaviour(seed),
                                            seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
        if seed % 4 == 0:
            problems, _ = check_case(bench, case, IDEAL)
            assert not problems, (case.name, "after a bus error", problems)
    assert hit > 8


def test_core_resets_at_random_cycles(bench):
    for seed in range(20):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 3 != 0, budget=4000)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start({"window_limit": case.memory.size, **case.registers})
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        problems, _ = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, "after a core reset", problems)


def test_a_run_leaves_nothing_behind(bench):
    case = opu_programs.random_case(7, bench.params, budget=4000)
    first = None
    for seed in range(5):
        check_case(bench, opu_programs.random_case(100 + seed, bench.params, legal=seed % 2 == 0, budget=4000), IDEAL)
        problems, outcome = check_case(bench, case, IDEAL)
        assert not problems, problems
        first = first or outcome
        assert outcome == first


def test_a_run_ends_in_bounded_time(bench):
    """On a memory without delay no program, legal or not, takes longer than its instructions one after another."""
    for seed in range(30):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 2 == 0, budget=8000)
        _, outcome = check_case(bench, case, IDEAL)
        assert outcome.counters["cycles"] <= 1000 + 2 * case.cycles, case.name
