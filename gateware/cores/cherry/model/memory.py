# SPDX-License-Identifier: BSD-2-Clause
"""Main memory as the golden model reaches it: words inside the memory window."""
import numpy as np

from .program import CherryFault

__all__ = ["MainMemory"]


class MainMemory:
    """Words of ``memory`` (numpy uint8) from ``base`` to ``limit`` - 1.

    Methods take ``pc``, the byte address that a fault names, and raise :class:`~.program.CherryFault`: ``window`` with the first
    byte address outside; ``bus`` where the window lies past the memory's end.
    """
    def __init__(self, memory, base, limit, trace=None):
        self.memory, self.base, self.limit, self.trace = memory, base, limit, trace

    def check(self, address, words, pc):
        """Refuses a range that is not inside the window."""
        end = address + 4 * words
        if address < self.base or address >= self.limit:
            raise CherryFault("window", address, pc=pc)
        if end > self.limit:
            raise CherryFault("window", self.limit, pc=pc)
        if end > len(self.memory):
            raise CherryFault("bus", max(address, len(self.memory)), pc=pc)

    def word(self, address, pc):
        """One word."""
        self.check(address, 1, pc)
        return int.from_bytes(self.memory[address:address + 4].tobytes(), "little")

    def words(self, address, count, pc):
        """``count`` words as an int64 array."""
        self.check(address, count, pc)
        return self.memory[address:address + 4 * count].view("<u4").astype(np.int64)

    def store(self, address, words, pc):
        """Writes words."""
        self.check(address, len(words), pc)
        self.memory[address:address + 4 * len(words)] = np.asarray(words).astype("<u4").view(np.uint8)
        if self.trace is not None:
            self.trace(pc, address, 4 * len(words))
