# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of Cherry's gateware against its model: ``make test-long``, QUINTET_MINUTES,
QUINTET_SEED."""

from tests.gateware.cores.cherry.bench.subject import SUBJECT
from tests.support.campaigns import campaign_test

test_cherry_campaign = campaign_test(SUBJECT)
