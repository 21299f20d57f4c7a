# SPDX-License-Identifier: BSD-2-Clause
"""Cycle-level timing model of a program: clocks of issue, units and memory that execute its
words."""
