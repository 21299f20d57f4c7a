# SPDX-License-Identifier: BSD-2-Clause
"""Core shell: control block, counters and clock domains around the engine of any core."""
