# SPDX-License-Identifier: BSD-2-Clause
"""Case: a program with registers and a memory image, for gateware and golden model alike, whatever the ISA."""

__all__ = ["registers_of"]


def registers_of(case):
    """Registers of a run: a case's main memory ends with its image; the build's is larger."""
    return {"window_limit": case.memory.size, **case.registers}
