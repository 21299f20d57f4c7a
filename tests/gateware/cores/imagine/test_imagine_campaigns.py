# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of IMAGine's gateware against its model: ``make test-long``, QUINTET_MINUTES,
QUINTET_SEED."""

import itertools

import pytest

from tests.gateware.cores.imagine.bench import compare
from tests.gateware.cores.imagine.bench import directed as imagine_directed
from tests.gateware.cores.imagine.bench.subject import SUBJECT
from tests.support.campaigns import campaign_test

test_imagine_campaign = campaign_test(SUBJECT)


@pytest.mark.long
@pytest.mark.parametrize("build, width", [("n4", 4), ("n8", 8)])
def test_every_product(build, width):
    half = 1 << width - 1
    pairs = list(itertools.product(range(-half, half), repeat=2))
    with compare.open_build(build) as bench:
        for begin in range(0, len(pairs), 1024):
            problems, _ = compare.check_case(
                bench, imagine_directed.products_of(bench.params, pairs[begin : begin + 1024])
            )
            assert not problems, problems
