# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of PIM's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
import random

import pim_compare as compare
import pim_programs
import pytest
from campaigns import Campaign, random_behaviour

pytestmark = pytest.mark.long

#: Share of QUINTET_MINUTES that the campaign of one build may take.
SHARE = 1 / len(compare.BUILDS)


@pytest.mark.parametrize("build", compare.BUILDS)
def test_pim_campaign(build):
    """Of eight programs six run as they are (one of these into a fault), one is aborted, one meets a bus error."""
    with compare.open_build(build) as bench:
        campaign = Campaign("pim", SHARE)           # its time begins when the compiler is done
        for seed in campaign.seeds(build):
            rng = random.Random(f"campaign {seed}")
            behaviour, kind = random_behaviour(seed), seed % 8
            case = pim_programs.random_case(seed, bench.params, legal=kind != 0, budget=rng.choice((800, 1500, 4000)))
            if kind < 6:
                problems, _ = compare.check_case(bench, case, behaviour, seed)
            elif kind == 6:
                problems, _ = compare.check_aborted(bench, case, rng.randrange(8000), behaviour, seed)
            else:
                address = rng.choice((case.registers["program_address"] + rng.randrange(case.registers["program_length"]),
                                      case.image.gmem_base + rng.randrange(8192)))
                problems, _ = compare.check_bus_error(bench, case, address, rng.choice((True, False, None)), behaviour, seed)
            assert not problems, (build, seed, case.name, problems)
