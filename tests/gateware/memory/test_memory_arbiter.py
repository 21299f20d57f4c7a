# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.arbiter import MemoryArbiter
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.shares import fewer


def run(dut, bench, models, drivers):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    for each in (*models, *drivers):
        sim.add_testbench(each.process, background=True)
    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize(
    "ports,buffers,stall", [(1, 0, 0.3), (2, 0, 0.0), (3, 8, 0.3), (4, (0, 16, 0, 64), 0.5)]
)
def test_random_traffic(ports, buffers, stall):
    rnd = random.Random(ports)
    dut = MemoryArbiter(beat_bytes=4, ports=ports, buffers=buffers)
    model = MemoryModel(dut.memory, size=4096 * ports, seed=1, stall=stall)
    drivers = [
        PortDriver(dut.port[i], seed=i, stall=stall, early_data=bool(i & 1)) for i in range(ports)
    ]
    expected = [bytearray(4096) for _ in range(ports)]
    reads = []
    for _ in range(fewer(40)):
        for i, driver in enumerate(drivers):
            beats = rnd.choice((1, 1, 2, 5, 17))
            at = 4 * rnd.randrange(0, 1024 - beats)
            if rnd.random() < 0.5:
                data = rnd.randbytes(4 * beats)
                masks = [rnd.randrange(16) for _ in range(beats)]
                driver.write(4096 * i + at, data, masks)
                for k in range(4 * beats):
                    if masks[k // 4] >> k % 4 & 1:
                        expected[i][at + k] = data[k]
            else:
                reads.append(
                    (driver.read(4096 * i + at, beats), bytes(expected[i][at : at + 4 * beats]))
                )

    finished = []

    async def bench(ctx):
        for driver in drivers:
            await driver.drain(ctx)
        for answer, data in reads:
            assert answer.bytes(4) == data and not answer.error
        for i in range(ports):
            assert model.memory[4096 * i : 4096 * (i + 1)].tobytes() == bytes(expected[i])
        finished.append(True)

    run(dut, bench, [model], drivers)
    assert finished


def test_round_robin():
    dut = MemoryArbiter(beat_bytes=4, ports=3)
    model = MemoryModel(dut.memory, size=4096, stall=0.0, latency=(1, 1))
    drivers = [PortDriver(dut.port[i]) for i in range(3)]
    for i, driver in enumerate(drivers):
        for k in range(10):
            driver.read(1024 * i + 4 * k, 1)

    async def bench(ctx):
        for driver in drivers:
            await driver.drain(ctx)
        owners = [address // 1024 for address, _, _ in model.log]
        # Every port once in every three grants.
        assert all(sorted(owners[k : k + 3]) == [0, 1, 2] for k in range(0, 30, 3))
        finished.append(True)

    finished = []
    run(dut, bench, [model], drivers)
    assert finished


def test_full_rate():
    """One beat a cycle, in bursts and in single beats."""
    for beats in (1, 16):
        dut = MemoryArbiter(beat_bytes=4, ports=2, outstanding=8)
        model = MemoryModel(dut.memory, size=4096, stall=0.0, latency=(1, 1), depth=8)
        drivers = [PortDriver(dut.port[i]) for i in range(2)]
        answers = [
            driver.read(4 * beats * k, beats) for k in range(64 // beats) for driver in drivers
        ]
        finished = []

        async def bench(ctx):
            for driver in drivers:  # noqa: B023
                await driver.drain(ctx)
            assert max(a.time for a in answers) <= 128 + 8  # noqa: B023
            finished.append(True)  # noqa: B023

        run(dut, bench, [model], drivers)
        assert finished


@pytest.mark.parametrize("depth,passes", [(32, True), (0, False)])
def test_slow_port_delays_only_itself(depth, passes):
    dut = MemoryArbiter(beat_bytes=4, ports=2, buffers=(depth, 0))
    model = MemoryModel(dut.memory, size=4096, stall=0.0, latency=(1, 1))
    slow = PortDriver(dut.port[0], stall=1.0)
    slow.stall = 0.0
    fast = PortDriver(dut.port[1])
    for _ in range(3):
        slow.read(0, 16)
    slow.write(0, bytes(4))
    ready = dut.port[0].r.ready
    finished = []

    async def bench(ctx):
        await ctx.tick().repeat(3)
        slow.stall = 1.0  # from here it takes nothing
        await ctx.tick().repeat(60)
        assert not ctx.get(ready)
        answer = fast.read(1024, 4)
        await ctx.tick().repeat(60)
        assert answer.done == passes
        slow.stall = 0.0
        await slow.drain(ctx)
        finished.append(True)

    run(dut, bench, [model], [slow, fast])
    assert finished


@pytest.mark.parametrize(
    "kwargs,message",
    [
        (
            dict(ports=2, buffers=(1, 2, 3)),
            "Buffers must name one depth for each of the 2 ports, not 3",
        ),
        (
            dict(ports=2, buffers=None),
            "Buffers must be an integer or one integer per port, not None",
        ),
        (
            dict(ports=2, buffers=3),
            "Depth of a buffer must be 0 or an integer from 4 to 4096, not 3",
        ),
    ],
)
def test_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        MemoryArbiter(beat_bytes=4, **kwargs)
