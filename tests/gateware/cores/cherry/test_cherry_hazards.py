# SPDX-License-Identifier: BSD-2-Clause
"""Progress, the gate of a slot and the operations under way, against the rules they follow."""

import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.cores.cherry.engine.front.hazards import (
    DEPTH,
    ContextGate,
    InFlight,
    Progress,
)
from quintet.gateware.cores.cherry.engine.ops import Unit
from tests.support.shares import fewer
from tests.support.simulating import simulate

TURN = 1 << 9


def signed(value):
    value %= TURN
    return value - TURN if value & TURN >> 1 else value


def test_progress_counts_the_pulses():
    dut = Progress()
    rnd = random.Random(1)

    async def bench(ctx):
        counts = [[0, 0] for _ in range(4)]
        for _ in range(500):
            fetched, finished, clear = rnd.randrange(16), rnd.randrange(16), rnd.random() < 0.01
            for signal, value in (
                (dut.fetched, fetched),
                (dut.finished, finished),
                (dut.clear, clear),
            ):
                ctx.set(signal, value)
            await ctx.tick()
            for k in range(4):
                counts[k] = (
                    [0, 0]
                    if clear
                    else [counts[k][0] + (fetched >> k & 1), counts[k][1] + (finished >> k & 1)]
                )
                progress = ctx.get(dut.progress[k])
                assert [progress["fetched"], progress["finished"]] == [c % TURN for c in counts[k]]

    simulate(dut, bench)


@pytest.mark.parametrize("own", [None, *Unit])
def test_gate_follows_the_rule(own):
    dut = ContextGate(own=own)
    rnd = random.Random(2)

    def random_waits(progress):
        """Waits, and for each slot whether it may go."""
        allowed, waits = [True] * 34, []
        for unit in Unit:
            wait = {}
            for kind, count in progress[unit.value].items():
                size = rnd.randint(0, 32)
                distance = rnd.choice(
                    (rnd.randint(-128, 255), rnd.randint(-2, 34), size - 1, size, 255, -128, 64)
                )
                valid = rnd.random() < 0.3
                wait[kind] = {"valid": valid, "base": (count - distance) % TURN, "size": size}
                # A unit reads operands in the order of its slots.
                if kind == "finished" or unit is not own:
                    allowed = [
                        a and (not valid or distance >= min(c + 1, size))
                        for c, a in enumerate(allowed)
                    ]
            waits.append(wait)
        return waits, allowed

    async def bench(ctx):
        for _ in range(fewer(300)):
            progress = [
                {kind: rnd.randrange(TURN) for kind in ("fetched", "finished")} for _ in Unit
            ]
            waits, allowed = random_waits(progress)
            first_waits, first_allowed = random_waits(progress)
            ctx.set(dut.progress, progress)
            ctx.set(dut.waits, waits)
            ctx.set(dut.first_waits, first_waits)
            assert bool(ctx.get(dut.first)) == first_allowed[0]
            for c in rnd.sample(range(32), 6):
                ctx.set(dut.slot, c)
                assert [bool(ctx.get(dut.now)), bool(ctx.get(dut.after))] == allowed[c : c + 2]

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()


def test_operations_under_way():
    dut = InFlight()
    rnd = random.Random(3)

    def mask():
        return sum(1 << rnd.randrange(12) for _ in range(rnd.randrange(2))) & 0xFFF

    async def bench(ctx):
        held, issued, finished = [], 0, 0
        for _ in range(1200):
            assert ctx.get(dut.full) == (len(held) == DEPTH) and ctx.get(dut.empty) == (not held)
            assert ctx.get(dut.nearly) == (len(held) >= DEPTH - 1)
            reads, writes = mask(), mask()
            ctx.set(dut.reads, reads)
            ctx.set(dut.writes, writes)
            every = rnd.random() < 0.3
            ctx.set(dut.all, every)
            raw = [e for e in held if e["writes"] & (reads | writes)]
            war = [e for e in held if e["reads"] & writes]
            waits = ctx.get(dut.waits)
            for kind, found in (("finished", raw), ("fetched", war)):
                assert waits[kind]["valid"] == bool(found)
                if found:
                    base, size = found[0]["base"], found[0]["size"]
                    assert (
                        (waits[kind]["base"], waits[kind]["size"]) == ((base + size) % TURN, 0)
                        if every
                        else (base % TURN, size)
                    )
            marks = 0
            for e in held:
                marks |= e["marks"]
            assert ctx.get(dut.marks) == marks
            hold, clear, mark = rnd.random() < 0.1, rnd.random() < 0.01, rnd.choice((0, 0, 0, 1, 6))
            push = len(held) < DEPTH and rnd.random() < 0.5
            ctx.set(dut.hold, hold)
            ctx.set(dut.clear, clear)
            ctx.set(dut.mark, mark)
            ctx.set(dut.push, push)
            ctx.set(dut.finished, finished % TURN)
            retire = bool(held) and not hold and finished - held[-1]["base"] >= held[-1]["size"]
            assert ctx.get(dut.retire) == retire
            if held:
                assert ctx.get(dut.oldest.base) == held[-1]["base"] % TURN
            for e in held:
                e["marks"] |= mark
            if retire:
                held.pop()
            if push:
                entry = {
                    "reads": mask(),
                    "writes": mask(),
                    "base": issued % TURN,
                    "size": rnd.randint(1, 32),
                    "marks": 0,
                }
                ctx.set(dut.entry, entry | {"end": (issued + entry["size"]) % TURN})
                held.insert(0, entry | {"base": issued})
                issued += entry["size"]
            if clear:
                held = []
                finished = issued
            await ctx.tick()
            finished = min(issued, finished + rnd.randrange(12)) if held else issued
            for e in held:
                assert signed(e["base"] - issued) <= 0

    simulate(dut, bench)
