# SPDX-License-Identifier: BSD-2-Clause
"""What a run gives, on every target alike. Pure Python."""

from dataclasses import dataclass, field

__all__ = ["FaultReport", "Outcome", "RunFault", "UndefinedResult"]


@dataclass(frozen=True)
class FaultReport:
    """Why a run ended early: number and name of the fault, byte address of the instruction, and its
    detail."""

    code: int
    name: str
    pc: int
    detail: int


@dataclass
class Outcome:
    """End of a run: ``status`` is ``"done"``, ``"fault"`` or ``"aborted"``; counters and read-only
    registers by name; ``notes``: what the target knows of the end beyond that, in sentences."""

    status: str
    fault: FaultReport | None = None
    counters: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    notes: list = field(default_factory=list, compare=False)


class UndefinedResult(Exception):
    """A golden model has found that a program's result is not defined: no core need give the one
    that the model would.

    ``pc``: byte address of what is to blame in the program, ``None`` until it is known.
    """

    def __init__(self, message, pc=None):
        super().__init__(message)
        self.pc = pc


class RunFault(Exception):
    """Fault that ends a run of a model: ``name`` as in ``ISA.faults``, and ``detail``, of which 32
    bits are kept.

    Where it is not the instruction at work that faults, one of these says which: ``index``, of an
    instruction in its program; ``pc``, a byte address; ``core``, number of a core.
    """

    def __init__(self, name, detail=0, index=None, *, pc=None, core=None):
        super().__init__(f"{name}, detail {detail:#x}")
        self.name, self.detail, self.index, self.pc, self.core = (
            name,
            detail & 0xFFFF_FFFF,
            index,
            pc,
            core,
        )
