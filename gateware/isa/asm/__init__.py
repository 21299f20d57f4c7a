# SPDX-License-Identifier: BSD-2-Clause
"""Assembler and disassembler of all instruction sets, driven by their tables
(docs/how/assembler.md)."""

from .assembler import assemble, assemble_text
from .disassembler import disassemble
from .errors import AsmError, AsmWarning
from .files import load_program, save_program
from .program import Program, SourceLine

__all__ = [
    "AsmError",
    "AsmWarning",
    "Program",
    "SourceLine",
    "assemble",
    "assemble_text",
    "disassemble",
    "load_program",
    "save_program",
]
