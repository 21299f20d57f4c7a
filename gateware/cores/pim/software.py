# SPDX-License-Identifier: BSD-2-Clause
"""Program formats of PIM: images and their text, import and export of the published forms, and the
pass that packs code."""

from functools import cache

from ...isa.software import FileForm, Software
from .asm.directives import DIRECTIVES
from .asm.explain import explain
from .asm.joblint import check_job
from .asm.linking import link
from .asm.listing import listing
from .asm.packing import pack_program
from .asm.quicktext import QuickText
from .exchange.exporting import write_folder, write_json
from .exchange.importing import IMPORTS, read_form
from .isa import ISA

__all__ = ["SOFTWARE"]

SOFTWARE = Software(
    ISA,
    forms={
        ".s": FileForm("assembly", doc="assembly"),
        ".bin": FileForm("binary", doc="program image: header, tables, code, weights and biases"),
        ".json": FileForm(
            "json",
            read_form,
            write_json,
            doc="published JSON dialect; groups from groups.json[.gz] beside it",
        ),
        ".json.gz": FileForm("json", read_form, write_json, doc="the same, compressed"),
        # Compilers name the same file ``SimulationInfo.gz``.
        ".gz": FileForm("json", read_form, write_json, doc="the same"),
        ".pim": FileForm("container", read_form, doc="record container of one core, core_<id>.pim"),
        "/": FileForm(
            "container",
            read_form,
            write_folder,
            doc="folder of core_<id>.pim, config.json and groups.json",
        ),
    },
    directives=(*DIRECTIVES, *IMPORTS),
    # Building the reader of plain lines takes a while: once is enough.
    bulk=cache(QuickText),
    link=link,
    listing=listing,
    passes={"packed": pack_program},
    check_job=check_job,
    explain=explain,
)
