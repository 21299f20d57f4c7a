# SPDX-License-Identifier: BSD-2-Clause
"""Small gateware that several cores use: delay lines, queues, counters of leading zeros."""
