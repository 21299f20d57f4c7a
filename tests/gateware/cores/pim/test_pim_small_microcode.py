# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's microprogram against the golden model, without gateware: random programs, each
fault, the directed ones, runs in a row."""

import pytest

from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench import directed, programs, runs
from tests.gateware.cores.pim.bench.microcode import check_microcode
from tests.gateware.cores.pim.bench.small_model import SmallModel
from tests.gateware.cores.pim.test_pim_runs import model_runs
from tests.support.comparing import first_difference, registers_of
from tests.support.shares import fewer

#: Random programs, and of each fault.
COUNT, FAULTS = 40, fewer(3)
BUILDS = {
    "small": SPACE.resolve("up5k", {"lmem_bytes": 2048, "arrays": 4}),
    "narrow": SPACE.resolve(
        "up5k",
        {
            "lmem_bytes": 4096,
            "arrays": 6,
            "xb_rows": 32,
            "xb_cols": 16,
            "max_biw": 16,
            "x_bits": 8,
            "act_unit": 0,
            "bias_words": 24,
            "groups": 5,
        },
    ),
}


@pytest.fixture(params=BUILDS)
def params(request):
    return BUILDS[request.param]


def check(cases):
    for case in cases:
        problems, _ = check_microcode(case)
        assert not problems, (case.name, problems)


def test_random_programs(params):
    check(programs.random_case(seed, params) for seed in range(fewer(COUNT)))


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(params, fault):
    check(programs.random_case(seed, params, fault=fault) for seed in range(FAULTS))


@pytest.mark.parametrize("group", directed.GROUPS)
def test_directed_programs(params, group):
    check(directed.directed_cases(params, group))


@pytest.mark.long
def test_many_random_programs(params):
    check(programs.random_case(seed, params) for seed in range(COUNT, 2000))


@pytest.mark.parametrize("name", runs.SEQUENCES)
def test_runs_in_a_row(params, name):
    small = None
    for case, expected, memory in model_runs(params, name):
        small = small or SmallModel(params, case.memory.copy())
        small.memory[:] = case.memory
        small.run(registers_of(case))
        fault = expected.fault and (expected.fault.name, expected.fault.pc, expected.fault.detail)
        assert small.fault == fault and first_difference(small.memory, memory) is None, case.name
