# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of the template core: ``.s`` is assembled, ``.bin`` is loaded unchanged."""

from quintet.gateware.isa.software import Software

from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(ISA)
