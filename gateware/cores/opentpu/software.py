# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of OpenTPU: suffixes of their files, and warnings about whole programs."""

from ...isa.software import FileForm, Software
from .asm.lint import lint
from .asm.nops import pad_nops, strip_nops
from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(
    ISA,
    forms={
        ".a": FileForm("assembly", doc="assembly, the published suffix"),
        ".s": FileForm("assembly", doc="assembly"),
        ".out": FileForm("binary", doc="14-byte words one after another, the published suffix"),
        ".bin": FileForm("binary", doc="the same"),
    },
    lint=lint,
    passes={"strip-nops": strip_nops, "pad-nops": pad_nops},
)
