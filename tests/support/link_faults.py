# SPDX-License-Identifier: BSD-2-Clause
"""Faulty line between a pipe and the host, which loses, damages, repeats and reorders frames."""

import random
import zlib

from quintet.tools.link.pipe import Pipe

__all__ = ["Faults", "Interrupted", "Runs", "SpoiledPipe"]


class Interrupted(Exception):
    """Raised at the point where the host is to be interrupted."""


class Faults:
    """Kinds of faults of a frame; ``rate``: fraction of frames that are changed."""

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
            data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        elif kind == 5:
            data = chance.randbytes(chance.choice([1, 10, 1500])) + data
        elif kind == 6:
            data = (
                data[:at]
                + chance.randbytes(chance.randrange(1, 9))
                + data[at + chance.randrange(9) :]
            )
        else:
            self._held, data = data, b""  # goes out after the next one
        return data + held


class Runs:
    """Random runs within a number of bytes: ``address``, ``run``, ``stride``, ``count``;
    ``places``: positions of their bytes."""

    def __init__(self, chance, space):
        self.run = chance.choice([1, 3, 16, 61, 255, 256, 300])
        self.count = chance.randrange(1, 2 + 2500 // self.run)
        most = (space - self.run) // self.count
        self.stride = min(self.run + chance.choice([0, 1, 2, 7, 61, 1000]), most)
        self.address = chance.randrange(space - self.count * self.stride)
        self.places = [
            self.address + number * self.stride + at
            for number in range(self.count)
            for at in range(self.run)
        ]

    @property
    def requests(self):
        """Greatest number of requests that a call needs."""
        return 2 + self.count + len(self.places) // 256

    def of(self, image):
        return bytes(image[place] for place in self.places)

    def put(self, image, data):
        for place, byte in zip(self.places, data, strict=True):
            image[place] = byte

    def write(self, link, image, data):
        link.write(self.address, data, self.run, self.stride)
        self.put(image, data)

    def fill(self, link, image, pattern):
        link.fill(self.address, self.run, pattern, stride=self.stride, count=self.count)
        self.put(image, (pattern * self.run)[: self.run] * self.count)

    def check(self, link, image):
        assert link.read(self.address, self.run * self.count, self.run, self.stride) == self.of(
            image
        )

    def check_sum(self, link, image):
        assert link.checksum(
            self.address, self.run * self.count, self.run, self.stride
        ) == zlib.crc32(self.of(image))


class SpoiledPipe(Pipe):
    """A ``pipe`` with faults: ``spoil(chance, data) -> bytes`` changes each frame, in both
    directions.

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
