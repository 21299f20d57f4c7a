# SPDX-License-Identifier: BSD-2-Clause
"""Table of ``vtanh`` and ``vsigm`` (specification, section 4.3). Pure Python."""

import math

__all__ = ["STEPS", "TANH"]

#: Entries of the table are 1/64 apart; the last one is for 8.
STEPS = 512
#: floor(tanh(i / 64) * 65536 + 0.5), i = 0..512.
TANH = tuple(math.floor(math.tanh(i / 64) * 65536 + 0.5) for i in range(STEPS + 1))
