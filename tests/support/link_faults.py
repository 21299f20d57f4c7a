# SPDX-License-Identifier: BSD-2-Clause
"""A line that loses, damages, repeats and reorders, between any pipe and the host."""
import random

from quintet.tools.link.pipe import Pipe

__all__ = ["Faults", "Interrupted", "SpoiledPipe"]


class Interrupted(Exception):
    """The host dies here."""


class Faults:
    """Becomes of a piece on the line: ``rate`` of the pieces are changed."""
    def __init__(self, rate):
        self.rate, self.count, self._held = rate, 0, b""

    def __call__(self, chance, data):
        held, self._held = self._held, b""
        if chance.random() >= self.rate:
            return data + held
        self.count += 1
        at = chance.randrange(len(data))
        kind = chance.randrange(8)
        if kind == 0:
            data = b""
        elif kind == 1:
            data = data * chance.randrange(2, 4)
        elif kind == 2:
            data = data[:at]
        elif kind == 3:
            data = data[at:]
        elif kind == 4:
            data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:]
        elif kind == 5:
            data = chance.randbytes(chance.choice([1, 10, 1500])) + data
        elif kind == 6:
            data = data[:at] + chance.randbytes(chance.randrange(1, 9)) + data[at + chance.randrange(9):]
        else:
            self._held, data = data, b""        # goes out after the next one
        return data + held


class SpoiledPipe(Pipe):
    """``pipe`` behind a line of which ``spoil(chance, data) -> bytes`` says what becomes of each frame, either way.

    ``frames`` counts those that passed.
    """
    def __init__(self, pipe, spoil, *, seed=0):
        self.pipe, self.name, self.bytes_per_second = pipe, pipe.name, pipe.bytes_per_second
        self._spoil, self._chance = spoil, random.Random(seed)
        self._rest = b""
        self.frames = 0

    def now(self):
        return self.pipe.now()

    def sleep(self, seconds):
        self.pipe.sleep(seconds)

    def write(self, data):
        self.frames += 1
        self.pipe.write(self._spoil(self._chance, bytes(data)))

    def read(self, limit, timeout):
        *frames, self._rest = (self._rest + self.pipe.read(1 << 16, timeout)).split(b"\0")
        self.frames += len(frames)
        return b"".join(self._spoil(self._chance, frame + b"\0") for frame in frames)
