# SPDX-License-Identifier: BSD-2-Clause
"""PIM's builds that `make test` leaves out, against the model: directed programs, every fault,
random programs of all cores."""

import pytest

from quintet.boards.virtual.bench import IDEAL
from tests.gateware.cores.pim.bench import compare
from tests.gateware.cores.pim.bench import directed as pim_directed
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.support.campaigns import random_behaviour
from tests.support.comparing import bench_fixture

pytestmark = pytest.mark.long

#: Random programs, and programs of each fault.
COUNT, FAULTS = 60, 3

bench = bench_fixture(
    compare.open_build, [name for name in compare.BUILDS if name not in compare.QUICK]
)


def problems_of(bench, cases):
    """Differences of every case, by its name."""
    found = []
    for seed, case in enumerate(cases):
        problems, outcome = compare.check_case(
            bench, case, IDEAL if seed % 3 == 0 else random_behaviour(seed), seed
        )
        if problems:
            found.append((case.name, problems))
            bench.recover()
        wanted = case.notes.get("fault")
        if wanted and (outcome.fault is None or outcome.fault.name != wanted):
            found.append((case.name, f"expected {wanted}, not {outcome.fault}"))
    return found


@pytest.mark.parametrize("group", pim_directed.GROUPS)
def test_directed_programs_of(bench, group):
    assert problems_of(bench, pim_directed.directed_cases(bench.params, group)) == []


def test_every_fault_of(bench):
    cases = [
        pim_programs.random_case(seed, bench.params, fault=fault)
        for fault in pim_programs.FAULTS
        for seed in range(FAULTS)
    ]
    assert problems_of(bench, cases) == []


def test_random_programs_of(bench):
    cases = [
        pim_programs.random_case(
            seed, bench.params, cores=bench.params["cores"] if seed % 2 else None
        )
        for seed in range(COUNT)
    ]
    assert problems_of(bench, cases) == []
