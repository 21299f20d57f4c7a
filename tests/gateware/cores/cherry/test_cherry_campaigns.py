# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of Cherry's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
from campaigns import campaign_test
from cherry_subject import SUBJECT

test_cherry_campaign = campaign_test(SUBJECT)
