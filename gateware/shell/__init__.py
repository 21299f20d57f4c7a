# SPDX-License-Identifier: BSD-2-Clause
"""What all cores share around their engines: control block, counters, clock domains."""
