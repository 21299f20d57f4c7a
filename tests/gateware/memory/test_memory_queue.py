# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator
from memory_model import MemoryModel, PortDriver

from quintet.gateware.memory.queue import PortBuffer, ShiftQueue, StreamBuffer


@pytest.mark.parametrize("make", [
    lambda: ShiftQueue(shape=8, depth=1), lambda: ShiftQueue(shape=8, depth=2), lambda: ShiftQueue(shape=8, depth=5),
    lambda: StreamBuffer(shape=8)], ids=["depth-1", "depth-2", "depth-5", "buffer"])
@pytest.mark.parametrize("giving,taking", [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.6)])
def test_order_and_rate(make, giving, taking):
    rnd = random.Random(5)
    dut = make()
    sent = [rnd.randrange(256) for _ in range(300)]
    got, cycles = [], []

    async def send(ctx):
        for value in sent:
            while rnd.random() >= giving:
                await ctx.tick()
            ctx.set(dut.i.payload, value)
            ctx.set(dut.i.valid, 1)
            taken = False
            while not taken:
                _, _, taken = await ctx.tick().sample(dut.i.ready)
            ctx.set(dut.i.valid, 0)

    async def receive(ctx):
        cycle = 0
        while len(got) < len(sent):
            ready = rnd.random() < taking
            ctx.set(dut.o.ready, ready)
            _, _, valid, value = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            cycle += 1
            if valid and ready:
                got.append(value)
                cycles.append(cycle)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(send)
    sim.add_testbench(receive)
    sim.run()
    assert got == sent
    if giving == taking == 1.0 and getattr(dut, "depth", 2) > 1:
        assert cycles[-1] - cycles[0] == len(sent) - 1


def test_depth():
    with pytest.raises(ValueError, match="Depth must be a positive integer, not 0"):
        ShiftQueue(shape=1, depth=0)


@pytest.mark.parametrize("beat_bytes, stall", [(2, 0.0), (4, 0.4)])
def test_port_buffer(beat_bytes, stall):
    rnd = random.Random(beat_bytes)
    dut = PortBuffer(beat_bytes=beat_bytes)
    model = MemoryModel(dut.memory, size=2048, seed=1, stall=stall, latency=(1, 3))
    driver = PortDriver(dut.port, seed=2, stall=stall)     # it asserts the order of all answers
    image, checks = bytearray(2048), []
    for _ in range(80):
        beats, outside = rnd.choice((1, 2, 9)), rnd.random() < 0.1
        at = rnd.randrange(0, 2048 - 9 * beat_bytes, beat_bytes) + 4096 * outside
        if rnd.random() < 0.5:
            data = rnd.randbytes(beats * beat_bytes)
            checks.append((driver.write(at, data), outside, b""))
            if not outside:
                image[at:at + len(data)] = data
        else:
            checks.append((driver.read(at, beats), outside, bytes(image[at:at + beats * beat_bytes])))

    async def bench(ctx):
        await driver.drain(ctx)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.add_testbench(model.process, background=True)
    sim.add_testbench(driver.process, background=True)
    sim.run()
    assert bytes(model.memory) == image
    for answer, outside, data in checks:
        assert answer.error == outside
        assert outside or answer.bytes(beat_bytes) == data
