# SPDX-License-Identifier: BSD-2-Clause
"""The small engine against the golden model, as on an UP5K and on an HX8K: random programs, faults, aborts, resets, bus errors; its microprogram
against its own model, cycle for cycle."""
import pytest

from quintet.boards.virtual.bench import IDEAL
from tests.gateware.cores.pim.bench import compare, directed, programs, runs
from tests.gateware.cores.pim.test_pim_runs import model_runs
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks
from tests.support.comparing import bench_fixture, first_difference, registers_of

#: Random legal programs of each build, into how many tests they are cut, programs of each fault.
COUNT, PARTS, FAULTS = 250, 5, 4

CHECKS = Checks(compare, programs.random_case)
bench = bench_fixture(compare.open_build, ("up5k", "hx8k"))


def check(bench, cases):
    for seed, case in cases:
        problems, outcome = compare.check_case(bench, case, IDEAL if seed % 3 == 0 else random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        yield case, outcome


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(bench, part):
    list(check(bench, ((seed, programs.random_case(seed, bench.params)) for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS))))


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(bench, fault):
    for case, outcome in check(bench, ((seed, programs.random_case(seed, bench.params, fault=fault)) for seed in range(FAULTS))):
        if case.notes.get("fault"):
            assert outcome.fault is not None and outcome.fault.name == fault


@pytest.mark.parametrize("group", directed.GROUPS)
def test_directed_programs(bench, group):
    list(check(bench, ((0, case) for case in directed.directed_cases(bench.params, group))))


@pytest.mark.parametrize("name", runs.SEQUENCES)
def test_runs_in_a_row(bench, name):
    bench.reset()
    bench.behave(IDEAL)
    for case, expected, memory in model_runs(bench.params, name):
        bench.load(case.memory)
        got = bench.run(registers_of(case), compare.CYCLES)
        assert (got.status, got.fault) == (expected.status, expected.fault), case.name
        assert first_difference(bench.memory[:memory.size], memory) is None, case.name


def test_aborts_and_restarts(bench):
    CHECKS.aborts(bench, 20, 60000, IDEAL)


def test_bus_errors(bench):
    CHECKS.bus_errors(bench, 40, 4, IDEAL, address=compare.some_address, every=10)


def test_core_resets_at_random_cycles(bench):
    CHECKS.core_resets(bench, 10, latest=50000)
