# SPDX-License-Identifier: BSD-2-Clause
import random
import warnings

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.blockram import BlockRAMMemory
from quintet.gateware.memory.pipelined import PipelinedBlockRAM
from quintet.gateware.memory.spram import SPRAMMemory
from tests.support.memory_model import PortDriver
from tests.support.shares import fewer

warnings.filterwarnings("ignore", category=ResourceWarning)


def simulate(dut, bench, *drivers):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    for driver in drivers:
        sim.add_testbench(driver.process, background=True)
    done = []

    async def wrapped(ctx):
        await bench(ctx)
        done.append(True)

    sim.add_testbench(wrapped)
    sim.run()
    assert done


BACKINGS = {
    "blockram-2": lambda: BlockRAMMemory(size=4096, beat_bytes=2),
    "blockram-8": lambda: BlockRAMMemory(size=4096, beat_bytes=8),
    "blockram-odd": lambda: BlockRAMMemory(size=4096 - 256, beat_bytes=4),
    "pipelined-2": lambda: PipelinedBlockRAM(size=4096, beat_bytes=2),
    "pipelined-16": lambda: PipelinedBlockRAM(size=4096 - 256, beat_bytes=16),
    "spram-4": lambda: SPRAMMemory(family=None),
    "spram-2": lambda: SPRAMMemory(family=None, size=98304, beat_bytes=2),
}


@pytest.mark.parametrize("name", BACKINGS)
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_traffic(name, stall):
    dut = BACKINGS[name]()
    rnd = random.Random(name)
    size = dut.beat_bytes
    driver = PortDriver(dut.port, seed=3, stall=stall)
    # Accesses keep to a few places, the end of the memory and the borders of banks among them.
    shadow = {}
    checks = []
    for k in range(fewer(150, 80)):
        beats = rnd.choice((1, 1, 2, 3, 9))
        at = rnd.choice((0, dut.size // 2, dut.size - 20 * size)) + rnd.randrange(20) * size
        if k % 9 == 0:
            at = rnd.choice((dut.size, 1 << 24, 1 << 31)) + at
        outside = at + beats * size > dut.size
        if k < 60 and not outside or rnd.random() < 0.5:
            data = rnd.randbytes(beats * size)
            masks = [rnd.randrange(1 << size) if k >= 60 else (1 << size) - 1 for _ in range(beats)]
            answer = driver.write(at, data, masks)
            if not outside:
                for i in range(beats * size):
                    if masks[i // size] >> i % size & 1:
                        shadow[at + i] = data[i]
            checks.append((answer, outside, None))
        else:
            answer = driver.read(at, beats)
            checks.append((answer, outside, [shadow.get(at + i, 0) for i in range(beats * size)]))

    async def bench(ctx):
        await driver.drain(ctx)

    simulate(dut, bench, driver)
    for answer, outside, data in checks:
        assert answer.errors == [outside] * len(answer.errors)
        if data is not None and not outside:
            assert list(answer.bytes(size)) == data


@pytest.mark.parametrize("name, latency", [("blockram-2", 6), ("pipelined-16", 10), ("spram-4", 6)])
@pytest.mark.parametrize("beats", [1, 32])
def test_full_rate(name, latency, beats):
    """One beat a cycle, in bursts and in single beats, reads and writes."""
    dut = BACKINGS[name]()
    driver = PortDriver(dut.port, early_data=True)
    writes = [
        driver.write(k * beats * dut.beat_bytes, bytes(beats * dut.beat_bytes))
        for k in range(128 // beats)
    ]
    reads = [driver.read(k * beats * dut.beat_bytes, beats) for k in range(128 // beats)]

    async def bench(ctx):
        await driver.drain(ctx)

    simulate(dut, bench, driver)
    assert writes[-1].time <= 128 + latency
    assert reads[-1].time <= 256 + 2 + latency


def test_initial_contents():
    dut = BlockRAMMemory(size=64, beat_bytes=4, init=bytes(range(10)))
    driver = PortDriver(dut.port)
    answer = driver.read(0, 16)

    async def bench(ctx):
        await driver.drain(ctx)

    simulate(dut, bench, driver)
    assert answer.bytes(4) == bytes(range(10)) + bytes(54)


@pytest.mark.parametrize(
    "make,message",
    [
        (
            lambda: BlockRAMMemory(size=10, beat_bytes=4),
            "Size must be a multiple of 4 from 4 to .* bytes, not 10",
        ),
        (
            lambda: BlockRAMMemory(size=4, beat_bytes=4, init=bytes(5)),
            "Initial contents are 5 bytes, more than the memory's 4",
        ),
        (
            lambda: SPRAMMemory(family="ecp5"),
            "Family must be 'ice40' or None for an SPRAM, not 'ecp5'",
        ),
    ],
)
def test_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
