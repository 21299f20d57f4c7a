# SPDX-License-Identifier: BSD-2-Clause
"""PIM's gateware against its golden model: random programs of one core and many, single faults,
aborts, bus errors.

`make test` runs 500 programs and more on two cores; the campaigns of ``test_pim_campaigns.py`` go
on with other builds.
"""

import pytest

from quintet.boards.virtual.bench import IDEAL
from tests.gateware.cores.pim.bench import compare
from tests.gateware.cores.pim.bench import directed as pim_directed
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks
from tests.support.comparing import bench_fixture
from tests.support.shares import parts, shares, some

#: Random legal programs, and into how many tests they are cut; programs of each fault.
COUNT, PARTS, FAULTS = 500, 8, 8

CHECKS = Checks(compare, pim_programs.random_case)
bench = bench_fixture(compare.open_build, compare.QUICK)


@parts(PARTS)
def test_random_programs(bench, part):
    for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS):
        case = pim_programs.random_case(seed, bench.params)
        problems, _ = compare.check_case(
            bench, case, IDEAL if seed % 3 == 0 else random_behaviour(seed), seed
        )
        assert not problems, (case.name, problems)


@shares
@pytest.mark.parametrize("fault", pim_programs.FAULTS)
def test_every_fault(bench, fault, share):
    for seed in range(some(FAULTS, share)):
        case = pim_programs.random_case(seed, bench.params, fault=fault)
        problems, outcome = compare.check_case(
            bench, case, IDEAL if seed % 2 else random_behaviour(seed), seed
        )
        assert not problems, (case.name, problems)
        if case.notes.get("fault"):
            assert outcome.fault is not None and outcome.fault.name == fault


@pytest.mark.parametrize("group", pim_directed.GROUPS)
def test_directed_programs(bench, group):
    for case in pim_directed.directed_cases(bench.params, group):
        problems, _ = compare.check_case(bench, case, IDEAL)
        assert not problems, (case.name, problems)


@shares
def test_aborts_and_restarts(bench, share):
    CHECKS.aborts(bench, some(20, share), 6000, IDEAL)


@shares
def test_bus_errors(bench, share):
    least = some(4, share)
    CHECKS.bus_errors(
        bench, some(20, share, 5), least, IDEAL, address=compare.some_address, every=10
    )


@shares
def test_core_resets_at_random_cycles(bench, share):
    CHECKS.core_resets(bench, some(10, share), latest=5000)
