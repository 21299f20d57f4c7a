# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of PIM's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
from campaigns import campaign_test
from pim_subject import SUBJECT

test_pim_campaign = campaign_test(SUBJECT)
