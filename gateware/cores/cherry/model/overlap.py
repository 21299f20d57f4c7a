# SPDX-License-Identifier: BSD-2-Clause
"""Overlap checker: what prefetched and deferred steps promise not to touch beside a program
(specification, section 7.3)."""

import numpy as np

from ....isa.outcome import UndefinedResult
from ..image import FILL, IN

__all__ = ["Overlap", "Promises", "Touched"]


class Overlap(UndefinedResult):
    """A step is marked prefetch or defer, and its transfers touch what runs beside them: a core's
    result would depend on timing."""


class Touched:
    """What a list or a program touched: elements of MEM, ranges of main memory."""

    def __init__(self, elements):
        self.mem_read, self.mem_written = np.zeros(elements, bool), np.zeros(elements, bool)
        self.main_read, self.main_written = [], []

    def note(self, op, at, main, size):
        """A row of a transfer."""
        if op == FILL:
            self.mem_written[at] = True
        elif op == IN:
            self.mem_written[at] = True
            self.main_read.append((main, main + size))
        else:
            self.mem_read[at] = True
            self.main_written.append((main, main + size))


class Promises:
    """Follows the steps of a run; told of each part in the order of its meaning."""

    def __init__(self, elements):
        self._elements = elements
        self._program = self._out = (
            None  # of the last step: what its program and its out list touched
        )
        self._deferred = None  # out list of the step before, if it may still run

    def new(self):
        """A :class:`Touched` for the next list or program."""
        return Touched(self._elements)

    def in_list(self, step, prefetch, touched):
        """In list of ``step``; refuses it where it is prefetched and touches what runs beside
        it."""
        if prefetch and self._program is not None:
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

    def program(self, step, touched):
        """Program of ``step``."""
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

    def out_list(self, defer, touched):
        """Out list of the step whose program was told last."""
        self._out = touched
        self._deferred = touched if defer else None
