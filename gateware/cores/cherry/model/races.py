# SPDX-License-Identifier: BSD-2-Clause
"""Checks for undefined results: prefetched and deferred transfers must not touch data of the
program that runs at the same time (specification, section 7.3), nor iterations of an independent
loop each other's elements (4.6)."""

from __future__ import annotations

import numpy as np

from ....isa.outcome import UndefinedResult
from ..image import FILL, IN

__all__ = ["Overlap", "Promises", "Race", "Races", "Touched"]


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


#: Reader or writer that stands for all iterations (a uniform load), and one that is none.
_ALL, _NONE = -1, 0


class Race(UndefinedResult):
    """Error: two iterations of an independent loop access the same element of MEM, and at least one
    writes it, so that the result is undefined. ``index``: instruction of the access."""

    index: int


class Races:
    """Race checker: records which iteration wrote and read each element of MEM in the current loop.

    Iterations are distinguished by marks, which no later loop uses again, so that nothing need be
    cleared between loops. Of the readers two are kept, the first and one other: whoever writes
    meets one of them, unless it is the only one.
    """

    def __init__(self, elements: int) -> None:
        self._writer = np.zeros(elements, np.int64)
        self._reader = np.zeros(elements, np.int64)
        self._other_reader = np.zeros(elements, np.int64)
        self._reader_loop = np.zeros(elements, np.int64)
        self._base = self._next = 1
        self._loop = 0

    def start(self, count: int) -> None:
        """Starts an independent loop of ``count`` iterations."""
        self._base = self._next
        self._next = self._base + count
        self._loop += 1

    def read(self, addresses: np.ndarray, iteration: int | None) -> None:
        """Records a read of ``addresses`` by ``iteration``; ``None``: by all together."""
        mark = _ALL if iteration is None else self._base + iteration
        writer = self._writer[addresses]
        self._refuse(
            addresses, (writer >= self._base) & (writer != mark), mark, "reads", writer, "writes"
        )
        known = self._reader_loop[addresses] == self._loop
        first = np.where(known, self._reader[addresses], mark)
        self._other_reader[addresses] = np.where(
            first != mark, mark, np.where(known, self._other_reader[addresses], _NONE)
        )
        self._reader[addresses] = first
        self._reader_loop[addresses] = self._loop

    def read_by_each(self, addresses: np.ndarray, first: int) -> None:
        """Records reads of ``addresses[k]`` by iteration ``first`` + k, in this order."""
        count = len(addresses)
        marks = self._base + np.arange(first, first + count)
        marks = np.broadcast_to(marks.reshape(-1, *(1,) * (addresses.ndim - 1)), addresses.shape)
        writer = self._writer[addresses]
        wrong = (writer >= self._base) & (writer != marks)
        if wrong.any():
            bad = int(wrong.reshape(count, -1).any(axis=1).argmax())
            self._refuse(
                addresses[bad], wrong[bad], int(marks[bad].flat[0]), "reads", writer[bad], "writes"
            )
        # Where an element has several readers, the last assignment counts: the first reader's is
        # made last.
        new = self._reader_loop[addresses] != self._loop
        unknown = addresses[new]
        self._reader[unknown[::-1]] = marks[new][::-1]
        self._other_reader[unknown] = _NONE
        self._reader_loop[unknown] = self._loop
        others = self._reader[addresses] != marks
        self._other_reader[addresses[others]] = marks[others]

    def write(self, addresses: np.ndarray, iteration: int) -> None:
        """Records a write of ``addresses`` by ``iteration``."""
        mark = self._base + iteration
        writer = self._writer[addresses]
        self._refuse(
            addresses, (writer >= self._base) & (writer != mark), mark, "writes", writer, "writes"
        )
        known = self._reader_loop[addresses] == self._loop
        for readers in (self._reader[addresses], self._other_reader[addresses]):
            self._refuse(
                addresses,
                known & (readers != mark) & (readers != _NONE),
                mark,
                "writes",
                readers,
                "reads",
            )
        self._writer[addresses] = mark

    def _refuse(self, addresses, wrong, mark, does, others, did):
        if wrong.any():
            at = int(np.asarray(addresses)[wrong].flat[0])
            other = int(others[wrong].flat[0])
            raise Race(
                f"{self._name(mark)} of an independent loop {does} element {at:#x} of MEM, "
                f"which {self._name(other)} {did}"
            )

    def _name(self, mark):
        return "every iteration" if mark == _ALL else f"iteration {mark - self._base}"
