# SPDX-License-Identifier: BSD-2-Clause
"""The queue of two: order, capacity, one entry a cycle."""
import random
from collections import deque

from amaranth.sim import Simulator

from quintet.gateware.parts.pair import PairQueue


def test_order_and_capacity():
    dut = PairQueue(shape=8)
    rng = random.Random(3)

    async def drive(ctx):
        inside = deque()
        for cycle in range(3000):
            assert ctx.get(dut.i.ready) == (len(inside) < 2)
            assert ctx.get(dut.o.valid) == bool(inside)
            assert ctx.get(dut.o.payload) == (inside[0] if inside else 0)
            likely = (0.2, 0.5, 0.9, 1.0)[cycle // 100 % 4], (0.9, 1.0, 0.5, 0.2, 0.7)[cycle // 70 % 5]
            give, take, value = rng.random() < likely[0], rng.random() < likely[1], rng.getrandbits(8)
            ctx.set(dut.i.valid, give)
            ctx.set(dut.i.payload, value)
            ctx.set(dut.o.ready, take and bool(inside))
            room = len(inside) < 2
            if take and inside:
                inside.popleft()
            if give and room:
                inside.append(value)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.run()
