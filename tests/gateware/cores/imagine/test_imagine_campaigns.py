# SPDX-License-Identifier: BSD-2-Clause
"""Long campaigns of IMAGine's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
import itertools
import random

import imagine_compare as compare
import imagine_directed
import imagine_programs
import pytest
from campaigns import Campaign, random_behaviour

pytestmark = pytest.mark.long

#: Share of QUINTET_MINUTES that the campaigns of one build may take.
SHARE = 1 / len(compare.BUILDS)


@pytest.mark.parametrize("build", compare.BUILDS)
def test_imagine_campaign(build):
    """Of ten programs eight run as they are (one of these into a fault), one is aborted, one meets a bus error."""
    with compare.open_build(build) as bench:
        campaign = Campaign("imagine", SHARE)           # its time begins when the compiler is done
        for seed in campaign.seeds(build):
            rng = random.Random(f"campaign {seed}")
            behaviour, kind = random_behaviour(seed), seed % 10
            case = imagine_programs.random_case(seed, bench.params, legal=kind != 0, budget=rng.choice((600, 1200, 3000)))
            if kind < 8:
                problems, _ = compare.check_case(bench, case, behaviour, seed)
            elif kind == 8:
                problems, _ = compare.check_aborted(bench, case, rng.randrange(4000), behaviour, seed)
            else:
                registers = case.registers
                address = rng.choice((registers["program_address"] + rng.randrange(4 * len(case.words)),
                                      rng.randrange(registers["output_at"], registers["output_limit"])))
                problems, _ = compare.check_bus_error(bench, case, address, rng.choice((True, False, None)), behaviour, seed)
            assert not problems, (build, seed, case.name, problems)


@pytest.mark.parametrize("build, width", [("n4", 4), ("n8", 8)])
def test_every_product(build, width):
    half = 1 << width - 1
    pairs = list(itertools.product(range(-half, half), repeat=2))
    with compare.open_build(build) as bench:
        for begin in range(0, len(pairs), 1024):
            problems, _ = compare.check_case(bench, imagine_directed.products_of(bench.params, pairs[begin:begin + 1024]))
            assert not problems, problems
