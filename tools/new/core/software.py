# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Template: ``.s`` is assembled, ``.bin`` is loaded as it is."""

from quintet.gateware.isa.software import Software

from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(ISA)
