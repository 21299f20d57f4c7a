# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of IMAGine's programs without hardware, by the formulas of the golden model."""

from collections.abc import Mapping, Sequence
from typing import Any

from quintet.gateware.cores.imagine.model.cycles import estimate

__all__ = ["program_cycles"]

#: Cycles of the main clock that main memory of 16 bits takes for a word of the program, refresh
#: included.
_WORD = 2.05


def program_cycles(words: Sequence[int], params: Mapping[str, Any], clock_ratio: float) -> int:
    """Cycles of the array for a program: its instructions (section 10) or the fetch of its words,
    whichever takes longer. ``clock_ratio``: cycles of the array per cycle of the main clock."""
    return round(max(estimate(words, params), _WORD * len(words) * clock_ratio))
