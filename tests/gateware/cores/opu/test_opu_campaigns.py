# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of the OPU's gateware against its model: ``make test-long``, QUINTET_MINUTES,
QUINTET_SEED."""

from tests.gateware.cores.opu.bench.subject import SUBJECT
from tests.support.campaigns import campaign_test

test_opu_campaign = campaign_test(SUBJECT)
