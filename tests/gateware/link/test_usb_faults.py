# SPDX-License-Identifier: BSD-2-Clause
"""The link over USB on wires that damage packets, below frames that are lost, damaged, repeated and
reordered; cables and hosts fail too."""

import random
import zlib

import pytest

from quintet.tools.link.client import LinkClient
from quintet.tools.measure.link.usb_bench import MEMORY, TransferError, USBBench, USBPipe
from tests.support.campaigns import Campaign
from tests.support.link_faults import Faults, Interrupted, SpoiledPipe

SECONDS = 1.0  # of the board's time, that a call may wait for any answer
SPACE = 1 << 14


def enumerate_again(bench, address, tries=40):
    """A host gives a transfer up that fails three times, as may happen where every tenth packet is
    damaged, and begins anew with a reset."""
    for _ in range(tries):
        try:
            return bench.configure(address)
        except TransferError:
            pass
    raise AssertionError(f"not enumerated in {tries} attempts")


def campaign(seed, frames, rate):
    """Random calls until so many frames have passed. Returns (frames, spoilt frames, spoilt
    packets)."""
    chance = random.Random(seed)
    with USBBench() as bench:
        bench.configure()
        bench.host(seed=seed, spoil=(0, 10, 40)[seed % 3], nak_rest=chance.choice([0, 4000]))
        faults = Faults(rate)
        pipe = SpoiledPipe(USBPipe(bench), faults, seed=seed)

        def host():
            # A lost frame costs as long as the host waits until it repeats: the time of what may be
            # under way, and some.
            window, retry = chance.choice([(4096, 0.005), (512, 0.0015)])
            return LinkClient(
                pipe,
                timeout=SECONDS,
                retry=retry,
                window=window,
                checksum_rate=2e6,
                seed=chance.randrange(1 << 30),
            )

        link = host()
        image = bytearray(SPACE)
        while pipe.frames < frames:
            kind = chance.choice("wwwrrrcciu")
            address, size = (
                chance.randrange(SPACE - 3000),
                chance.choice([1, 4, 30, 100, 700, 2500]),
            )
            data = chance.randbytes(size)
            started, requests = pipe.now(), 2 + size // 512
            if kind == "r":
                assert link.read(address, size) == image[address : address + size]
            elif kind == "c":
                assert link.checksum(address, size) == zlib.crc32(image[address : address + size])
            else:
                if kind in "iu":
                    # The host dies in mid-transfer, and another one comes; or the cable is pulled,
                    # so that the bus begins anew.
                    def die(done):
                        raise Interrupted

                    with pytest.raises(Interrupted):
                        link.write(address, chance.randbytes(2500), progress=die)
                    if kind == "u":
                        bench.unplug(1)
                        bench.run_steps(chance.randrange(1000, 60_000))
                        bench.unplug(0)
                        # A packet of the device may still be on its way when the cable is plugged
                        # in.
                        bench.run_steps(10_000)
                        enumerate_again(bench, chance.randrange(1, 128))
                    link, started, requests = host(), pipe.now(), 10
                    size, data = 2500, chance.randbytes(2500)
                link.write(address, data)
                image[address : address + size] = data
            assert pipe.now() - started <= requests * SECONDS
        faults.rate = 0
        pipe.write(b"\0")
        assert link.read(0, SPACE) == image
        return pipe.frames, faults.count, bench.counts["spoilt"]


def test_a_lost_acknowledgement_of_a_status():
    """The host has seen the status and goes on: what was to be set is set. Of the address the
    device cannot know, and is enumerated again."""
    with USBBench() as bench:
        bench.configure(lose=1)
        link = LinkClient(USBPipe(bench), timeout=SECONDS, retry=0.005)
        link.write(8, b"configured")
        assert link.read(8, 10) == b"configured"
        bench.polling(0)
        bench.run_steps(10_000)
        bench.reset_bus()
        bench.lose(1)
        bench.address(9)
        with pytest.raises(TransferError, match="fails again and again"):
            bench.descriptor(1)
        bench.configure(9)
        assert LinkClient(USBPipe(bench), timeout=SECONDS, retry=0.005).read(8, 10) == b"configured"


def test_faults_on_usb():
    assert SPACE <= MEMORY
    frames, faults, spoilt = campaign(1, 120, 0.1)
    assert frames >= 120 and faults > 5 and spoilt > 5


@pytest.mark.long
def test_many_faults_on_usb():
    totals = Campaign("link-usb", share=0.5)
    frames = faults = spoilt = 0
    for seed in totals.seeds("usb"):
        more = campaign(seed, 2000, (0.01, 0.05, 0.1, 0.2)[seed % 4])
        totals.tally("usb", more[0])
        frames, faults, spoilt = (
            a + b for a, b in zip((frames, faults, spoilt), more, strict=True)
        )
    print(
        f"\nUSB link faults: {frames} frames, {faults} of them spoilt, {spoilt} packets spoilt "
        f"below them"
    )
    assert frames
