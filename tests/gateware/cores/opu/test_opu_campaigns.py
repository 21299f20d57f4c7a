# SPDX-License-Identifier: BSD-2-Clause
"""Long campaign of the OPU's gateware against its model: ``make test-long``, QUINTET_MINUTES, QUINTET_SEED."""
from campaigns import campaign_test
from opu_subject import SUBJECT

test_opu_campaign = campaign_test(SUBJECT)
