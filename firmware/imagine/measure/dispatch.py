# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of the core's array side in Amaranth's simulator, with an input FIFO that is never
empty: dispatch cycle of each word, and cycle of each result in the output FIFO."""

from collections.abc import Sequence

from amaranth.sim import Simulator

from ....gateware.cores.imagine.engine.dispatch import Dispatch, Kind
from ....gateware.cores.imagine.engine.mapping import Mapping


def run(
    mapping: Mapping, words: Sequence[int], limit: int = 100_000
) -> tuple[list[int], list[tuple[int, int, Kind]]]:
    """Runs words: ``(starts, results)``, the cycle in which each word was dispatched, and (cycle,
    value, kind) of every entry of the output FIFO."""
    dut = Dispatch(mapping=mapping)
    starts, results = [], []

    async def drive(ctx):
        for _ in range(limit):
            if ctx.get(dut.swept):
                break
            await ctx.tick()
        for name, value in (("space", 1), ("allowance", 1 << 28), ("run", 1)):
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.items.ready, 1)
        fed = 0
        for cycle in range(limit):
            ctx.set(dut.words.valid, fed <= len(words))
            ctx.set(dut.words.payload.end, fed == len(words))
            if fed < len(words):
                ctx.set(dut.words.payload.word, words[fed])
            if ctx.get(dut.words.ready) and fed <= len(words):
                fed += 1
            if ctx.get(dut.issue.go):
                starts.append(cycle)
            if ctx.get(dut.items.valid):
                kind = Kind(ctx.get(dut.items.payload.kind))
                if kind == Kind.END:
                    break
                results.append((cycle, ctx.get(dut.items.payload.value), kind))
            await ctx.tick()
        else:
            raise AssertionError("the run does not end")
        assert ctx.get(dut.code) == 0, f"fault {ctx.get(dut.code)}"

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.run()
    return starts, results
