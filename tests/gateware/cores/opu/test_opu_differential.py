# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's gateware against its golden model: random programs, directed ones, every fault, aborts,
bus errors, resets.

Three builds, one for each type set: the smallest behind the shell's arbiter, 32-bit sums with two
banks of ``ifm``, and 16-bit data with two banks of each. `make test` runs 1,000 random programs and
more; the campaigns of ``test_opu_campaigns.py`` go on.
"""

import pytest

from quintet.boards.virtual.bench import IDEAL
from tests.gateware.cores.opu.bench import checks as opu_checks
from tests.gateware.cores.opu.bench import compare as opu_compare
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.gateware.cores.opu.bench.compare import check_case
from tests.support.shares import fewer, parts, shares, some

#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 336, 8

bench = opu_checks.bench_fixture(opu_compare.QUICK)


@parts(PARTS)
def test_random_programs(bench, part):
    opu_checks.random_programs(bench, range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS))


@pytest.mark.parametrize("fault", opu_programs.FAULTS)
def test_every_fault(bench, fault):
    opu_checks.every_fault(bench, fault)


@pytest.mark.parametrize("group", opu_directed.group_names())
def test_directed_programs(bench, group):
    opu_checks.directed(bench, group, 50, IDEAL)


@shares
def test_aborts_and_restarts(bench, share):
    opu_checks.aborts(bench, some(40, share), 4000, IDEAL)


def test_stores_cut_short_by_an_abort(bench):
    opu_checks.stores_cut_short(bench, 7)


@shares
def test_bus_errors(bench, share):
    opu_checks.bus_errors(bench, some(50, share, 12), some(8, share, 2), IDEAL)


@shares
def test_core_resets_at_random_cycles(bench, share):
    opu_checks.core_resets(bench, some(20, share))


def test_a_run_leaves_nothing_behind(bench):
    case = opu_programs.random_case(7, bench.params, budget=4000)
    first = None
    for seed in range(5):
        check_case(
            bench,
            opu_programs.random_case(100 + seed, bench.params, legal=seed % 2 == 0, budget=4000),
            IDEAL,
        )
        problems, outcome = check_case(bench, case, IDEAL)
        assert not problems, problems
        first = first or outcome
        assert outcome == first


def test_a_run_ends_in_bounded_time(bench):
    """On a memory without delay no program, legal or not, takes longer than its instructions one
    after another."""
    for seed in range(fewer(30)):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 2 == 0, budget=8000)
        _, outcome = check_case(bench, case, IDEAL)
        assert outcome.counters["cycles"] <= 1000 + 2 * case.cycles, case.name
