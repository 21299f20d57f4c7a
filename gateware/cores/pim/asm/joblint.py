# SPDX-License-Identifier: BSD-2-Clause
"""Job checks of PIM (specification, sections 3.6 and 7), made before a run."""

from collections.abc import Mapping

from ....isa.asm.program import Program
from ....isa.parameters import Params
from ..image.reading import TableFault, read_tables

__all__ = ["check_job"]


def check_job(program: Program, registers: Mapping[str, int], params: Params) -> list[str]:
    """Implements the hook ``Software.check_job``. Raises ``ValueError``; returns warnings."""
    table = registers.get("core_table", 0)
    if table % 64:
        raise ValueError(f"core_table = {table:#x}, expected a multiple of 64")
    if table:
        return []
    try:
        tables = read_tables(program.data, params)
    except TableFault as fault:
        raise ValueError(f"the program does not fit this build: {fault}: fault table") from None
    base, size = tables.gmem_base, tables.gmem_size
    if registers.get("gmem_size"):
        base, size = (
            registers["gmem_base"] if "gmem_base" in registers else 0,
            registers["gmem_size"],
        )
    limit = registers.get("window_limit", 1 << 32)
    if base + size > limit or base >= limit:
        return [f"GMem, {size:#x} bytes at {base:#x}, ends past the memory window's end {limit:#x}"]
    begin = registers.get("program_address", 0)
    if size and base < begin + len(program.data) and begin < base + size:
        return [
            f"GMem, {size:#x} bytes at {base:#x}, overlaps the program, {len(program.data):#x} "
            f"bytes at {begin:#x}"
        ]
    return []
