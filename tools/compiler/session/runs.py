# SPDX-License-Identifier: BSD-2-Clause
"""Runs of a plan's programs: start, wait, counters and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ...errors import Exit, QuintetError

if TYPE_CHECKING:
    from ....gateware.isa.outcome import Outcome
    from ...targets.base import Target
    from ..backends.base import Lowered
    from ..plan.plan import CoreStep

__all__ = ["EVERY", "RunFailed", "Runs"]

#: Counters are read after one of this many runs that take turns, since the core waits for the link
#: meanwhile.
EVERY = 16


class RunFailed(QuintetError):
    """Error of a program that ended with a fault, described by ``outcome``."""

    code = Exit.FAULT

    def __init__(self, message: str, outcome: Outcome):
        super().__init__(message)
        self.outcome = outcome


class Runs:
    """Runs programs on a target, one at a time.

    Parameters
    ----------
    network : name of it, for messages
    target : Target
    """

    def __init__(self, network: str, target: Target):
        self.network = network
        self.target = target
        self._last: CoreStep | None = None
        self._sums: Counter[str] = Counter()
        self._runs = 0
        self._read = 0

    @contextmanager
    def running(
        self, step: CoreStep, lowered: Lowered, number: int, counted: bool = True
    ) -> Iterator[None]:
        """Context manager around run ``number`` of a step's program: starts it, executes the body
        meanwhile and waits at the end; the core is idle afterwards even if the body raises.
        ``counted``: read the core's counters."""
        # Registers that a run has left in the core serve the next, if it ended well and no other
        # program comes between.
        registers = {**lowered.registers, **(lowered.again if self._last is step else {})}
        self._last = None
        with self.about(lowered, number, "begun"):
            self.target.start(registers)
        try:
            yield
            with self.about(lowered, number, "run"):
                outcome = self.target.wait(counters=counted)
        except BaseException:
            with suppress(Exception):  # only the first error is reported
                self.target.stop()
            raise
        self.check(lowered, outcome, number)
        self._last = step
        self._runs += 1
        if counted:
            self._read += 1
            self._sums.update(outcome.counters)

    def is_last(self, step: CoreStep) -> bool:
        """Whether the last run was of ``step``, so that its constants and registers are still in
        place."""
        return self._last is step

    def start_list(self, lowered: Lowered, address: int, size: int, number: int) -> None:
        """Starts a list of runs, beginning with run ``number`` of a step's program."""
        self._last = None
        with self.about(lowered, number, "begun"):
            self.target.start_list(address, size)

    def wait_list(self, step: CoreStep, number: int, count: int) -> None:
        """Waits for a list of ``count`` runs, beginning with run ``number``; raises
        :class:`RunFailed` if any of them ended with a fault. The counters of the last run represent
        all."""
        from ....gateware.standalone.runlist import ListStatus
        from ...link.errors import LinkError

        lowered = step.lowered
        with self.about(lowered, number, "run"):
            found = self.target.wait_list()
        if found.status != ListStatus.ENDED:
            failed = number + max(found.runs - 1, 0)
            if found.last is not None:
                self.check(lowered, found.last, failed)
            raise LinkError(
                f"{self.target.name}: the list of runs of {self._inputs(lowered, failed)} ended "
                f"at {found.position:#x} with status {int(found.status):#x}: expected "
                f"{int(ListStatus.ENDED):#x}"
            )
        assert found.last is not None and found.runs == count
        self._last = step
        self._runs += count
        self._read += 1
        self._sums.update(found.last.counters)

    def setup(self, lowered: Lowered, data: bytes, address: int) -> None:
        """Executes a setup program once."""
        outcome = self.target.run(
            {**lowered.registers, "program_address": address, "program_length": len(data)}
        )
        self.check(lowered, outcome)

    def counters(self) -> dict[str, int]:
        """Counters of all runs since the last call, summed; runs that were not read are
        extrapolated from those that were."""
        share = self._runs / self._read if self._read else 0
        found = {name: round(value * share) for name, value in self._sums.items()}
        self._sums, self._runs, self._read = Counter(), 0, 0
        return found

    @contextmanager
    def about(self, lowered: Lowered, number: int, what: str) -> Iterator[None]:
        """Context manager that adds to a link error which input it concerned and ``what`` was being
        done."""
        from ...link.errors import LinkError

        try:
            yield
        except LinkError as error:
            error.args = (f"{self._inputs(lowered, number)} being {what}: {error}", *error.args[1:])
            raise

    def check(self, lowered: Lowered, outcome: Outcome, number: int | None = None) -> None:
        """Raises :class:`RunFailed` unless the run ended without a fault."""
        if outcome.status == "done":
            return
        network = self.network if number is None else self._inputs(lowered, number)
        if outcome.fault is None:
            raise RunFailed(
                f"{self.target.name}: the run of {network} ended {outcome.status}", outcome
            )
        fault = outcome.fault
        span = next(
            (
                s
                for s in lowered.layers
                if s.begin is not None and s.end is not None and s.begin <= fault.pc < s.end
            ),
            None,
        )
        where = f", in layer {span.name}" if span else ""
        raise RunFailed(
            f"{self.target.name}: {network}: fault {fault.name} ({fault.code}) at pc "
            f"{fault.pc:#x}{where}, detail {fault.detail:#x}",
            outcome,
        )

    def _inputs(self, lowered, number):
        first = number * lowered.images
        return f"{self.network}, " + (
            f"one of {lowered.images} inputs from {first} on"
            if lowered.images > 1
            else f"input {first}"
        )
