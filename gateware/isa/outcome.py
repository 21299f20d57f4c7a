# SPDX-License-Identifier: BSD-2-Clause
"""Outcome of a run: status, fault report, counters. Pure Python."""

from dataclasses import dataclass, field

__all__ = ["FaultReport", "Outcome", "RunFault", "UndefinedResult"]


@dataclass(frozen=True)
class FaultReport:
    """Fault report, the reason for an early end: number and name of the fault, byte address of the
    instruction, and its detail."""

    code: int
    name: str
    pc: int
    detail: int


@dataclass
class Outcome:
    """Outcome of a run: ``status`` is ``"done"``, ``"fault"`` or ``"aborted"``; ``counters`` and
    read-only registers (``values``) by name; ``notes``: further sentences of the target."""

    status: str
    fault: FaultReport | None = None
    counters: dict[str, int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list, compare=False)


class UndefinedResult(Exception):
    """Error: a golden model has found that a program's result is undefined, so that cores may
    differ from the model.

    ``pc``: byte address of the instruction at fault, ``None`` until it is known.
    """

    def __init__(self, message: str, pc: int | None = None) -> None:
        super().__init__(message)
        self.pc = pc


class RunFault(Exception):
    """Fault that ends a run of a model: ``name`` as in ``ISA.faults``, and ``detail``, of which 32
    bits are kept.

    Where it is not the instruction at work that faults, one of these says which: ``index``, of an
    instruction in its program; ``pc``, a byte address; ``core``, number of a core.
    """

    def __init__(
        self,
        name: str,
        detail: int = 0,
        index: int | None = None,
        *,
        pc: int | None = None,
        core: int | None = None,
    ) -> None:
        super().__init__(f"{name}, detail {detail:#x}")
        self.name, self.detail, self.index, self.pc, self.core = (
            name,
            detail & 0xFFFF_FFFF,
            index,
            pc,
            core,
        )
