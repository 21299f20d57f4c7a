# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of the OPU's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
import random

import opu_compare as compare
import opu_programs
import pytest
from campaigns import Campaign, random_behaviour

from quintet.boards.virtual.simulation import SimulationError

pytestmark = pytest.mark.long

#: Share of QUINTET_MINUTES that the campaigns of one build may take.
SHARE = 1 / len(compare.BUILDS)


@pytest.mark.parametrize("build", compare.BUILDS)
def test_opu_campaign(build):
    """Of six programs four run as they are (one of these into a fault), one is aborted, one meets a bus error."""
    with compare.open_build(build) as bench:
        campaign = Campaign("opu", SHARE)           # its time begins when the compiler is done
        for seed in campaign.seeds(build):
            rng = random.Random(f"campaign {seed}")
            behaviour, kind = random_behaviour(seed), seed % 6
            case = opu_programs.random_case(seed, bench.params, legal=kind != 0, budget=rng.choice((4000, 8000, 20000)))
            try:
                if kind < 4:
                    problems, _ = compare.check_case(bench, case, behaviour, seed)
                elif kind == 4:
                    problems, _ = compare.check_aborted(bench, case, rng.randrange(8000), behaviour, seed)
                else:
                    problems, _ = compare.check_bus_error(bench, case, compare.some_address(case, rng),
                                                          rng.choice((True, False, None)), behaviour, seed)
            except SimulationError as error:
                problems = [str(error)]
            assert not problems, (build, seed, case.name, problems)
