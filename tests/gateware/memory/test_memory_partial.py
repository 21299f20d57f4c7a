# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.partial import PartialWrites
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.shares import shares, some

SIZE = 4096


def simulate(dut, model, driver):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(model.process, background=True)
    sim.add_testbench(driver.process, background=True)
    done = []

    async def bench(ctx):
        await driver.drain(ctx)
        done.append(True)

    sim.add_testbench(bench)
    sim.run()
    assert done


@shares
@pytest.mark.parametrize("beat,chunk,stall", [(2, 4, 0.0), (4, 8, 0.3), (8, 2, 0.5), (4, 32, 0.1)])
def test_random_traffic(beat, chunk, stall, share):
    rnd = random.Random(chunk)
    dut = PartialWrites(beat_bytes=beat, chunk=chunk)
    bad = range(1024, 1024 + 4 * beat)
    model = MemoryModel(
        dut.memory, size=SIZE, seed=3, stall=stall, fail=lambda at, write: at in bad
    )
    driver = PortDriver(dut.port, seed=chunk, stall=stall, early_data=bool(chunk & 8))
    full = (1 << beat) - 1
    shadow, checks = bytearray(SIZE), []
    for _ in range(some(100, share)):
        beats = rnd.choice((1, 1, 2, chunk, chunk + 1, 3 * chunk, 50))
        at = rnd.randrange((1024 // beat) - beats) * beat
        kind = rnd.choice(("read", "whole", "partial", "mixed"))
        if kind == "read":
            checks.append((driver.read(at, beats), bytes(shadow[at : at + beats * beat])))
            continue
        masks = [
            full
            if kind == "whole" or kind == "mixed" and rnd.random() < 0.8
            else rnd.randrange(full + 1)
            for _ in range(beats)
        ]
        data = rnd.randbytes(beats * beat)
        checks.append((driver.write(at, data, masks), None))
        for i in range(beats * beat):
            if masks[i // beat] >> i % beat & 1:
                shadow[at + i] = data[i]
    # Errors: of a write's first or last beats, of its read, of a read.
    failing = [
        driver.write(1024 - beat, bytes(3 * beat)),
        driver.write(1024 + 3 * beat, bytes(2 * beat), [1, full]),
        driver.write(SIZE - beat, bytes(2 * beat), [1, 1]),
        driver.read(1024, 2),
    ]
    fine = driver.write(2048, bytes(range(beat)))
    simulate(dut, model, driver)
    for answer, data in checks:
        assert not answer.error
        assert data is None or answer.bytes(beat) == data
    assert bytes(model.memory[: 1024 - beat]) == bytes(shadow[: 1024 - beat])
    assert all(answer.error for answer in failing) and not fine.error
    assert bytes(model.memory[2048 : 2048 + beat]) == bytes(range(beat))


def test_masks_never_reach_the_memory():
    dut = PartialWrites(beat_bytes=4)
    model = MemoryModel(dut.memory, size=SIZE)
    driver = PortDriver(dut.port)
    for k in range(16):
        driver.write(4 * k, b"\xff" * 8, [k, 15 - k])
    masks = set()
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(model.process, background=True)
    sim.add_testbench(driver.process, background=True)

    async def watch(ctx):
        while driver.pending:
            _, _, valid, mask = await ctx.tick().sample(
                dut.memory.w.valid, dut.memory.w.payload.mask
            )
            if valid:
                masks.add(mask)

    sim.add_testbench(watch)
    sim.run()
    assert masks == {15}


def test_whole_beats_at_nearly_full_rate():
    dut = PartialWrites(beat_bytes=4)
    model = MemoryModel(dut.memory, size=SIZE, stall=0.0, latency=(1, 1))
    driver = PortDriver(dut.port, early_data=True)
    answers = [driver.write(1024 * k, bytes(1024)) for k in range(2)]
    reads = [driver.read(0, 256) for _ in range(2)]
    simulate(dut, model, driver)
    # 256 beats in 8 pieces, each with the way to the memory and back.
    assert answers[1].time <= 2 * (256 + 32 + 8 * 8)
    assert reads[1].time - answers[1].time <= 512 + 16
