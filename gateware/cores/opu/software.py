# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of the OPU: suffixes of their files, warnings about whole programs, and checks of
jobs."""

from ...isa.software import FileForm, Software
from .asm.lint import check_job, lint
from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(
    ISA,
    forms={
        ".s": FileForm("assembly", doc="assembly"),
        ".bin": FileForm("binary", doc="32-bit little-endian words, nothing else"),
    },
    lint=lint,
    check_job=check_job,
)
