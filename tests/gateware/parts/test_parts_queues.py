# SPDX-License-Identifier: BSD-2-Clause
"""Queues: order, capacity, one entry a cycle."""

import random
from collections import deque

import pytest

from quintet.gateware.parts.queues import PairQueue, RAMQueue, ShiftQueue, StreamBuffer
from tests.support.shares import fewer
from tests.support.simulating import simulate


@pytest.mark.parametrize(
    "make",
    [
        lambda: ShiftQueue(shape=8, depth=1),
        lambda: ShiftQueue(shape=8, depth=2),
        lambda: ShiftQueue(shape=8, depth=5),
        lambda: StreamBuffer(shape=8),
    ],
    ids=["depth-1", "depth-2", "depth-5", "buffer"],
)
@pytest.mark.parametrize("giving,taking", [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.6)])
def test_order_and_rate(make, giving, taking):
    rnd = random.Random(5)
    dut = make()
    sent = [rnd.randrange(256) for _ in range(fewer(300))]
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

    simulate(dut, send, receive)
    assert got == sent
    if giving == taking == 1.0 and getattr(dut, "depth", 2) > 1:
        assert cycles[-1] - cycles[0] == len(sent) - 1


def test_order_and_capacity_of_a_pair():
    dut = PairQueue(shape=8)
    rng = random.Random(3)

    async def drive(ctx):
        inside = deque()
        for cycle in range(3000):
            assert ctx.get(dut.i.ready) == (len(inside) < 2)
            assert ctx.get(dut.o.valid) == bool(inside)
            assert ctx.get(dut.o.payload) == (inside[0] if inside else 0)
            likely = (
                (0.2, 0.5, 0.9, 1.0)[cycle // 100 % 4],
                (0.9, 1.0, 0.5, 0.2, 0.7)[cycle // 70 % 5],
            )
            give, take, value = (
                rng.random() < likely[0],
                rng.random() < likely[1],
                rng.getrandbits(8),
            )
            ctx.set(dut.i.valid, give)
            ctx.set(dut.i.payload, value)
            ctx.set(dut.o.ready, take and bool(inside))
            room = len(inside) < 2
            if take and inside:
                inside.popleft()
            if give and room:
                inside.append(value)
            await ctx.tick()

    simulate(dut, drive)


@pytest.mark.parametrize("depth", [16, 32])
@pytest.mark.parametrize("giving,taking", [(1.0, 1.0), (0.9, 0.3), (0.3, 0.9)])
def test_order_and_space_of_a_ram_queue(giving, taking, depth):
    rnd = random.Random(int(10 * giving))
    dut = RAMQueue(shape=8, depth=depth)
    model, seen = deque(), set()

    async def drive(ctx):
        for _ in range(600):
            assert ctx.get(dut.o.valid) == bool(model)
            assert ctx.get(dut.space) == (len(model) < depth)
            seen.add(len(model))
            if model:
                assert ctx.get(dut.o.payload) == model[0]
            put, take, value = (
                ctx.get(dut.space) and rnd.random() < giving,
                rnd.random() < taking,
                rnd.randrange(256),
            )
            ctx.set(dut.put, put)
            ctx.set(dut.entry, value)
            ctx.set(dut.o.ready, take)
            await ctx.tick()
            if take and model:
                model.popleft()
            if put:
                model.append(value)

    simulate(dut, drive)
    assert max(seen) == (1 if giving == taking else depth if giving > taking else max(seen))
