# SPDX-License-Identifier: BSD-2-Clause
"""Host and board of the link against each other on a line that loses, damages, repeats and
reorders."""

import random
import time
import zlib

import pytest

from quintet.tools.link.client import LinkClient
from quintet.tools.measure.link.bench import MEMORY, Bench, BenchPipe
from quintet.tools.measure.link.rates import HEADER
from tests.support.campaigns import Campaign
from tests.support.link_faults import Faults, Interrupted, Runs, SpoiledPipe

WORD = 0x8000_0100
SECONDS = 1.0  # of the board's time, that a call may wait for any answer


def campaign(seed, frames, rate, seconds=None):
    """Random calls until so many frames have passed. Returns how many did, and how many faults
    there were."""
    chance = random.Random(seed)
    end = time.monotonic() + seconds if seconds else None
    with Bench(header=HEADER, seed=seed, stall_percent=chance.choice([0, 0, 20])) as bench:
        faults = Faults(rate)
        pipe = SpoiledPipe(BenchPipe(bench), faults, seed=seed)

        def host():
            return LinkClient(
                pipe,
                timeout=SECONDS,
                retry=0.002,
                window=2048,
                checksum_rate=2e6,
                seed=chance.randrange(1 << 30),
            )

        link = host()
        image = bytearray(MEMORY)
        words = []
        while pipe.frames < frames and (end is None or time.monotonic() < end):
            kind = chance.choice("wwwrrcRRissSSffCX")
            address = chance.randrange(MEMORY - 3000)
            size = chance.choice([1, 4, 100, 700, 2500])
            started = pipe.now()
            requests = 2 + size // 512
            if kind == "w":
                data = chance.randbytes(size) if chance.random() < 0.5 else bytes(size)
                link.write(address, data)
                image[address : address + size] = data
            elif kind == "r":
                assert link.read(address, size) == image[address : address + size]
            elif kind == "c":
                assert link.checksum(address, size) == zlib.crc32(image[address : address + size])
            elif kind in "sSCf":
                runs = Runs(chance, MEMORY)
                requests = runs.requests
                if kind == "s":
                    runs.write(link, image, chance.randbytes(len(runs.places)))
                elif kind == "S":
                    runs.check(link, image)
                elif kind == "C":
                    runs.check_sum(link, image)
                else:
                    runs.fill(link, image, chance.randbytes(chance.choice([1, 2, 4])))
            elif kind == "X":
                # Registers are filled once, one cycle each.
                link.fill(WORD, 4, len(words).to_bytes(4, "little"), stride=8, count=3)
                words += [(WORD + 8 * number, len(words), 15) for number in range(3)]
            elif kind == "R":
                link.write_word(WORD, len(words))
                words.append((WORD, len(words), 15))
            else:
                # The host dies in mid-transfer, and another one comes.
                def die(done):
                    raise Interrupted

                data = chance.randbytes(2500)
                with pytest.raises(Interrupted):
                    link.write(address, data, progress=die)
                link = host()
                link.write(address, data)
                image[address : address + 2500] = data
                requests += 10
            assert pipe.now() - started <= requests * SECONDS
        faults.rate = 0
        pipe.write(b"\0")
        assert link.read(0, MEMORY) == image
        assert bench.log() == words
        return pipe.frames, faults.count, link.repeats


@pytest.mark.parametrize("seed, rate", [(3, 0.03), (2, 0.2)])
def test_faults(seed, rate):
    frames, faults, repeats = campaign(seed, 1000, rate)
    assert frames >= 1000 and faults >= rate * 500 and repeats


@pytest.mark.long
def test_many_faults():
    """Towards a million frames, summed over runs (docs/how/campaigns.md)."""
    totals = Campaign("link-bytes", share=0.5)
    frames = faults = 0
    for seed in totals.seeds("bridge"):
        more, bad, _ = campaign(
            seed, 5000, (0.01, 0.05, 0.2, 0.4)[seed % 4], totals.until - time.monotonic()
        )
        totals.tally("bridge", more)
        totals.tally("bridge", bad, "spoilt")
        frames, faults = frames + more, faults + bad
    print(f"\nlink faults: {frames} frames, {faults} of them with faults")
    assert frames > 1000
