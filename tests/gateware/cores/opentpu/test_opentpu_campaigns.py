# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of OpenTPU's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED.

Each goes on where the last one stopped; ``python -m campaign_totals`` (tests/support) sums what was run.
"""
import random

import opentpu_compare as compare
import opentpu_programs as programs
import pytest
from campaigns import Campaign, random_behaviour
from opentpu_compare import check_aborted, check_bus_error, check_case, open_build, sanitised

pytestmark = pytest.mark.long

#: Share of QUINTET_MINUTES that the campaigns of one build may take.
SHARE = 1 / len(compare.BUILDS)


@pytest.mark.parametrize("build", compare.BUILDS)
def test_campaign(build):
    """Of six programs four run as they are, with a fault injected or with runs of NOPs, one is aborted, one meets a bus error."""
    with open_build(build) as bench:
        campaign = Campaign("opentpu", SHARE)       # its time begins when the compiler is done
        for seed in campaign.seeds(build):
            rng = random.Random(f"campaign {seed}")
            behaviour = random_behaviour(seed)
            kind = seed % 6
            if kind < 4:
                case = programs.random_case(seed, bench.params, legal=kind != 0)
                if kind == 1:
                    case = sanitised(case, programs.nop_runs(case.words, seed))
                problems, _ = check_case(bench, case, behaviour, seed)
            elif kind == 4:
                case = programs.random_case(seed, bench.params)
                problems, _ = check_aborted(bench, case, rng.randrange(4000), behaviour, seed)
            else:
                case = programs.random_case(seed, bench.params)
                address = rng.randrange(case.memory.size)
                problems, _ = check_bus_error(bench, case, address, rng.choice((True, False, None)), behaviour, seed)
            assert not problems, (build, seed, case.name, problems)
