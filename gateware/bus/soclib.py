# SPDX-License-Identifier: BSD-2-Clause
"""Imports from amaranth-soc, collected in one module.

The registry's package of that name is an empty placeholder; ``luna_soc`` puts the real library on
the path when it is imported. Never import ``luna_soc.gateware.vendor``: that is a second copy whose
classes do not match these.
"""

import luna_soc  # noqa: F401  (its import makes ``amaranth_soc`` importable)
from amaranth_soc import csr, wishbone
from amaranth_soc.memory import MemoryMap
from amaranth_soc.wishbone import sram

__all__ = ["MemoryMap", "csr", "sram", "wishbone"]
