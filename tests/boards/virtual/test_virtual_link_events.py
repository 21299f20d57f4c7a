# SPDX-License-Identifier: BSD-2-Clause
"""Events on a link: the cable is pulled, the power goes, the host dies, the core faults while
bytes are on their way."""

import os
import random
import zlib

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.gateware.info import CONTROL_BASE, SOC_BASE
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError
from quintet.tools.link.pipe import Pipe
from tests.support.tiny_core import PACKAGE

SEED = int(os.environ.get("QUINTET_SEED", "1"))
AWAKE = 0.00025  # the memory chip powers up
DEADLINE = 0.1  # seconds of the board's time after which a host that comes must be served
CONTROL, STATUS = CONTROL_BASE + 0x10, CONTROL_BASE + 0x14


class Cable(Pipe):
    """A pipe whose cable is pulled after ``left`` bytes, both ways together; what was on its way is
    lost."""

    def __init__(self, pipe, left):
        self.pipe, self.name, self.bytes_per_second, self.left = (
            pipe,
            pipe.name,
            pipe.bytes_per_second,
            left,
        )

    def now(self):
        return self.pipe.now()

    def sleep(self, seconds):
        self.pipe.sleep(seconds)

    def _pass(self, data):
        piece, self.left = data[: self.left], self.left - min(len(data), self.left)
        return piece

    def _pulled(self):
        raise LinkError(f"{self.name} went away")

    def write(self, data):
        self.pipe.write(self._pass(bytes(data)))
        if not self.left:
            self._pulled()

    def read(self, limit, timeout):
        data = self._pass(self.pipe.read(limit, timeout))
        if not self.left:
            # The rest came to nobody.
            self._pulled()
        return data


def newcomer(board, seed):
    """Another host on the same board: it must be served in time."""
    link = LinkClient(board.pipe, seed=seed, retry=0.01)
    started = board.pipe.now()
    link.identify()
    assert board.pipe.now() - started < DEADLINE
    return link


def session(link, image, new, key):
    """A write, a word of a register, a run of the core, a read."""
    link.write(100, new)
    link.write_word(SOC_BASE + 0xC, 1)
    for offset, value in ((0x20, 256), (0x24, 64), (0x100, 512), (0x104, key)):
        link.write_word(CONTROL_BASE + offset, value)
    link.write_word(CONTROL, 1)
    while link.read_word(STATUS) & 1:
        pass
    assert link.read(512, 64) == bytes(b ^ key for b in image[256:320])


def pull_everywhere(board, first, step, count):
    """One session for each place at which the cable is pulled. Returns bytes of a whole session."""
    chance = random.Random(SEED)
    link = newcomer(board, 1)
    image = bytearray(chance.randrange(1, 256) for _ in range(1024))
    link.write(0, image)
    old, at, done = bytes(image[100:160]), first, 0
    while done < count:
        new = bytes(chance.randrange(1, 256) for _ in range(60))
        key = chance.randrange(1, 256)
        cable = Cable(board.pipe, at)
        try:
            session(LinkClient(cable, seed=2 + done, timeout=0.5), image, new, key)
            return at, done  # the whole session passed: the cable was pulled everywhere
        except LinkError as error:
            assert "went away" in str(error)
        link = newcomer(board, 1000 + done)
        # Each byte is that of before or that of after, and nothing else has changed.
        found = link.read(0, 512)
        assert all(f in (a, b) for f, a, b in zip(found[100:160], old, new, strict=True)), (
            f"pulled after {at} bytes"
        )
        assert found[:100] + found[160:] == image[:100] + image[160:512], f"pulled after {at} bytes"
        old = found[100:160]
        # A run that was begun is one run: it ends, and left what it should.
        while link.read_word(STATUS) & 1:
            pass
        at, done = at + step, done + 1
    return at, done


def test_cable_pulled_at_every_byte_of_a_transfer():
    with open_virtual("icebreaker", PACKAGE, preset="sim") as board:
        board.pipe.sleep(AWAKE)
        # Every seventh byte, from another one with each seed; all of them in the long test.
        length, places = pull_everywhere(board, 1 + SEED % 7, 7, 1000)
        assert places > 40 and length > 300


@pytest.mark.long
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-25f", "fomu"])
def test_cable_pulled_at_really_every_byte(name):
    with open_virtual(name, PACKAGE, preset="sim") as board:
        board.pipe.sleep(AWAKE)
        length, places = pull_everywhere(board, 1, 1, 10_000)
        print(f"\ncable pulled at each of {places} bytes of a session, {name}, seed {SEED}")
        assert places == length - 1


