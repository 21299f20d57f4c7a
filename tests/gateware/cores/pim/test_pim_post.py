# SPDX-License-Identifier: BSD-2-Clause
"""Requantisation stage of the matrix unit by itself: results while LMem does not accept writes for
long."""

import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.cores.pim.engine.matrix.lanes import MatrixLanes
from quintet.gateware.cores.pim.engine.matrix.post import MatrixPost
from tests.gateware.cores.pim.bench.units import sizes

SUM_BITS = 34
COMMANDS = 6
LONGEST_STALL = 40


def expected_bytes(sums, obiw, shift, relu):
    """Results of a command as they lie in memory."""
    most, size, result = (1 << obiw - 1) - 1, -(-obiw // 8), b""
    for value in sums:
        value = max(value >> shift, 0) if relu else value >> shift
        value = min(max(value, -most - 1), most)
        result += value.to_bytes(size, "little", signed=True)
    return result


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_sums_of_the_next_tile_do_not_reach_stalled_results(lanes, seed):
    rng = random.Random(10 * lanes + seed)
    params = sizes("sim", {"lanes": lanes, "lmem_bytes": 1024})
    dut = MatrixPost(params=params, sum_width=SUM_BITS)
    width = 2**30
    jobs = []
    for number in range(COMMANDS):
        cols, obiw = rng.randrange(1, 3 * lanes + 1), rng.choice((8, 13, 16, 20, 32))
        sums = [rng.choice((1, -1)) * rng.randrange(1 << rng.randrange(1, 34)) for _ in range(cols)]
        jobs.append((sums, obiw, rng.choice((0, 1, 7, 17, 35)), rng.randrange(2), 128 * number))
    memory, done = bytearray(1024), []

    async def feed(ctx):
        ctx.set(dut.available, 1)
        for number, (sums, obiw, shift, relu, dst) in enumerate(jobs):
            command = {"dst": dst, "cols": len(sums) - 1, "obiw": obiw, "shift": shift}
            ctx.set(dut.command, command | {"relu": relu, "tag": number})
            tiles = -(-len(sums) // lanes)
            for tile in range(tiles):
                await ctx.tick().until(dut.space)
                ctx.set(dut.tile, 1)
                ctx.set(dut.first, tile == 0)
                ctx.set(dut.last, tile == tiles - 1)
                await ctx.tick()
                ctx.set(dut.tile, 0)
                await ctx.tick().repeat(MatrixLanes.LATENCY - 1)
                ctx.set(dut.arrived, 1)
                for group in range(dut.groups):
                    # What stood there goes when the tile's sums come, whoever still wants it.
                    for lane in range(group * dut.group_lanes, (group + 1) * dut.group_lanes):
                        at = tile * lanes + lane
                        ctx.set(
                            dut.sums[lane], sums[at] if at < len(sums) else rng.randrange(width)
                        )
                    await ctx.tick()
                    ctx.set(dut.arrived, 0)

    async def write(ctx):
        request = dut.write.request
        while len(done) < COMMANDS:
            ctx.set(request.ready, 0)
            await ctx.tick().repeat(rng.choice((1, 2, rng.randrange(1, LONGEST_STALL))))
            ctx.set(request.ready, 1)
            for _ in range(rng.randrange(1, 4)):
                if ctx.get(request.valid):
                    payload = request.payload
                    data = ctx.get(payload.data).to_bytes(params["vec_bytes"], "little")
                    for k, byte in enumerate(data):
                        if ctx.get(payload.mask) >> k & 1:
                            memory[(ctx.get(payload.address) + k) % len(memory)] = byte
                    if ctx.get(dut.ends.done):
                        done.append(ctx.get(dut.ends.tag))
                await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(feed)
    sim.add_testbench(write)
    sim.run_until(1e-6 * 20_000)
    assert done == list(range(COMMANDS))
    for sums, obiw, shift, relu, dst in jobs:
        expected = expected_bytes(sums, obiw, shift, relu)
        assert memory[dst : dst + len(expected)] == expected, (obiw, shift, relu, sums)
