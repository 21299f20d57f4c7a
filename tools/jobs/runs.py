# SPDX-License-Identifier: BSD-2-Clause
"""Programs of a job, which run one after another on one target, without a reset in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ...gateware.isa.outcome import Outcome

__all__ = ["Run", "Source", "Step", "total"]


class LoadedProgram(Protocol):
    """A program in binary form, as ``load_program`` returns it.

    A ``lines`` attribute, if there is one, maps byte offsets of instructions to
    ``(file, line)``.
    """

    @property
    def data(self) -> bytes: ...

    @property
    def warnings(self) -> Sequence[object]: ...


@dataclass(frozen=True, eq=False)
class Source:
    """A program in any form of the ISA that is not a file yet; saving the job writes it to a file.

    Attributes
    ----------
    name : str, of the file, its suffix that of the form
    text : str or bytes
    beside : dict, name -> contents of the files that the program names,
        as :func:`~.arrays.encode` takes them
    """

    name: str
    text: str | bytes
    beside: dict[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, Any]:
        """Name -> contents of all files."""
        return {**self.beside, self.name: self.text}


#: A program: the path of a file, a :class:`Source`, or its binary form.
ProgramSource: TypeAlias = str | Path | Source | bytes


@dataclass(frozen=True)
class Run:
    """One program of a job.

    Attributes
    ----------
    program : path of a program in any form of the ISA, :class:`Source`, or bytes in its binary form
    at : int, byte address in main memory
    registers : dict, written before this program starts; they stay for those after it
    """

    program: ProgramSource
    at: int
    registers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        if not isinstance(self.program, (bytes, bytearray, Source)):
            object.__setattr__(self, "program", Path(self.program))

    @property
    def name(self) -> str:
        """Name for messages and reports: the name of the program's file."""
        return self.program.name if isinstance(self.program, (Path, Source)) else "program"


@dataclass(frozen=True)
class Step:
    """A program (:class:`Run`) resolved for one target.

    Attributes
    ----------
    name, what : str, as :class:`Run`, and for messages: ``the program``,
        or with its place in the job
    program : what ``load_program`` gives (``data``, ``warnings``, ``lines``)
    at : int, byte address
    registers : dict, to be written before the start,
        ``program_address`` and ``program_length`` included
    """

    name: str
    what: str
    program: LoadedProgram
    at: int
    registers: dict[str, int]

    def source(self, pc: int) -> tuple[str, int] | None:
        """Source position ``(file, line)`` of the instruction at byte address ``pc``, or
        ``None``."""
        return (getattr(self.program, "lines", None) or {}).get(pc - self.at)


def total(outcomes: Sequence[Outcome]) -> Outcome:
    """Combines the outcomes of all runs: status and registers of the last, sums of the counters."""
    if len(outcomes) == 1:
        return outcomes[0]
    counters: dict[str, int] = {}
    for outcome in outcomes:
        for name, value in outcome.counters.items():
            counters[name] = counters.get(name, 0) + value
    last = outcomes[-1]
    return Outcome(last.status, last.fault, counters, dict(last.values), last.notes)
