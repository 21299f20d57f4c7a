# SPDX-License-Identifier: BSD-2-Clause
"""Overlap checker: prefetched and deferred transfers must not touch data of the program that runs
at the same time (specification, section 7.3)."""

from __future__ import annotations

import numpy as np

from ....isa.outcome import UndefinedResult
from ..image import FILL, IN

__all__ = ["Overlap", "Promises", "Touched"]


class Overlap(UndefinedResult):
    """Error: a prefetched or deferred transfer touches data of the overlapping program, so that a
    core's result would depend on timing."""


class Touched:
    """Memory footprint of a list or program: elements of MEM, ranges of main memory."""

    def __init__(self, elements: int) -> None:
        self.mem_read, self.mem_written = np.zeros(elements, bool), np.zeros(elements, bool)
        self.main_read: list[tuple[int, int]] = []
        self.main_written: list[tuple[int, int]] = []

    def note(self, op: int, at: np.ndarray, main: int, size: int) -> None:
        """Adds a row of a transfer."""
        if op == FILL:
            self.mem_written[at] = True
        elif op == IN:
            self.mem_written[at] = True
            self.main_read.append((main, main + size))
        else:
            self.mem_read[at] = True
            self.main_written.append((main, main + size))


class Promises:
    """Overlap checker of a run: receives the footprint of each list and program, in program
    order."""

    def __init__(self, elements: int) -> None:
        self._elements = elements
        # Footprint of the last step: its program and its out list.
        self._program: Touched | None = None
        self._out: Touched | None = None
        # Out list of the step before, if it may still run.
        self._deferred: Touched | None = None

    def new(self) -> Touched:
        """Creates the :class:`Touched` of the next list or program."""
        return Touched(self._elements)

    def in_list(self, step: int, prefetch: bool, touched: Touched) -> None:
        """Records the in list of ``step``; raises an error if it is prefetched and touches data of
        the overlapping program."""
        if prefetch and self._program is not None and self._out is not None:
            mem = touched.mem_read | touched.mem_written
            beside = (
                self._program.mem_read
                | self._program.mem_written
                | self._out.mem_read
                | self._out.mem_written
            )
            if (mem & beside).any():
                raise Overlap(
                    f"step {step} is prefetched, but its in list touches element "
                    f"{int((mem & beside).argmax()):#x} of MEM, "
                    f"which step {step - 1} uses"
                )
            for low, high in touched.main_read:
                for other_low, other_high in self._out.main_written:
                    if low < other_high and other_low < high:
                        raise Overlap(
                            f"step {step} is prefetched, but its in list reads main memory at "
                            f"{max(low, other_low):#x}, "
                            f"which the out list of step {step - 1} writes"
                        )

    def program(self, step: int, touched: Touched) -> None:
        """Records the program of ``step``."""
        if self._deferred is not None:
            out = self._deferred
            for both, does, other in (
                (touched.mem_written & out.mem_read, "writes", "reads"),
                ((touched.mem_read | touched.mem_written) & out.mem_written, "uses", "writes"),
            ):
                if both.any():
                    raise Overlap(
                        f"step {step - 1} is deferred, but step {step} {does} element "
                        f"{int(both.argmax()):#x} of MEM, which its "
                        f"out list {other}"
                    )
        self._program = touched

    def out_list(self, defer: bool, touched: Touched) -> None:
        """Records the out list of the step whose program was recorded last."""
        self._out = touched
        self._deferred = touched if defer else None
