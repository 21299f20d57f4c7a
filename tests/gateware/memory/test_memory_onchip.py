# SPDX-License-Identifier: BSD-2-Clause
"""Hybrid main memory: contents under random bursts across the border, and both memories at work at
the same time."""

import random

import pytest

from quintet.gateware.memory.blockram import BlockRAMMemory
from quintet.gateware.memory.onchip import OnChipMemory
from tests.support.memory_model import PortDriver
from tests.support.shares import fewer
from tests.support.simulating import simulate

SIZE, BORDER, BEAT = 8192, 4096, 16
#: Beats of the slow memory in a wide beat.
RATIO = 8


def run(driver, dut):
    async def bench(ctx):
        await driver.drain(ctx)

    simulate(dut, bench, background=[driver.process])


def hybrid():
    rest = BlockRAMMemory(size=SIZE, beat_bytes=BEAT // RATIO)
    return OnChipMemory(rest=rest, on_chip=BORDER, beat_bytes=BEAT)


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_bursts_across_the_border(stall):
    dut, rnd = hybrid(), random.Random(7)
    driver = PortDriver(dut.port, seed=3, stall=stall, early_data=stall > 0)
    image, reads = bytearray(SIZE), []
    for _ in range(fewer(40)):
        beats = rnd.choice((1, 2, 3, 17, 40))
        at = rnd.choice((BORDER - beats * BEAT // 2, rnd.randrange(SIZE - beats * BEAT)))
        at -= at % BEAT
        if rnd.random() < 0.5:
            written = rnd.randbytes(beats * BEAT)
            driver.write(at, written)
            image[at : at + len(written)] = written
        else:
            reads.append((at, beats, driver.read(at, beats), bytes(image)))
    run(driver, dut)
    for at, beats, answer, then in reads:
        assert not answer.error and answer.bytes(BEAT) == then[at : at + beats * BEAT], hex(at)


def test_both_memories_work_at_the_same_time():
    """Single beats of the slow memory between bursts of block RAM, as a program that is read
    between tiles: the slow memory is never idle, and block RAM's answers take no time besides."""
    dut, bursts, beats = hybrid(), 32, 6
    driver = PortDriver(dut.port)
    for number in range(bursts):
        driver.read(BORDER + BEAT * number, 1)
        driver.read(BEAT * beats * number, beats)
    run(driver, dut)
    assert bursts * RATIO <= driver.cycles <= bursts * (RATIO + 1) + 40
