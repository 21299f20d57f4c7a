# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of a board: link, clock, memory, every unit of its core, counters, faults, interrupt,
LED."""

from .finding import Finding
from .selftest import SelfTest

__all__ = ["Finding", "SelfTest"]
