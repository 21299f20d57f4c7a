# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of OpenTPU's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
from campaigns import campaign_test
from opentpu_subject import SUBJECT

test_campaign = campaign_test(SUBJECT)
