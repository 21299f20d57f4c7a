# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of a program before it runs: clocks of issue, units and memory, by which its words are
played."""
