# SPDX-License-Identifier: BSD-2-Clause
"""Delay lines: the cycles that they take, with registers, stages and block RAM."""

import random

import pytest
from amaranth import Module, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from quintet.gateware.parts.delays import DelayLine, Stages, delay


def test_delays_agree_and_clear_empties():
    m, clear = Module(), Signal()
    value = Signal(data.StructLayout({"low": 3, "high": 5}))
    stages = Stages(m, merged={2})
    late, emptied = (
        delay(m, value, 3, "late"),
        delay(m, value.as_value(), 3, "emptied", clear=clear),
    )
    line, kept, carried = (
        DelayLine(m, value.as_value(), "line"),
        stages.delay(value, 3),
        stages.carry(value, 0, 4),
    )
    assert late.shape() == value.shape() and stages.delay(value, 0) is value
    tap, none = line[3], line[0]
    first = stages(1, value.low + 1, 4, "first")
    second = stages(2, first + 1, 5, "second")
    rng, given = random.Random(1), []

    async def drive(ctx):
        fresh = 0
        for cycle in range(200):
            given.append(rng.getrandbits(8))
            ctx.set(value.as_value(), given[-1])
            wipe = rng.random() < 0.1
            ctx.set(clear, wipe)
            if cycle >= 3:
                want = given[cycle - 3]
                assert [ctx.get(v) for v in (late.as_value(), tap, kept, carried)] == [want] * 4
                assert ctx.get(emptied) == (want if fresh >= 3 else 0)
                assert (
                    ctx.get(none) == given[cycle] and ctx.get(second) == (given[cycle - 1] & 7) + 2
                )
            fresh = 0 if wipe else fresh + 1
            await ctx.tick()

    sim = Simulator(m)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.run()


@pytest.mark.parametrize("delay", (2, 3, 8))
def test_stored_lines_delay_as_registers_do(delay):
    m, value = Module(), Signal(16)
    stored, plain = DelayLine.stored(m, value, "stored", delay), DelayLine(m, value, "plain")
    pairs = [(stored[delay + k], plain[delay + k]) for k in range(2)]
    rng = random.Random(delay)

    async def drive(ctx):
        for cycle in range(60):
            ctx.set(value, rng.getrandbits(16))
            if cycle > 10:
                assert all(ctx.get(a) == ctx.get(b) for a, b in pairs)
            await ctx.tick()

    sim = Simulator(m)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.run()


def test_a_line_since_a_stage_is_that_stages():
    m, value = Module(), Signal(3)
    stored = DelayLine.stored(m, value, "stored", 2)
    assert stored.since(1)[1] is stored[2]


@pytest.mark.parametrize("delay", (1, 9))
def test_refused(delay):
    with pytest.raises(ValueError, match=f"^Delay of a stored line must be 2 to 8, not {delay}$"):
        DelayLine.stored(Module(), Signal(4), "line", delay)
