# SPDX-License-Identifier: BSD-2-Clause
"""Cycle estimates of a program from the timing of its instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base import LoweringError
from ..program import ProgramWriter
from .clocks import BEAT
from .timing import simulate

if TYPE_CHECKING:
    from ....quantised import Quantised
    from ..fused import FusedGroup

__all__ = ["load_cycles", "simulated_cycles", "program_cycles", "written"]

#: Cycles of LOAD: always; for a group whose entry waits among the bursts of all cores' first code,
#: and for one that is read alone.
_LOAD, _LOAD_GROUP, _LOAD_ALONE = 600, 500, 150
#: Share of its peak that main memory gives to bursts in a row.
_STREAM = 0.985


def load_cycles(writer: ProgramWriter, weights: bool = False) -> int:
    """Cycles before the cores start: from the second run on, or, with ``weights``, of a run that
    fills the arrays."""
    groups = [group for core in writer.cores for group in core.groups]
    # The cores fill their buffers of code meanwhile.
    code = (
        sum(min(4 * len(core.words), 8 * writer.params["prefetch_words"]) for core in writer.cores)
        / BEAT
    )
    waiting = min(len(groups), int(code / _LOAD_GROUP))
    found = _LOAD + _LOAD_GROUP * waiting + _LOAD_ALONE * (len(groups) - waiting)
    if weights:
        columns = writer.params["xb_cols"]
        size = sum(
            -(-group.cols // columns) * columns * group.rows
            + (0 if group.bias is None else 4 * group.cols)
            for group in groups
        )
        found += round(size / BEAT / _STREAM)
    return found


def program_cycles(
    writer: ProgramWriter, weights: bool = False, most: float = float("inf")
) -> list[tuple[float, int]]:
    """Cycles and main memory bytes of each stretch of a written program; LOAD counts to the first.
    ``weights``: see :func:`load_cycles`. Empty for a program of ``most`` cycles or more."""
    cores = writer.cores
    marks = [[after[k] for _, _, after in writer.stretches] for k in range(len(cores))]
    ends = simulate(
        [core.words for core in cores],
        [core.groups for core in cores],
        marks,
        writer.params,
        load_cycles(writer, weights),
        BEAT,
        most,
    )
    return [
        (round(end - before), moved)
        for (before, _), (end, moved) in zip([(0, 0), *ends], ends, strict=False)
    ]


def written(
    quantised: Quantised, params: Mapping[str, Any], fused: Sequence[FusedGroup]
) -> ProgramWriter | None:
    """Writes the program with the fused groups ``fused`` and returns its
    :class:`~..program.ProgramWriter`; ``None`` if that is impossible."""
    writer = ProgramWriter(quantised, params, fused)
    try:
        writer.place_all(1 << 20)
        writer.write()
    except LoweringError:
        return None
    return writer


def simulated_cycles(
    quantised: Quantised,
    params: Mapping[str, Any],
    fused: Sequence[FusedGroup],
    most: float = float("inf"),
) -> float:
    """Simulated cycles of the program with the fused groups ``fused``; infinite if it cannot be
    written or takes ``most`` cycles or more."""
    writer = written(quantised, params, fused)
    if writer is None:
        return float("inf")
    stretches = program_cycles(writer, most=most)
    return sum(cycles for cycles, _ in stretches) if stretches else float("inf")
