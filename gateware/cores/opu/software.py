# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the OPU: suffixes of their files, warnings about whole programs, checks of jobs."""
from ..software import FileForm, Software
from .isa import ISA
from .lint import check_job, lint

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
