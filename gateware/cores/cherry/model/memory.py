# SPDX-License-Identifier: BSD-2-Clause
"""Main memory of the golden model, with checks against the memory window."""

import numpy as np

from ....isa.model import MemoryWindow
from ....isa.outcome import RunFault

__all__ = ["MainMemory"]


class MainMemory(MemoryWindow):
    """Main memory, accessed by words.

    Methods take ``pc``, the byte address that a fault names, and raise
    :class:`~quintet.gateware.isa.outcome.RunFault`: ``window`` with the first byte address outside;
    ``bus`` where the window lies past the memory's end.
    """

    def check(self, address: int, words: int, pc: int) -> None:
        """Raises a fault for a range outside the window."""
        for name, bad in (
            ("window", self.outside(address, 4 * words)),
            ("bus", self.beyond(address, 4 * words)),
        ):
            if bad is not None:
                raise RunFault(name, bad, pc=pc)

    def word(self, address: int, pc: int) -> int:
        """Reads one word."""
        self.check(address, 1, pc)
        return int.from_bytes(self.memory[address : address + 4].tobytes(), "little")

    def words(self, address: int, count: int, pc: int) -> np.ndarray:
        """Reads ``count`` words as an int64 array."""
        self.check(address, count, pc)
        return self.memory[address : address + 4 * count].view("<u4").astype(np.int64)

    def store(self, address: int, words: np.ndarray, pc: int) -> None:
        """Writes words."""
        self.check(address, len(words), pc)
        self.write(pc, address, np.asarray(words).astype("<u4").view(np.uint8))
