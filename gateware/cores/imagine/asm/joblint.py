# SPDX-License-Identifier: BSD-2-Clause
"""Job checks of IMAGine, which the runner makes before a run. Pure Python."""

from collections.abc import Mapping

from ....isa.asm.program import Program
from ....isa.parameters import Params

__all__ = ["check_job"]


def check_job(program: Program, registers: Mapping[str, int], params: Params) -> None:
    """Raises an error for an output area that overlaps the program, or a source made for another
    array (sections 3.6 and 7).

    Raises
    ------
    ValueError
        The message names what does not fit, and the target's value.
    """
    for made_for in getattr(program, "extra", {}).get("imagine", ()):
        made_for.check_target(params)
    at, limit = registers.get("output_at", 0), registers.get("output_limit", 0)
    begin, size = registers["program_address"], len(program.data)
    if at < begin + size and begin < limit:
        raise ValueError(
            f"the output area {at:#x}..{limit - 1:#x} (output_at, output_limit) overlaps the "
            f"program at "
            f"{begin:#x}..{begin + size - 1:#x}"
        )
