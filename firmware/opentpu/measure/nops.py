# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of a NOP on the virtual boards, from the difference between programs with many and with
few NOPs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....gateware.cores.opentpu.isa import ISA
from ....tools.measure import Choice, Differs, Row

if TYPE_CHECKING:
    from ....tools.targets import Target

__all__ = ["BOARDS", "cycles_of_nops", "nop_rows"]

#: Board -> bound: cycles of a word of 14 bytes on its memory.
BOARDS = {"ulx3s-85f": 7, "orangecrab-85f": 1.75, "icebreaker": 3.5, "hx8k-breakout": 3.5}
_FEW, _AT = 100, 0x100
_WORD = 14


def cycles_of_nops(target: Target, count: int) -> int:
    """Cycles of a program with ``count`` NOPs and HLT."""
    data = bytes(_WORD * count) + bytes([ISA.opcodes["HLT"]]) + bytes(_WORD - 1)
    target.write(_AT, data)
    outcome = target.run({"program_address": _AT, "program_length": len(data)})
    if outcome.status != "done":
        raise Differs(f"the run ended as {outcome.status}, {outcome.fault}")
    return outcome.counters["cycles"]


def nop_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the boards. The bounds are the memories' full bandwidths, so they are not
    required."""
    from ....tools.targets import open_target

    for board, limit in BOARDS.items():
        if not choice.takes(board):
            continue
        with open_target(f"sim:{board}/opentpu") as target:
            room = (target.info.memory_size - _AT) // _WORD - 1 - _FEW
            count = min(choice.settings["count"], room // 10 * 10)
            cycles = cycles_of_nops(target, _FEW + count) - cycles_of_nops(target, _FEW)
        yield Row(board, cycles / count, "cycles a NOP", more={"the memory's limit": limit})
