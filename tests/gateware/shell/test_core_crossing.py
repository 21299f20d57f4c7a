# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.shell.control import ControlBlock
from quintet.gateware.shell.crossing import CountCrossing, CrossingFIFO
from quintet.gateware.shell.engine import EngineControl
from tests.support.simulating import simulate


@pytest.mark.parametrize("ratio, bits", [(0.3, 2), (1.0, 2), (1.9, 2), (5.3, 3)])
def test_every_event_counts_once_and_before_the_mark(ratio, bits):
    chance = random.Random(bits)
    dut = CountCrossing(events=3, bits=bits, domain="far")
    sent, got, at_mark = [0] * 3, [0] * 3, []

    async def far(ctx):
        for _ in range(400):
            events = chance.randrange(8) if chance.random() < 0.9 else 7
            ctx.set(dut.event, events)
            sent[:] = [n + (events >> i & 1) for i, n in enumerate(sent)]
            await ctx.tick("far")
        # The last events come with the mark.
        ctx.set(dut.event, 7)
        ctx.set(dut.mark, 1)
        sent[:] = [n + 1 for n in sent]
        await ctx.tick("far")
        ctx.set(dut.event, 0)

    async def near(ctx):
        for _ in range(round(401 / ratio) + 20):
            _, _, marked, *increments = await ctx.tick().sample(dut.marked, *dut.increment)
            got[:] = [n + new for n, new in zip(got, increments, strict=True)]
            if marked:
                at_mark.append(list(got))

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_clock(1e-6 / ratio, phase=0.3e-6, domain="far")
    sim.add_testbench(far)
    sim.add_testbench(near)
    sim.run()
    assert got == sent
    assert at_mark and at_mark[0] == sent


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.7])
@pytest.mark.parametrize("taking", [1.0, 0.5])
def test_fifo_keeps_order_and_pace(ratio, taking, small):
    chance = random.Random(7)
    dut = CrossingFIFO(shape=16, depth=16, w_domain="sync", r_domain="far", small=small)
    sent, got, cycles = [chance.randrange(1 << 16) for _ in range(300)], [], []

    async def near(ctx):
        for value in sent:
            ctx.set(dut.i.payload, value)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def far(ctx):
        cycle = 0
        while len(got) < len(sent):
            ready = chance.random() < taking
            ctx.set(dut.o.ready, ready)
            _, _, valid, value, level = await ctx.tick("far").sample(
                dut.o.valid, dut.o.payload, dut.level
            )
            cycle += 1
            assert valid == (level > 0) and level <= 16 + 1
            if valid and ready:
                got.append(value)
                cycles.append(cycle)
        _, _, valid = await ctx.tick("far").sample(dut.o.valid)
        assert not valid

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_clock(1e-6 / ratio, phase=0.17e-6, domain="far")
    sim.add_testbench(near)
    sim.add_testbench(far)
    sim.run()
    assert got == sent
    if taking == 1.0:
        # One entry a cycle of the slower clock.
        assert cycles[-1] - cycles[0] <= 300 * max(1, ratio) + 8


def test_control_block_counts_cycles_of_another_clock():
    """Several cycles in one of the main clock, each of its class; they add up."""
    chance = random.Random(4)
    control = EngineControl(cycle_bits=3)
    dut = ControlBlock(
        ident="TEST", version=(1, 0), params_hash=0, memory_size=4096, control=control, sampled=True
    )
    names = ("work", "fetch", "operand", "write", "other")
    totals, retired = dict.fromkeys(names, 0), 0

    async def access(ctx, offset, data=None):
        bus = dut.bus
        for signal, value in (
            (bus.adr, offset // 4),
            (bus.we, data is not None),
            (bus.dat_w, data or 0),
            (bus.sel, 15),
            (bus.cyc, 1),
            (bus.stb, 1),
        ):
            ctx.set(signal, value)
        (value,) = await ctx.tick().sample(bus.dat_r).until(bus.ack)
        ctx.set(bus.cyc, 0)
        ctx.set(bus.stb, 0)
        await ctx.tick()
        return value

    async def testbench(ctx):
        nonlocal retired
        engine = dut.engine
        ctx.set(dut.guard_idle, 1)
        ctx.set(engine.ready, 1)
        while await access(ctx, 0x14) & 1:
            pass
        await access(ctx, 0x10, 1)
        await ctx.tick().until(engine.start)
        for cycle in range(3000):
            left, classes = 7, {}
            for name in names:
                classes[name] = chance.randrange(left + 1) if chance.random() < 0.5 else 0
                left -= classes[name]
                totals[name] += classes[name]
            new = chance.randrange(8)
            retired += new
            ctx.set(engine.classes, classes)
            ctx.set(engine.retired, new)
            ctx.set(engine.finish, cycle == 2999)
            await ctx.tick()
        ctx.set(engine.finish, 0)
        got = {
            name: await access(ctx, offset)
            for name, offset in (
                ("cycles", 0x80),
                ("instructions", 0x88),
                ("work", 0x98),
                ("fetch", 0xA0),
                ("operand", 0xA8),
                ("write", 0xB0),
                ("other", 0xB8),
            )
        }
        assert got == {**totals, "cycles": sum(totals.values()), "instructions": retired}
        done.append(True)

    done = []
    simulate(dut, testbench)
    assert done


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: EngineControl(cycle_bits=2, views=3),
            "A core has 3 views or cycles of 2 bits, not both",
        ),
        (lambda: CountCrossing(events=1, bits=1, domain="far"), "bits must be at least 2, not 1"),
        (
            lambda: CountCrossing(events=1, bits=2, domain="sync"),
            "domain must be the name of a domain other than sync, not 'sync'",
        ),
    ],
)
def test_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
