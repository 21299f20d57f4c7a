# SPDX-License-Identifier: BSD-2-Clause
"""Core shell: control block, counters and clock domains of every core's engine."""
