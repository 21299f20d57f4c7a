# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Cherry: images and program lists, their directives and their disassembly."""
from ..software import FileForm, Software
from .assembly import DIRECTIVES, link
from .isa import ISA
from .listing import listing

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
