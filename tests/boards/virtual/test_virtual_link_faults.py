# SPDX-License-Identifier: BSD-2-Clause
"""The whole SoC, memory chip and core included, on a line that loses, damages, repeats and
reorders; the host's own deadlines."""

import os
import random
import time
import zlib

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.gateware.info import CONTROL_BASE, SOC_BASE
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import BoardError, LinkError
from tests.support.link_faults import Faults, Interrupted, Runs, SpoiledPipe
from tests.support.tiny_core import PACKAGE

SPACE = 1 << 15  # bytes of main memory that the calls use
TIMEOUT = 2.0  # the client's own, in seconds of the board's time
AREA = 4 * 64  # bytes that the core changes in one run, in place: a second run would undo the first


def run_core(link, image, chance, at):
    """One run of the core; returns the number of requests it took."""
    link.reset_core()
    key = chance.randrange(1, 256)
    data = bytes(chance.randrange(1, 256) for _ in range(AREA))
    link.write(at, data)
    for offset, value in ((0x20, at), (0x24, AREA), (0x100, at), (0x104, key)):
        link.write_word(CONTROL_BASE + offset, value)
    link.write_word(CONTROL_BASE + 0x10, 1)
    polls = 0
    while link.read_word(CONTROL_BASE + 0x14) & 1:
        polls += 1
        assert polls < 100, "the run never ends"
    assert link.read_word(CONTROL_BASE + 0x14) == 2, "done, no fault"
    assert link.read_word(CONTROL_BASE + 0x88) == AREA // link.beat, "instructions: every beat once"
    image[at : at + AREA] = bytes(b ^ key for b in data)
    return 12 + polls


def campaign(name, seed, events, rate, seconds=None):
    """Random calls until so many pieces were spoilt. Returns (spoilt pieces, frames, calls that
    reported no answer)."""
    chance = random.Random(seed)
    end = time.monotonic() + seconds if seconds else None
    with open_virtual(name, PACKAGE, preset="sim") as board:
        board.pipe.sleep(0.00025)  # the memory chip powers up
        faults = Faults(0)
        pipe = SpoiledPipe(board.pipe, faults, seed=seed)

        def host():
            link = LinkClient(pipe, timeout=TIMEOUT, seed=chance.randrange(1 << 30))
            link.beat = board.soc.backing.beat_bytes
            return link

        link = host()
        image = bytearray(chance.randbytes(SPACE))
        link.write(0, image)
        faults.rate = rate
        state = {"led": 0}

        def call(kind, address, size, runs):
            """One call or several, such that they may be made again. Returns how many requests that
            took at most."""
            if kind == "w":
                data = chance.randbytes(size)
                image[address : address + size] = data
                link.write(address, data)
            elif kind == "r":
                assert link.read(address, size) == image[address : address + size]
            elif kind == "c":
                assert link.checksum(address, size) == zlib.crc32(image[address : address + size])
            elif kind in "sf":
                if kind == "s":
                    runs.write(link, image, chance.randbytes(len(runs.places)))
                else:
                    runs.fill(link, image, chance.randbytes(4))
                runs.check(link, image)
                return 2 * runs.requests
            elif kind == "C":
                return run_core(link, image, chance, address & -64)
            elif kind == "L":
                state["led"] ^= 1
                link.write_word(SOC_BASE + 0xC, state["led"])
                assert link.read_word(SOC_BASE + 0xC) == state["led"]
            return 2 + size // 512

        reported = 0
        while faults.count < events and (end is None or time.monotonic() < end):
            kind = chance.choice("wwrrcCLisf")
            address, size = chance.randrange(SPACE - 3000), chance.choice([1, 4, 100, 700, 2500])
            runs = Runs(chance, SPACE)
            if kind == "i":
                # The host dies in mid-transfer, and another one comes.
                def die(done):
                    raise Interrupted

                with pytest.raises((Interrupted, LinkError)):
                    link.write(address, chance.randbytes(2500), progress=die)
                link, kind, size = host(), "w", 2500
            # A call may report after its deadline that there was no answer (all repeats of one
            # request were spoilt), never later, and the next attempt finds the board as it should
            # be.
            for _ in range(3):
                started = pipe.now()
                try:
                    requests = call(kind, address, size, runs)
                    break
                except LinkError as error:
                    assert not isinstance(error, BoardError)
                    reported += 1
                    requests = 120
                finally:
                    assert pipe.now() - started <= requests * TIMEOUT
            else:
                raise AssertionError("three calls in a row were not answered")
        faults.rate = 0
        pipe.write(b"\0")
        assert link.read(0, SPACE) == image
        return faults.count, pipe.frames, reported


def test_faults_on_the_whole_soc():
    faults, frames, reported = campaign("icebreaker", 1, 12, 0.15)
    assert faults >= 12 and frames > faults and reported == 0


@pytest.mark.long
@pytest.mark.parametrize("name", ["icebreaker", "ulx3s-85f"])
def test_200_faults_on_the_whole_soc(name):
    seed = int(os.environ.get("QUINTET_SEED", "1"))
    seconds = 60 * float(os.environ.get("QUINTET_MINUTES", "20")) / 2
    faults, frames, reported = campaign(name, seed, 200, 0.1, seconds)
    print(
        f"\nlink faults on the whole SoC, {name}: {faults} of {frames} frames spoilt, "
        f"{reported} calls reported no answer in "
        f"time, seed {seed}"
    )
    assert faults > 10 and reported <= faults / 20
