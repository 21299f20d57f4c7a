# SPDX-License-Identifier: BSD-2-Clause
import pytest
from amaranth.sim import Simulator

from quintet.gateware.bus.watchdog import BusWatchdog


def simulate(body, limit=16):
    dut = BusWatchdog(limit=limit)
    sim = Simulator(dut)
    sim.add_clock(1e-6)

    async def testbench(ctx):
        await body(ctx, dut)

    sim.add_testbench(testbench)
    sim.run()


def test_a_silent_slave_ends_in_err():
    async def body(ctx, dut):
        for _ in range(3):
            ctx.set(dut.master.cyc, 1)
            ctx.set(dut.master.stb, 1)
            waited = 0
            while not ctx.get(dut.master.err):
                assert not ctx.get(dut.master.ack)
                waited += 1
                await ctx.tick()
            assert waited == dut.limit
            assert not ctx.get(dut.slave.cyc), "the slave sees the cycle end"
            await ctx.tick()
            assert not ctx.get(dut.master.err), "one cycle only"
            ctx.set(dut.master.cyc, 0)
            ctx.set(dut.master.stb, 0)
            await ctx.tick()

    simulate(body)


def test_slow_slaves_in_a_row_are_left_alone():
    async def body(ctx, dut):
        ctx.set(dut.slave.dat_r, 0x1234)
        ctx.set(dut.master.cyc, 1)
        ctx.set(dut.master.stb, 1)
        for _ in range(20):
            # An answer in the last cycle that counts, again and again, without a pause between
            # cycles.
            for _ in range(dut.limit - 1):
                assert ctx.get(dut.slave.stb) and not ctx.get(dut.master.ack | dut.master.err)
                await ctx.tick()
            ctx.set(dut.slave.ack, 1)
            await ctx.tick()
            ctx.set(dut.slave.ack, 0)
            assert ctx.get(dut.master.ack) and not ctx.get(dut.master.err)
            assert ctx.get(dut.master.dat_r) == 0x1234
            assert not ctx.get(dut.slave.stb), "the slave sees the end of its cycle"
            await ctx.tick()

    simulate(body)


@pytest.mark.parametrize("limit", [0, 8, 100, 16.0, True])
def test_bad_limit(limit):
    with pytest.raises(
        ValueError, match="Limit of a bus cycle must be a power of two of at least 16"
    ):
        BusWatchdog(limit=limit)


@pytest.mark.parametrize("patience, limit", [(1, 16), (16, 16), (17, 32), (500, 512)])
def test_patience_raises_a_short_limit(patience, limit):
    assert BusWatchdog(limit=16, patience=patience).limit == limit
