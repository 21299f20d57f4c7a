# SPDX-License-Identifier: BSD-2-Clause
"""The vendors' hard blocks, each with a behavioural model: block RAM, multipliers, PLL, SPRAM."""
