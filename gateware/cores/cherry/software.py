# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of Cherry: images and program lists, with their directives and disassembly."""

from ...isa.software import FileForm, Software
from .asm.assembly import DIRECTIVES, link
from .asm.listing import listing
from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(
    ISA,
    forms={
        ".s": FileForm("assembly", doc="assembly"),
        ".bin": FileForm("binary", doc="program image (CHRY) or program list (CHRL)"),
    },
    directives=DIRECTIVES,
    link=link,
    listing=listing,
)
