# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of Cherry's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
import random

import cherry_compare as compare
import pytest
from campaigns import Campaign, random_behaviour

pytestmark = pytest.mark.long

#: Share of QUINTET_MINUTES that the campaign of one build may take.
SHARE = 1 / len(compare.BUILDS)


@pytest.mark.parametrize("build", compare.BUILDS)
def test_cherry_campaign(build):
    """Of ten cases six are programs, two lists, one a program with something wrong, one is aborted."""
    with compare.open_build(build) as bench:
        campaign = Campaign("cherry", SHARE)            # its time begins when the compiler is done
        for seed in campaign.seeds(build):
            rng, kind, behaviour = random.Random(f"campaign {seed}"), seed % 10, random_behaviour(seed)
            if kind == 9:
                problems = compare.check_aborted(bench, compare.program_case(seed, bench.params), rng.randrange(6000), behaviour, seed)
            else:
                case = (compare.program_case(seed, bench.params, words=rng.choice((12, 40, 80))) if kind < 6 else
                        compare.list_case(seed, bench.params) if kind < 8 else compare.spoilt_case(seed, bench.params))
                problems, _ = compare.check_case(bench, case, behaviour, seed)
            assert not problems, (build, seed, problems)
