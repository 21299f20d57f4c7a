# SPDX-License-Identifier: BSD-2-Clause
"""The vendors' hard blocks, each with a behavioural twin: block RAM, multipliers, PLL, SPRAM."""
