# SPDX-License-Identifier: BSD-2-Clause
"""How a run ends, and ports behind arbiters."""

import pytest

from quintet.gateware.cores.pim.engine.core import ManyCoreEngine
from quintet.gateware.cores.pim.engine.faults import RunEnd
from quintet.gateware.cores.pim.engine.tree import PortTree
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.shell.engine import Engine
from quintet.tools.build.bitstream import _synthesis
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.simulating import simulate

PARAMS = SPACE.resolve("sim", {"cores": 4})


async def run(ctx, dut, *, quiet_after=5, limit=60, **levels):
    """Begin, raise ``levels`` a few cycles later, and wait; returns the cycles from there to
    ``stop``, and to the end."""
    for name, value in (
        ("begin", 1),
        ("quiet", 0),
        ("finished", 0),
        ("blocked", 0),
        ("deadlock", 0),
        ("abort", 0),
        ("settled", 1),
    ):
        ctx.set(getattr(dut, name), value)
    for k in range(4):
        ctx.set(
            dut.core[k],
            {"fault": 0, "base": 0x1000 * k, "offset": 8 * k, "code": 16 + k, "detail": 100 + k},
        )
    await ctx.tick()
    ctx.set(dut.begin, 0)
    await ctx.tick().repeat(3)
    assert ctx.get(dut.running) and not ctx.get(dut.stop)
    for name, value in levels.items():
        if name == "faults":
            for k in value:
                ctx.set(dut.core[k].fault, 1)
        else:
            ctx.set(getattr(dut, name), value)
    stopped = 0
    while not ctx.get(dut.stop):
        await ctx.tick()
        stopped += 1
        assert stopped < limit
    ended = 0
    while not ctx.get(dut.finish):
        ctx.set(dut.quiet, 15 if ended >= quiet_after else 7)
        await ctx.tick()
        ended += 1
        assert ended < limit
    await ctx.tick()
    assert not ctx.get(dut.stop) and not ctx.get(dut.running)
    return stopped, ended


def told(ctx, dut):
    return tuple(
        ctx.get(getattr(dut, name))
        for name in ("code", "fault_core", "pc", "detail", "done", "stuck")
    )


def test_ends():
    dut = RunEnd(params=PARAMS)

    async def body(ctx):
        assert (await run(ctx, dut, finished=15))[0] <= 2
        assert told(ctx, dut) == (0, 0, 0, 0, 15, 0)
        stopped, ended = await run(ctx, dut, faults=[2], finished=1)
        assert stopped <= 4 and ended > 5, "stopped soon, finished when all is quiet"
        assert told(ctx, dut) == (18, 2, 0x2010, 102, 1, 0)
        await run(ctx, dut, faults=[3, 1], deadlock=1, abort=1)
        assert told(ctx, dut)[:4] == (17, 1, 0x1008, 101), "the lowest fault goes first"
        await run(ctx, dut, deadlock=1, abort=1, finished=1, blocked=14)
        assert told(ctx, dut) == (26, 1, 0x1008, 14, 1, 14)
        await run(ctx, dut, abort=1, finished=3, blocked=8)
        assert told(ctx, dut) == (8, 2, 0x2010, 0, 3, 8)
        # LOAD that ends without RUN: with a fault, or aborted.
        for code, want in ((27, 27), (0, 8)):
            for name, value in (
                ("load_code", code),
                ("load_detail", 0x42),
                ("image", 0x8000),
                ("refused", 1),
                ("quiet", 15),
                ("abort", 0),
            ):
                ctx.set(getattr(dut, name), value)
            await ctx.tick()
            ctx.set(dut.refused, 0)
            while not ctx.get(dut.finish):
                await ctx.tick()
            assert told(ctx, dut) == (want, 0, 0x8000, 0x42, 0, 0)
            await ctx.tick()

    simulate(dut, body)


@pytest.mark.parametrize(("ports", "outside"), [(9, 3), (17, 4), (65, 13)])
def test_tree(ports, outside):
    dut = PortTree(beat_bytes=2, ports=ports)
    assert len(dut.memory) == outside
    models = [MemoryModel(memory, size=256, seed=k) for k, memory in enumerate(dut.memory)]
    drivers = [PortDriver(port, seed=k) for k, port in enumerate(dut.port)]

    async def body(ctx):
        for k, model in enumerate(models):
            model.memory[:] = k
        answers = [driver.read(8, 3) for driver in drivers]
        for driver in drivers:
            await driver.drain(ctx)
        share = -(-ports // outside)
        assert [answer.bytes(2) for answer in answers] == [
            bytes([k // share] * 6) for k in range(ports)
        ]

    simulate(dut, body, surroundings=[m.process for m in models] + [d.process for d in drivers])


def test_few_ports_are_wires():
    assert len(PortTree(beat_bytes=2, ports=3).memory) == 3


def test_options_of_synthesis():
    assert _synthesis(ManyCoreEngine, "ecp5") == "-nowidelut"
    assert _synthesis(ManyCoreEngine, "ice40") == _synthesis(Engine, "ecp5") == ""
