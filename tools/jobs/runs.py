# SPDX-License-Identifier: BSD-2-Clause
"""The programs of a job: run one after another on one target, without a reset between them."""

from dataclasses import dataclass, field
from pathlib import Path

from ...gateware.isa.outcome import Outcome

__all__ = ["Run", "Source", "Step", "total"]


@dataclass(frozen=True, eq=False)
class Source:
    """A program in any form of the ISA that lies in no file yet; a job that is saved has it beside
    it.

    Attributes
    ----------
    name : str, of the file, its suffix that of the form
    text : str or bytes
    beside : dict, name -> contents of the files that the program names,
        as :func:`~.arrays.encode` takes them
    """

    name: str
    text: object
    beside: dict = field(default_factory=dict)

    @property
    def files(self):
        """name -> contents of all files."""
        return {**self.beside, self.name: self.text}


@dataclass(frozen=True)
class Run:
    """One program of a job.

    Attributes
    ----------
    program : path of a program in any form of the ISA, :class:`Source`, or bytes in its binary form
    at : int, byte address in main memory
    registers : dict, written before this program starts; they stay for those after it
    """

    program: object
    at: int
    registers: dict = field(default_factory=dict)

    def __post_init__(self):
        if not isinstance(self.program, (bytes, bytearray, Source)):
            object.__setattr__(self, "program", Path(self.program))

    @property
    def name(self):
        """For messages and reports: the file's name."""
        return "program" if isinstance(self.program, (bytes, bytearray)) else self.program.name


@dataclass(frozen=True)
class Step:
    """A :class:`Run` made ready for one target.

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
    program: object
    at: int
    registers: dict

    def source(self, pc):
        """``(file, line)`` of the instruction at byte address ``pc``, or ``None``."""
        return (getattr(self.program, "lines", None) or {}).get(pc - self.at)


def total(outcomes):
    """The :class:`Outcome` of all runs together: end and registers of the last, counters added
    up."""
    if len(outcomes) == 1:
        return outcomes[0]
    counters = {}
    for outcome in outcomes:
        for name, value in outcome.counters.items():
            counters[name] = counters.get(name, 0) + value
    last = outcomes[-1]
    return Outcome(last.status, last.fault, counters, dict(last.values), last.notes)
