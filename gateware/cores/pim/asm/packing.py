# SPDX-License-Identifier: BSD-2-Clause
"""Packed code form of a program (specification, section 3.3)."""

from dataclasses import replace

from ....isa.asm.program import Program
from ....isa.parameters import Params
from ....isa.software import Software
from ..image.image import CodeError, Image, code_of, words_of
from .listing import image_of

__all__ = ["pack", "pack_program"]


def pack(image: Image) -> tuple[Image, list[str]]:
    """Converts an image so that the code of all cores is packed.

    Returns
    -------
    (Image, list of str)
        Notes say which cores were left as they are, and why: code that has no packed form, or does
        not end with its last instruction.
    """
    cores, notes = [], []
    for number, core in enumerate(image.cores):
        words, offsets = words_of(core.code, core.mode, core.count)
        try:
            if len(words) != core.count or offsets[-1] != len(core.code):
                raise CodeError(len(words), "the code does not end with its last instruction")
            cores.append(replace(core, mode=2, code=code_of(words, 2)))
        except CodeError as error:
            cores.append(core)
            notes.append(f"core {number} is left as it is: instruction {error.index}: {error}")
    return replace(image, cores=cores), notes


def pack_program(software: Software, program: Program, params: Params | None = None) -> Program:
    """Implements the pass ``packed`` of ``quintet asm``: returns a ``Program`` of the packed
    image."""
    from ....isa.asm.errors import AsmWarning
    from ....isa.asm.program import Program
    from ..exchange.importing import whole_file

    image, _ = image_of(program.data, params)
    packed, notes = pack(image)
    before, after = (sum(len(c.code) for c in one.cores) for one in (image, packed))
    notes.append(f"{before:,} bytes of code, now {after:,}")
    return Program(
        packed.data(),
        [*program.warnings, *(AsmWarning(whole_file("packed"), note) for note in notes)],
    )
