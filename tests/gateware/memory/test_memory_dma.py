# SPDX-License-Identifier: BSD-2-Clause
import random

import numpy as np
import pytest
from amaranth.sim import Simulator
from memory_model import MemoryModel

from quintet.gateware.memory.dma import DMADescriptor, DMAReader, DMAWriter

SIZE = 1 << 16


def descriptors(rnd, beat, count, rows=True):
    """Blocks that lie in memory but for some that leave it."""
    made = []
    while len(made) < count:
        beats, height = rnd.choice((1, 2, 7, 40, 255, 256, 257, 600)), rnd.choice((1, 1, 2, 5)) if rows else 1
        stride = rnd.choice((beats * beat, 64 * beat, -32 * beat)) if height > 1 else 0
        address = beat * rnd.randrange(SIZE // beat)
        spots = [address + i * stride for i in range(height)]
        if min(spots) < 0 or beats * height > 1300:
            continue
        if max(spots) + beats * beat > SIZE and len(made) % 4:
            continue
        made.append(dict(address=address, beats=beats - 1, **(dict(rows=height - 1, stride=stride & 0xffffffff) if rows else {})))
    return made


def rows_of(d, beat):
    for i in range(d.get("rows", 0) + 1):
        yield (d["address"] + i * d.get("stride", 0)) & 0xffffffff, d["beats"] + 1


def requests_of(d, beat):
    for at, beats in rows_of(d, beat):
        while beats:
            n = min(beats, 256)
            yield at, n
            at, beats = at + n * beat, beats - n


async def put(ctx, stream, values, stall, rnd):
    for value in values:
        while rnd.random() < stall:
            await ctx.tick()
        ctx.set(stream.payload, value)
        ctx.set(stream.valid, 1)
        taken = False
        while not taken:
            _, _, taken = await ctx.tick().sample(stream.ready)
        ctx.set(stream.valid, 0)


def simulate(dut, model, *benches):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(model.process, background=True)
    done = []
    for bench in benches:
        async def run(ctx, bench=bench):
            await bench(ctx)
            done.append(True)
        sim.add_testbench(run)
    sim.run()
    assert len(done) == len(benches)


@pytest.mark.parametrize("beat,stall,rows", [(2, 0.0, True), (8, 0.4, True), (4, 0.2, False)])
def test_reader(beat, stall, rows):
    rnd = random.Random(beat)
    dut = DMAReader(beat_bytes=beat, rows_bits=16 if rows else 0)
    model = MemoryModel(dut.memory, size=SIZE, seed=1, stall=stall)
    model.memory[:] = np.frombuffer(rnd.randbytes(SIZE), np.uint8)
    asked = descriptors(rnd, beat, 12, rows)

    async def receive(ctx):
        for d in asked:
            expected = []
            for at, n in requests_of(d, beat):
                outside = at + n * beat > SIZE
                expected += [(None if outside else bytes(model.memory[at + i * beat:at + (i + 1) * beat]), outside)
                             for i in range(n)]
            for i, (value, error) in enumerate(expected):
                while True:
                    ready = rnd.random() >= stall
                    ctx.set(dut.beats.ready, ready)
                    _, _, valid, beat_read = await ctx.tick().sample(dut.beats.valid, dut.beats.payload)
                    if valid and ready:
                        break
                assert beat_read.last == (i == len(expected) - 1)
                assert beat_read.error == error
                assert error or beat_read.data.to_bytes(beat, "little") == value
        ctx.set(dut.beats.ready, 0)
        await ctx.tick()
        assert ctx.get(dut.idle)

    simulate(dut, model, lambda ctx: put(ctx, dut.descriptor, asked, stall, rnd), receive)
    assert [(at, n) for at, n, _ in model.log] == [r for d in asked for r in requests_of(d, beat)]


@pytest.mark.parametrize("beat,stall", [(2, 0.0), (8, 0.4)])
def test_writer(beat, stall):
    rnd = random.Random(beat)
    dut = DMAWriter(beat_bytes=beat)
    model = MemoryModel(dut.memory, size=SIZE, seed=1, stall=stall)
    asked = descriptors(rnd, beat, 12)
    expected, beats = np.zeros(SIZE, np.uint8), []
    errors = []
    for d in asked:
        errors.append(False)
        for at, n in requests_of(d, beat):
            outside = at + n * beat > SIZE
            errors[-1] |= outside
            for i in range(n):
                data, mask = rnd.getrandbits(8 * beat), rnd.getrandbits(beat)
                beats.append(dict(data=data, mask=mask))
                for k in range(beat):
                    if mask >> k & 1 and not outside:
                        expected[at + i * beat + k] = data >> 8 * k & 0xff

    async def results(ctx):
        for error in errors:
            while True:
                ready = rnd.random() >= stall
                ctx.set(dut.result.ready, ready)
                _, _, valid, result = await ctx.tick().sample(dut.result.valid, dut.result.payload)
                if valid and ready:
                    break
            assert result.error == error
        ctx.set(dut.result.ready, 0)
        await ctx.tick()
        assert ctx.get(dut.idle)

    simulate(dut, model, lambda ctx: put(ctx, dut.descriptor, asked, stall, rnd),
             lambda ctx: put(ctx, dut.beats, beats, stall, rnd), results)
    assert (model.memory == expected).all()


def test_full_rate():
    """A beat a cycle over rows of one beat, and over blocks of more than one burst."""
    for d, total in (({"address": 0, "beats": 0, "rows": 199, "stride": 64}, 200),
                     ({"address": 0, "beats": 599, "rows": 0, "stride": 0}, 600)):
        dut = DMAReader(beat_bytes=4, outstanding=8)
        model = MemoryModel(dut.memory, size=SIZE, stall=0.0, latency=(1, 1), depth=8)
        times = []

        async def receive(ctx, dut=dut, total=total, times=times):
            ctx.set(dut.beats.ready, 1)
            for cycle in range(total + 20):
                _, _, valid = await ctx.tick().sample(dut.beats.valid)
                if valid:
                    times.append(cycle)

        simulate(dut, model, lambda ctx, dut=dut, d=d: put(ctx, dut.descriptor, [d], 0, random), receive)
        assert len(times) == total and times[-1] - times[0] == total - 1


@pytest.mark.parametrize("make,message", [
    (lambda: DMAReader(beat_bytes=3), "Beat size must be 1, 2, 4, 8 or 16 bytes, not 3"),
    (lambda: DMAWriter(beat_bytes=4, outstanding=0), "Number of outstanding requests must be an integer from 1 to 32, not 0"),
    (lambda: DMADescriptor(beats_bits=0, rows_bits=1), "beats_bits must be an integer from 1 to 32, not 0"),
    (lambda: DMADescriptor(beats_bits=1, rows_bits=33), "rows_bits must be an integer from 0 to 32, not 33"),
])
def test_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
