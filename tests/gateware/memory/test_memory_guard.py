# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest

from quintet.gateware.memory.guard import WindowGuard
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.shares import fewer
from tests.support.simulating import simulate


@pytest.mark.parametrize(
    "beat_bytes,stall,pipelined",
    [(2, 0.3, False), (4, 0.0, False), (16, 0.5, False), (2, 0.3, True), (4, 0.0, True)],
)
def test_window(beat_bytes, stall, pipelined):
    base, limit = 1024, 3072
    rnd = random.Random(beat_bytes)
    dut = WindowGuard(beat_bytes=beat_bytes, pipelined=pipelined)
    model = MemoryModel(dut.memory, size=8192, seed=2, stall=stall)
    driver = PortDriver(dut.port, seed=5, stall=stall, early_data=True)
    before = rnd.randbytes(8192)
    model.memory[:] = list(before)
    expected = bytearray(before)
    checks = []
    for _ in range(fewer(150)):
        beats = rnd.choice((1, 2, 8, 33))
        at = (
            rnd.choice((base, limit, rnd.randrange(8192), 0xFFFF0000, base - 64))
            + rnd.randrange(-40, 40) * beat_bytes
        )
        at = max(0, at) & -beat_bytes
        inside = base <= at and at + beats * beat_bytes <= limit
        if rnd.random() < 0.5:
            data = rnd.randbytes(beats * beat_bytes)
            checks.append((driver.write(at, data), inside, None))
            if inside:
                expected[at : at + len(data)] = data
        else:
            checks.append(
                (driver.read(at, beats), inside, bytes(expected[at : at + beats * beat_bytes]))
            )
    done = []

    async def bench(ctx):
        ctx.set(dut.base, base)
        ctx.set(dut.limit, limit)
        await driver.drain(ctx)
        await ctx.tick()
        assert ctx.get(dut.idle)
        done.append(True)

    simulate(dut, bench, background=[model.process, driver.process])
    assert done
    assert all(answer.errors == [not inside] * len(answer.errors) for answer, inside, _ in checks)
    assert all(
        answer.bytes(beat_bytes) == data
        for answer, inside, data in checks
        if data is not None and inside
    )
    assert model.memory.tobytes() == bytes(expected)
    assert all(base <= at and at + beats * beat_bytes <= limit for at, beats, _ in model.log)


@pytest.mark.parametrize("pipelined", [False, True])
def test_single_beats_pass_at_full_rate(pipelined):
    dut = WindowGuard(beat_bytes=4, outstanding=15, pipelined=pipelined)
    model = MemoryModel(dut.memory, size=4096, stall=0.0, latency=(1, 1), depth=8)
    driver = PortDriver(dut.port)
    answers = [driver.read(4 * k, 1) for k in range(100)]

    async def bench(ctx):
        ctx.set(dut.limit, 4096)
        await driver.drain(ctx)

    simulate(dut, bench, background=[model.process, driver.process])
    assert answers[-1].time <= 110


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_clear_in_any_state(seed, pipelined):
    """The requesting side vanishes; its outstanding writes are drained with empty masks, and the
    next user finds an idle port."""
    rnd = random.Random(seed)
    dut = WindowGuard(beat_bytes=4, pipelined=pipelined)
    model = MemoryModel(dut.memory, size=8192, seed=seed, stall=0.3)
    done = []

    async def bench(ctx):
        ctx.set(dut.limit, 4096)
        for _ in range(fewer(3)):
            vanished = PortDriver(dut.port, seed=seed, stall=0.2)
            for _ in range(6):
                at = rnd.choice((0, 256, 4096))
                if rnd.random() < 0.6:
                    vanished.write(at, b"\xaa" * 40)
                else:
                    vanished.read(at, 17)
            # Run it for some cycles, then let go of every line.
            await run_for(ctx, vanished, rnd.randrange(4, 80))
            ctx.set(dut.clear, 1)
            for line in (
                dut.port.req.valid,
                dut.port.w.valid,
                dut.port.r.ready,
                dut.port.ack.ready,
            ):
                ctx.set(line, 0)
            for _ in range(600):
                await ctx.tick()
                if ctx.get(dut.idle):
                    break
            assert ctx.get(dut.idle), "drain does not end"
            assert model.outstanding == 0
            ctx.set(dut.clear, 0)
            heir = PortDriver(dut.port, seed=seed)
            heir.write(512, bytes(range(16)))
            answer = heir.read(512, 4)
            await run_for(ctx, heir, 150)
            assert answer.done and answer.bytes(4) == bytes(range(16))
            assert heir.pending == 0
        done.append(True)

    simulate(dut, bench, background=[model.process])
    assert done


class Stopped(Exception):
    pass


async def run_for(ctx, driver, cycles):
    """Runs a driver for some clock cycles inside this testbench, then drops it."""

    class Shim:
        left = cycles

        def tick(self):
            if not self.left:
                raise Stopped
            self.left -= 1
            return ctx.tick()

        def __getattr__(self, name):
            return getattr(ctx, name)

    try:
        await driver.process(Shim())
    except Stopped:
        pass
