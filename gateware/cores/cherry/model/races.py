# SPDX-License-Identifier: BSD-2-Clause
"""Race checker: iterations of an independent loop that touch each other's elements (specification, section 4.6)."""
import numpy as np

__all__ = ["Race", "Races"]

#: Reader that stands for several iterations, or for all of them (a uniform load).
_MANY = -1


class Race(Exception):
    """Two iterations of an independent loop share an element of MEM, and one of them writes it: its result is not defined."""


class Races:
    """Who wrote and read each element of MEM in the loop that runs.

    Iterations are told apart by marks, which no later loop uses again, so that nothing need be cleared between loops.
    """
    def __init__(self, elements):
        self._writer = np.zeros(elements, np.int64)
        self._reader = np.zeros(elements, np.int64)
        self._reader_loop = np.zeros(elements, np.int64)
        self._base = 1
        self._loop = 0

    def start(self, count):
        """An independent loop of ``count`` iterations begins."""
        self._base = self._next if self._loop else 1
        self._next = self._base + count
        self._loop += 1

    def read(self, addresses, iteration):
        """``addresses`` are read by ``iteration``; ``None``: once for all."""
        mark = _MANY if iteration is None else self._base + iteration
        writer = self._writer[addresses]
        self._refuse(addresses, (writer >= self._base) & (writer != mark), iteration)
        same = (self._reader_loop[addresses] == self._loop) & (self._reader[addresses] != mark)
        self._reader[addresses] = np.where(same, _MANY, mark)
        self._reader_loop[addresses] = self._loop

    def write(self, addresses, iteration):
        """``addresses`` are written by ``iteration``."""
        mark = self._base + iteration
        writer = self._writer[addresses]
        read = (self._reader_loop[addresses] == self._loop) & (self._reader[addresses] != mark)
        self._refuse(addresses, ((writer >= self._base) & (writer != mark)) | read, iteration)
        self._writer[addresses] = mark

    def _refuse(self, addresses, wrong, iteration):
        if wrong.any():
            at = int(np.asarray(addresses)[wrong].flat[0])
            who = "a load of all iterations" if iteration is None else f"iteration {iteration}"
            raise Race(f"{who} and another one share element {at:#x} of MEM, and one of them writes it")
