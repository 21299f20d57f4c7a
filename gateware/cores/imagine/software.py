# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of IMAGine: statements are calls of the published assembler class; export formats
can only be written."""

from ...isa.software import FileForm, Software
from .asm.joblint import check_job
from .asm.statements import StatementReader, listing, write_export
from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(
    ISA,
    forms={
        ".s": FileForm("assembly", doc="assembly"),
        ".bin": FileForm("binary", doc="32-bit little-endian words, nothing else"),
        ".mem": FileForm(
            "export",
            write=write_export,
            doc="binary digits with comments, for $readmemb (written only)",
        ),
        ".c": FileForm(
            "export",
            write=write_export,
            doc="C file; the program is named as the file (written only)",
        ),
        ".h": FileForm("export", write=write_export, doc="header of the C files (written only)"),
        ".hex": FileForm(
            "export",
            write=write_export,
            doc="a word of eight digits a line, for $readmemh (written only)",
        ),
    },
    check_job=check_job,
    statement_reader=StatementReader,
    listing=listing,
)
