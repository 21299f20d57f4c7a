# SPDX-License-Identifier: BSD-2-Clause
"""Gateware building blocks that several cores use: delay lines, queues, leading-zero counters."""
