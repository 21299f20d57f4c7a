# SPDX-License-Identifier: BSD-2-Clause
"""Vendor primitives (block RAM, multipliers, PLL, SPRAM), each with a behavioural model."""
