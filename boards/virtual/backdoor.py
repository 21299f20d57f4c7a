# SPDX-License-Identifier: BSD-2-Clause
"""Direct access to the main memory of a virtual board, in the memory chip's model or in the memory
cells of the design.

An access takes no simulated time; over the link each byte costs some ten cycles of the whole SoC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...gateware.memory.spram import BLOCK_BYTES

if TYPE_CHECKING:
    from .native import SimulatedBoard

__all__ = ["Backdoor"]

#: Cycles from a write's acknowledgement until the chip has executed the command that is on its way,
#: with many to spare.
DRAIN = 64


class Backdoor:
    """Reads and writes the main memory of a :class:`~.board.VirtualBoard` directly.

    It may be used if :meth:`quiet` is true and every request over the link was answered: then
    nothing between the SoC's bus and the memory holds a byte that the memory does not
    (docs/how/virtual-board.md).

    Attributes
    ----------
    size : int, bytes of main memory, from address 0
    """

    def __init__(self, board: SimulatedBoard) -> None:
        self._board, backing = board, board.soc.backing
        self.size = backing.size
        if board.chip is not None:
            # Bytes lie in the chips' models as the controllers address them. Those below `on_chip`
            # lie in the design instead.
            on_chip = board.soc.on_chip
            cells, beat = "soc.memory.low.ram.memory", backing.beat_bytes
            # The design's blocks may hold more words than are used.
            low = [(0, [self._cells(cells, beat)[: on_chip // beat]])] if on_chip else []
            self._banks = [*low, (on_chip, [board.chip[on_chip:, np.newaxis]])]
        elif backing.kind == "SPRAM":
            lanes = backing.beat_bytes // 2
            banks = self.size // (BLOCK_BYTES * lanes)
            self._banks = [
                (
                    bank * BLOCK_BYTES * lanes,
                    [
                        self._cells(f"soc.memory.cell_{bank}_{lane}.memory", 2)
                        for lane in range(lanes)
                    ],
                )
                for bank in range(banks)
            ]
        else:
            self._banks = [(0, [self._cells("soc.memory.memory", backing.beat_bytes)])]

    def _cells(self, path, width):
        """The ``width`` bytes of each word in a memory of the design."""
        return self._board.simulation.memory_at(path).view(np.uint8)[:, :width]

    def quiet(self) -> bool:
        """Whether the core is idle and no byte is queued for the board; simulates a few cycles, so
        that all writes reach the memory."""
        self._board.advance(DRAIN)
        return not self._board.busy and not self._board.waiting

    def holds(self, address: int, size: int) -> bool:
        """Whether main memory contains all these bytes."""
        return address >= 0 and size >= 0 and address + size <= self.size

    def _beats(self, address, size):
        """Lanes of each bank that the bytes touch, limited to the touched beats, and the address of
        the first beat."""
        for base, lanes in self._banks:
            beat = sum(lane.shape[1] for lane in lanes)
            first = max(address - base, 0) // beat
            end = min(-(-(address + size - base) // beat), len(lanes[0]))
            if first < end:
                yield [lane[first:end] for lane in lanes], base + first * beat

    def read(self, address: int, size: int) -> bytes:
        """Reads ``size`` bytes from ``address``."""
        found = b""
        start = address
        for lanes, base in self._beats(address, size):
            start = start if found else base
            found += np.concatenate(lanes, axis=1).tobytes()
        return found[address - start : address - start + size]

    def write(self, address: int, data: bytes) -> None:
        """Writes ``data`` (bytes) at ``address``."""
        for lanes, base in self._beats(address, len(data)):
            beats = np.concatenate(lanes, axis=1)
            low, high = max(address, base), min(address + len(data), base + beats.size)
            beats.reshape(-1)[low - base : high - base] = np.frombuffer(data, np.uint8)[
                low - address : high - address
            ]
            at = 0
            for lane in lanes:
                lane[:] = beats[:, at : at + lane.shape[1]]
                at += lane.shape[1]
