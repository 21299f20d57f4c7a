# SPDX-License-Identifier: BSD-2-Clause
"""Fault-injection campaign: the share of injected faults that a check detects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...boards.virtual.cache import BuildCache
from . import trail as trails
from .check import Subject
from .conversation import compare, converse
from .faults import draw_faults
from .netlist import NetlistError
from .registers.reference import follow, make_reference, words

if TYPE_CHECKING:
    from .simulation import NetlistSimulation

    pass

__all__ = ["VERDICTS", "Injected", "inject"]

#: Outcomes of a fault, worst last.
VERDICTS = ("found", "unused", "masked", "silent")


@dataclass(frozen=True)
class Injected:
    """Result of one injected fault.

    Attributes
    ----------
    kind, cell, what : as of :class:`~.faults.Fault`
    verdict : ``found``: the check fails. ``unused``:
        the inputs for which a table is wrong never occur, or the row of a memory is never read.
        ``masked``: they do, and no other register or memory and no pin ever differs from the
        fault-free netlist's. ``silent``: something in it differs, but nothing that a host observes
    found : how it was seen; of a silent one, what differs, and when
    """

    kind: str
    cell: str
    what: str
    verdict: str
    found: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Silent:
    """A silent fault: its index among the results, the difference, and the register contents at
    that time."""

    place: int
    differences: trails.Differences
    registers: np.ndarray


def inject(
    folder: str | Path,
    count: int,
    seed: int = 1,
    every: bool = False,
    cache: BuildCache | str | Path | None = None,
    tell: Callable[[Injected], object] = lambda injected: None,
) -> list[Injected]:
    """Injects ``count`` faults into the netlist of a build, one at a time, and holds the same
    conversation with each.

    Parameters
    ----------
    folder, every, cache : as of :func:`~.check.check_build`
    seed : int, of the faults
    tell : callable(Injected), receives each result

    Returns
    -------
    list of Injected

    Raises
    ------
    NetlistError
        Even without a fault something is wrong; or as of the others.
    InputError, BuildError, NoDeviceError, ToolMissing, CompileError
        As of :func:`~.check.check_build`.
    """
    subject = Subject(folder, cache)
    faults = draw_faults(subject.netlist, count, seed)
    results: list[Injected] = []
    silent: list[_Silent] = []
    reference = make_reference(subject, every)
    sound: dict[str, Any] = {}

    def prepare(simulation: NetlistSimulation) -> None:
        sound["keep"] = trails.keep(simulation)

    def look_at_sound(simulation: NetlistSimulation) -> None:
        sound["used"], sound["trail"] = (
            [fault.used(simulation) for fault in faults],
            sound["keep"](),
        )

    good, difference = follow(subject, reference, every, prepare=prepare, look=look_at_sound)
    wrong = (
        words(subject, reference, [difference], every)
        if difference is not None
        else compare(good, reference.outcome)
    )
    if (first := next(iter(wrong), None)) is not None:
        raise NetlistError(f"the sound netlist is not: {first}")
    registers = []
    for fault, occurs in zip(faults, sound["used"], strict=True):
        verdict, found = "unused", ""
        seen: dict[str, Any] = {}
        # A cell that no input ever reaches changes nothing, and need not run.
        if occurs is not False:

            def look(simulation: NetlistSimulation, seen: dict[str, Any] = seen) -> None:
                seen["differ"], seen["registers"] = (
                    trails.differences(simulation),
                    trails.copied(simulation),
                )

            outcome, difference = follow(
                subject,
                reference,
                every,
                fault.applied(subject.netlist),
                prepare=lambda simulation: trails.follow(simulation, sound["trail"]),
                look=look,
            )
            if difference is not None:
                registers.append((len(results), difference))
            found = next(compare(outcome, good), "")
            verdict = "found" if found else "masked" if seen["differ"].none else "silent"
            if verdict == "silent":
                silent.append(_Silent(len(results), seen["differ"], seen["registers"]))
        results.append(Injected(fault.kind, fault.cell, fault.what, verdict, found))
        tell(results[-1])
    named = words(subject, reference, [difference for _, difference in registers], every)
    explained = [
        *zip([place for place, _ in registers], named, strict=True),
        *_explained(subject, silent, every),
    ]
    for place, found in explained:
        results[place] = replace(results[place], found=found)
    return results


def _explained(subject, silent, every):
    """Descriptions of silent faults, (index, text): the first register that differed, found by one
    more run of the fault-free netlist."""
    cycles = sorted({one.differences.first for one in silent} - {None})
    sound = {}
    if cycles:
        with subject.placed(seed=None) as board:
            trails.copy_after(board.simulation, cycles)
            converse(board, subject.name, every)
            sound = {
                cycle: trails.copied(board.simulation, which) for which, cycle in enumerate(cycles)
            }
    for one in silent:
        differ, words = one.differences, []
        if differ.first is not None:
            places = np.flatnonzero(one.registers != sound[differ.first])
            name = trails.register_name(subject.netlist, places[0])
            words.append(
                (
                    f"{name} differs from cycle {differ.first:,} on, for the last time in "
                    f"{differ.last:,}"
                )
                if len(places)
                else f"from cycle {differ.first:,}"
            )
        if differ.pins is not None:
            words.append(f"pins differ first in cycle {differ.pins:,}")
        yield one.place, "; ".join(words)