class Mains(Pipe):
    """A board that loses its power after so many bytes and comes back with empty memory and
    registers."""

    def __init__(self, open_board, left):
        self._open, self.left, self.losses = open_board, left, 0
        self.board = open_board()
        self.pipe, self.name, self.bytes_per_second, self._before = (
            self.board.pipe,
            "mains",
            None,
            0.0,
        )

    def now(self):
        return self._before + self.pipe.now()

    def sleep(self, seconds):
        self.pipe.sleep(seconds)

    def write(self, data):
        self.left -= len(data)
        if self.left <= 0 and not self.losses:
            self.losses, self._before = 1, self.now()
            self.board.close()
            self.board = self._open()
            self.pipe = self.board.pipe
            data = data[len(data) // 2 :]
        self.pipe.write(data)

    def read(self, limit, timeout):
        return self.pipe.read(limit, timeout)

    def close(self):
        self.board.close()


def opened():
    board = open_virtual("icebreaker", PACKAGE, preset="sim")
    board.pipe.sleep(AWAKE)
    return board


@pytest.mark.parametrize("left", [1, 1500, 2690])
def test_power_cycle(left):
    """Of what was lost with the power a call says so, or a checksum shows it; after that the board
    works as ever."""
    chance = random.Random(left)
    mains = Mains(opened, left)
    with mains:
        link = LinkClient(mains, seed=1, timeout=1.0)
        data = bytes(chance.randrange(1, 256) for _ in range(2500))
        told = seen = False
        for _ in range(2):
            try:
                link.write(0, data)
                if link.read(0, len(data)) != data or link.checksum(0, 2500) != zlib.crc32(data):
                    seen = True
                    continue
                for offset, value in ((0x20, 0), (0x24, 64), (0x100, 4096), (0x104, 7), (0x10, 1)):
                    link.write_word(CONTROL_BASE + offset, value)
                while link.read_word(STATUS) & 1:
                    pass
                if link.read(4096, 64) == bytes(b ^ 7 for b in data[:64]):
                    break
                seen = True
            except LinkError as error:
                assert "reset" in str(error) or "no answer" in str(error)
                told = True
        else:
            raise AssertionError("the board does not work after the power came back")
        assert mains.losses == 1 and (told or seen or left < 2500)


def test_core_faults_while_bytes_are_on_their_way():
    """The core stops at an illegal word, an address outside its window and an abort, while the host
    writes and reads elsewhere."""
    chance = random.Random(SEED)
    with opened() as board:
        link = newcomer(board, 1)
        beat = board.soc.backing.beat_bytes
        image = bytearray(chance.randrange(1, 256) for _ in range(4096))
        link.write(0x1000, image)
        for turn in range(9):
            bad = chance.randrange(20, 60) * beat
            source = bytearray(chance.randrange(1, 256) for _ in range(512))
            kind = turn % 3
            # A window ends at a multiple of 64.
            bad = bad & -64 if kind == 1 else bad
            if kind == 0:
                source[bad : bad + beat] = bytes(beat)
            link.write(0, source)
            link.write(0x800, bytes(512))
            for offset, value in (
                (0x20, 0),
                (0x24, 512),
                (0x28, 0),
                (0x2C, 0x800 + bad if kind == 1 else 1 << 17),
                (0x100, 0x800),
                (0x104, turn + 1),
                (0x10, 1),
            ):
                link.write_word(CONTROL_BASE + offset, value)
            aborted = 0
            while link.read_word(STATUS) & 1:
                at = chance.randrange(4000)
                data = chance.randbytes(chance.randrange(1, 90))
                link.write(0x1000 + at, data)
                image[at : at + len(data)] = data
                if kind == 2 and not aborted:
                    link.write_word(CONTROL, 2)
                    aborted = 1
            link.write(0x1000, image[:64])
            done = link.read(0x800, 512)
            count = next((n for n in range(0, 512, beat) if not any(done[n : n + beat])), 512)
            assert done == bytes(b ^ turn + 1 for b in source[:count]) + bytes(512 - count)
            if kind < 2:
                assert link.read_word(STATUS) & 4 and count == bad
            assert link.read(0x1000, 4096) == image
            link.reset_core()
