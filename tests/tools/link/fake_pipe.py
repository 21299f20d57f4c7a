# SPDX-License-Identifier: BSD-2-Clause
"""A pipe to a ``DeviceModel`` with its own time, a line rate, and faults on request."""

import random

from quintet.tools.link.pipe import Pipe

__all__ = ["FakePipe"]


class FakePipe(Pipe):
    """``spoil(chance, frame) -> list of bytes`` says what becomes of each written piece and each
    answer."""

    def __init__(self, device, *, rate=300_000, spoil=None, seed=0, line_rate=True):
        self.device = device
        self.name = "fake"
        self.bytes_per_second = rate if line_rate else None
        self.rate = rate
        self.spoil = spoil
        self.chance = random.Random(seed)
        self.time = 0.0
        self.sent = 0
        self.received = 0
        self.alive = True
        self._host_free = self._board_free = 0.0
        self._coming = []  # (when it has arrived, bytes)

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds

    def _spoil(self, data):
        return b"".join(self.spoil(self.chance, data)) if self.spoil else data

    def write(self, data):
        self.sent += len(data)
        self._host_free = max(self._host_free, self.time) + len(data) / self.rate
        if not self.alive:
            return
        answer = self.device.feed(self._spoil(bytes(data)))
        for piece in answer.split(b"\0")[:-1]:
            piece = self._spoil(piece + b"\0")
            self._board_free = max(self._board_free, self._host_free) + len(piece) / self.rate
            self._coming.append((self._board_free, piece))

    def read(self, limit, timeout):
        if self._coming and self._coming[0][0] <= self.time + timeout:
            when, piece = self._coming.pop(0)
            self.time = max(self.time, when)
            if len(piece) > limit:
                self._coming.insert(0, (when, piece[limit:]))
            self.received += len(piece[:limit])
            return piece[:limit]
        self.time += timeout
        return b""
