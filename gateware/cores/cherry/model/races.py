# SPDX-License-Identifier: BSD-2-Clause
"""Race checker: iterations of an independent loop that access each other's elements
(specification, section 4.6)."""

import numpy as np

from ....isa.outcome import UndefinedResult

__all__ = ["Race", "Races"]

#: Reader or writer that stands for all iterations (a uniform load), and one that is none.
_ALL, _NONE = -1, 0


class Race(UndefinedResult):
    """Error: two iterations of an independent loop access the same element of MEM, and at least one
    writes it, so that the result is undefined. ``index``: instruction of the access."""

    index: int


class Races:
    """Race checker: records which iteration wrote and read each element of MEM in the current loop.

    Iterations are told apart by marks, which no later loop uses again, so that nothing need be
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
