# SPDX-License-Identifier: BSD-2-Clause
"""What a run gives, on every target alike. Pure Python."""
from dataclasses import dataclass, field

__all__ = ["FaultReport", "Outcome", "UndefinedResult"]


@dataclass(frozen=True)
class FaultReport:
    """Why a run ended early: number and name of the fault, byte address of the instruction, and its detail."""
    code: int
    name: str
    pc: int
    detail: int


@dataclass
class Outcome:
    """End of a run: ``status`` is ``"done"``, ``"fault"`` or ``"aborted"``; counters and read-only registers by name;
    ``notes``: what the target knows of the end beyond that, in sentences."""
    status: str
    fault: FaultReport | None = None
    counters: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    notes: list = field(default_factory=list, compare=False)


class UndefinedResult(Exception):
    """A golden model has found that a program's result is not defined: no core need give the one that the model would.

    ``pc``: byte address of what is to blame in the program, ``None`` until it is known.
    """
    def __init__(self, message, pc=None):
        super().__init__(message)
        self.pc = pc
