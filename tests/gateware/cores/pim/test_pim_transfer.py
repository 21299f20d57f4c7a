# SPDX-License-Identifier: BSD-2-Clause
"""Transfer units, each with its local memory and main memory of its own, joined by the crossbar."""

import random

import numpy as np
import pytest
from amaranth import Elaboratable, Module
from amaranth.lib.wiring import connect

from quintet.gateware.cores.pim.engine.commands import TransferOp
from quintet.gateware.cores.pim.engine.crossbar import Crossbar
from quintet.gateware.cores.pim.engine.memory.lmem import TRANSFER, VECTOR, LocalMemory
from quintet.gateware.cores.pim.engine.transfer.unit import TransferUnit
from quintet.gateware.cores.pim.params import SPACE
from tests.support.memory_model import MemoryModel
from tests.support.shares import shares, some
from tests.support.simulating import design, simulate

MEMORY = 4096
LD, ST, LLDI, LMV, SEND, RECV = TransferOp


class Joined(Elaboratable):
    """Transfer units and their local memories at the crossbar."""

    def __init__(self, params, beat_bytes):
        self.bar = Crossbar(params=params)
        self.units = [
            TransferUnit(params=params, beat_bytes=beat_bytes, memory_size=MEMORY)
            for _ in range(params["cores"])
        ]
        self.lmems = [LocalMemory(params=params) for _ in self.units]

    def elaborate(self, platform):
        m = Module()
        m.submodules.bar = self.bar
        for k, (unit, lmem) in enumerate(zip(self.units, self.lmems, strict=True)):
            m.submodules[f"unit_{k}"], m.submodules[f"lmem_{k}"] = unit, lmem
            connect(m, unit.read, lmem.read[TRANSFER])
            connect(m, unit.write, lmem.write[TRANSFER])
            connect(m, unit.crossbar, self.bar.port[k])
        return m


class Machine:
    """Units without processors: ``give`` hands a command to one, ``done`` has the cycle of each
    report."""

    def __init__(
        self, *, cores=1, beat=8, word=8, lmem=1024, seed=0, busy=0.0, preset=None, **model
    ):
        self.params = SPACE.resolve(
            preset or "sim",
            {
                "cores": cores,
                "lmem_bytes": lmem,
                "vec_bytes": word,
                "max_biw": 8 * min(word, 4),
                "x_bits": 8,
            },
        )
        self.dut = design(Joined, self.params, beat)
        self.bar, self.units, self.lmems = self.dut.bar, self.dut.units, self.dut.lmems
        self.busy, self.random, self.models = busy, random.Random(seed), []
        for k, unit in enumerate(self.units):
            self.models.append(MemoryModel(unit.memory, size=MEMORY, seed=seed + k, **model))
            self.models[-1].memory[:] = np.random.default_rng(seed + k).integers(
                0, 256, MEMORY, dtype=np.uint8
            )
        self.done = [{} for _ in range(cores)]
        self.errors = [{} for _ in range(cores)]
        self.cycle = 0
        self.sent = [0] * cores

    async def watch(self, ctx):
        while True:
            # As it stands at the end of the cycle: whether a word is written is known once the
            # others' wishes are.
            values = await ctx.tick().sample(
                *(u.progress for u in self.units), *(u.comm_bytes for u in self.units)
            )
            for k in range(len(self.units)):
                report = values[2 + k]
                self.sent[k] += values[2 + len(self.units) + k]
                if report.done:
                    assert report.tag not in self.done[k], "a tag is reported once"
                    self.done[k][report.tag] = self.cycle
                    if report.error:
                        self.errors[k][report.tag] = report.code, report.detail
            self.cycle += 1
            # The vector unit disturbs.
            for lmem in self.lmems:
                ctx.set(lmem.read[VECTOR].request.valid, self.random.random() < self.busy)
                ctx.set(lmem.write[VECTOR].request.valid, self.random.random() < self.busy)

    async def give(self, ctx, unit, op, tag, **fields):
        stream = self.units[unit].command
        ctx.set(stream.payload, {"op": op, "tag": tag, **fields})
        ctx.set(stream.valid, 1)
        await ctx.tick().until(stream.ready)
        ctx.set(stream.valid, 0)
        return self.cycle

    async def wait(self, ctx, core, tag, limit=4000):
        start = self.cycle
        while tag not in self.done[core]:
            await ctx.tick()
            assert self.cycle - start < limit, f"command {tag} of core {core} is not done"
        return self.done[core].pop(tag)

    async def run(self, ctx, unit, op, **fields):
        begin = await self.give(ctx, unit, op, 7, **fields)
        return await self.wait(ctx, unit, 7) - begin

    async def poke(self, ctx, core, data):
        """Fill the local memory."""
        self.models[core].memory[: len(data)] = np.frombuffer(bytes(data), np.uint8)
        for at in range(0, len(data), 1024):
            await self.run(ctx, core, LD, dst=at, gmem=at, size=min(1024, len(data) - at))

    async def peek(self, ctx, core, size):
        for at in range(0, size, 1024):
            await self.run(ctx, core, ST, src=at, gmem=2048 + at, size=min(1024, size - at))
        return self.models[core].memory[2048 : 2048 + size].tobytes()

    def simulate(self, *bodies):
        models = [model.process for model in self.models]
        simulate(self.dut, *bodies, surroundings=[*models, self.watch])


SHAPES = [(8, 8), (2, 8), (8, 4), (1, 2), (4, 2), (2, 2), (8, 1)]


@shares
@pytest.mark.parametrize(("beat", "word"), SHAPES)
def test_load_and_store_of_every_alignment(beat, word, share):
    bench = Machine(beat=beat, word=word, seed=beat * 10 + word, busy=0.3)
    rng = random.Random(beat + word)
    memory, model = bench.models[0].memory, bench.models[0]

    async def body(ctx):
        local = bytes(rng.randbytes(1024))
        await bench.poke(ctx, 0, local)
        for _ in range(some(60, share)):
            size, gmem, place = rng.randint(1, 20), rng.randint(0, 80), rng.randint(0, 80)
            memory[:100] = rng.randbytes(100) and np.frombuffer(rng.randbytes(100), np.uint8)
            before = memory.copy()
            if rng.random() < 0.5:
                await bench.run(ctx, 0, ST, src=place, gmem=gmem, size=size)
                before[gmem : gmem + size] = np.frombuffer(local[place : place + size], np.uint8)
            else:
                await bench.run(ctx, 0, LD, dst=place, gmem=gmem, size=size)
                local = local[:place] + memory[gmem : gmem + size].tobytes() + local[place + size :]
            assert (memory == before).all()
        assert await bench.peek(ctx, 0, 128) == local[:128]
        assert model.outstanding == 0 and ctx.get(bench.units[0].quiet)

    bench.simulate(body)


@shares
@pytest.mark.parametrize(("beat", "word"), [(8, 8), (2, 4)])
def test_many_in_flight(beat, word, share):
    """Commands that do not touch each other, as fast as they are taken, in any order of
    completion."""
    bench = Machine(beat=beat, word=word, seed=3, latency=(20, 60), stall=0.4)
    rng = random.Random(4)
    memory = bench.models[0].memory

    async def body(ctx):
        local = bytearray(rng.randbytes(1024))
        await bench.poke(ctx, 0, local)
        want = None
        for _ in range(some(25, share)):
            want = memory.copy()
            slots = [
                (64 * k + rng.randrange(16), 64 * k + rng.randrange(16), rng.randint(1, 48))
                for k in range(8)
            ]
            for tag, (place, other, size) in enumerate(slots[:4]):
                op = rng.choice((LD, ST, LMV, LLDI))
                source = 512 + other
                if op == LD:
                    await bench.give(ctx, 0, LD, tag, dst=place, gmem=source, size=size)
                    local[place : place + size] = want[source : source + size].tobytes()
                elif op == ST:
                    await bench.give(ctx, 0, ST, tag, src=place, gmem=other, size=size)
                    want[other : other + size] = np.frombuffer(
                        bytes(local[place : place + size]), np.uint8
                    )
                elif op == LMV:
                    await bench.give(ctx, 0, LMV, tag, dst=place, src=source, size=size)
                    local[place : place + size] = local[source : source + size]
                else:
                    await bench.give(ctx, 0, LLDI, tag, dst=place, imm=165, size=size)
                    local[place : place + size] = bytes([165]) * size
            for tag in range(4):
                await bench.wait(ctx, 0, tag)
            assert (memory == want).all()
        assert await bench.peek(ctx, 0, 1024) == bytes(local)

    bench.simulate(body)


def test_moves_and_their_cycles():
    bench = Machine()

    async def body(ctx):
        local = bytearray(random.Random(1).randbytes(1024))
        await bench.poke(ctx, 0, local)
        for size, source, place in (
            (1, 0, 3),
            (8, 5, 5),
            (9, 100, 96),
            (48, 17, 200),
            (1000, 24, 0),
            (600, 301, 300),
        ):
            cycles = await bench.run(ctx, 0, LMV, src=source, dst=place, size=size)
            local[place : place + size] = local[source : source + size]
            assert cycles <= -(-size // 8) + 6
        for size in (1, 8, 64, 100):
            assert await bench.run(ctx, 0, LLDI, dst=size, imm=size, size=size) <= -(-size // 8) + 4
            local[size : 2 * size] = bytes([size]) * size
        begin = bench.cycle
        for tag in range(6):
            await bench.give(ctx, 0, LMV, tag, src=16 * tag, dst=512 + 16 * tag, size=4)
            local[512 + 16 * tag : 516 + 16 * tag] = local[16 * tag : 16 * tag + 4]
        await bench.wait(ctx, 0, 5)
        assert bench.cycle - begin <= 4 * 6, "small moves follow each other"
        bench.done[0].clear()
        assert await bench.peek(ctx, 0, 1024) == bytes(local)

    bench.simulate(body)


@pytest.mark.parametrize("offset", [0, 3])
def test_bandwidth(offset):
    """2,000 bytes at the speed of the memory and 40 cycles, 60 where they are not aligned (section
    10)."""
    bench = Machine(lmem=4096, latency=(12, 12), stall=0.0, depth=8)

    async def body(ctx):
        assert await bench.run(
            ctx, 0, LD, dst=offset and 5, gmem=offset, size=2000
        ) <= 1.15 * 250 + 40 + 20 * bool(offset)
        assert await bench.run(
            ctx, 0, ST, src=offset and 5, gmem=2048 - offset, size=2000
        ) <= 1.15 * 250 + 40 + 20 * bool(offset)
        assert (
            bench.models[0].memory[2048 - offset : 4048 - offset]
            == bench.models[0].memory[offset : 2000 + offset]
        ).all()

    bench.simulate(body)


@pytest.mark.parametrize("word", [8, 4, 1])
@pytest.mark.parametrize("late", [0, 1])
def test_send_and_recv(word, late):
    bench = Machine(cores=2, word=word, busy=0.2 if word < 8 else 0)

    async def body(ctx):
        data = [random.Random(k).randbytes(1024) for k in range(2)]
        for k in range(2):
            await bench.poke(ctx, k, data[k])
        for size, source, place in ((1000, 3, 9), (1, 0, 0), (8, 1, 7), (33, 100, 200)):
            first, second = ((0, SEND), (1, RECV))[:: 1 - 2 * late]
            for core, op in (first, second):
                if (core, op) == second:
                    for _ in range(20):
                        await ctx.tick()
                    assert (
                        ctx.get(bench.units[first[0]].waiting)
                        and ctx.get(bench.units[first[0]].waiting_read) == late
                    )
                    assert not ctx.get(bench.bar.moving)
                begin = await bench.give(
                    ctx, core, op, 1, src=source, dst=place, core=1 - core, size=size
                )
            data[1] = data[1][:place] + data[0][source : source + size] + data[1][place + size :]
            ends = [await bench.wait(ctx, core, 1) - begin for core in range(2)]
            if word == 8:
                assert max(ends) <= -(-size // 8) + 12
            assert ends[0] >= ends[1] - 1, "no sender is done before its bytes are there"
        assert sum(bench.sent) == bench.sent[0] == 1042
        assert await bench.peek(ctx, 1, 1024) == data[1]

    bench.simulate(body)


def test_all_pairs():
    """Four cores, every one sends to every other, in orders drawn so that they can meet."""
    bench = Machine(cores=4, word=4, seed=2)
    rng = random.Random(9)
    rounds = [
        rng.sample([(a, b) for a in range(4) for b in range(4) if a != b], 12) for _ in range(3)
    ]
    plan = [[] for _ in range(4)]
    for number, (a, b) in enumerate(pair for turn in rounds for pair in turn):
        size = rng.randint(1, 60)
        plan[a].append((SEND, b, 8 * a, size, number))
        plan[b].append((RECV, a, 64 + 16 * number, size, number))
    data = [bytearray(random.Random(k).randbytes(1024)) for k in range(4)]
    begun = []

    def core(k):
        async def body(ctx):
            await bench.poke(ctx, k, data[k])
            begun.append(k)
            while len(begun) < 4:
                await ctx.tick()
            for op, peer, at, size, _ in plan[k]:
                for _ in range(rng.randrange(10)):
                    await ctx.tick()
                await bench.run(ctx, k, op, src=at, dst=at, core=peer, size=size)
                if op == RECV:
                    data[k][at : at + size] = data[peer][8 * peer : 8 * peer + size]
            assert await bench.peek(ctx, k, 1024) == bytes(data[k])

        return body

    bench.simulate(*(core(k) for k in range(4)))


def test_sizes_that_differ():
    bench = Machine(cores=2)

    async def body(ctx):
        await bench.give(ctx, 1, RECV, 3, dst=0, core=0, size=40)
        await bench.give(ctx, 0, SEND, 2, src=0, core=1, size=100)
        await bench.wait(ctx, 0, 2)
        assert bench.errors[0] == {2: (25, 100 << 16 | 40)}
        for _ in range(50):
            await ctx.tick()
        assert not bench.done[1] and bench.sent == [0, 0]
        for unit in bench.units:
            ctx.set(unit.stop, 1)
        await bench.wait(ctx, 1, 3)
        for unit in bench.units:
            ctx.set(unit.stop, 0)
        # And the next ones meet as ever.
        await bench.give(ctx, 1, RECV, 3, dst=0, core=0, size=8)
        assert await bench.run(ctx, 0, SEND, src=0, core=1, size=8) <= 13

    bench.simulate(body)


@pytest.mark.parametrize(
    ("op", "gmem", "size", "detail"),
    [
        (LD, MEMORY - 100, 200, MEMORY),
        (ST, MEMORY - 100, 200, MEMORY),
        (LD, MEMORY + 5, 3, MEMORY + 5),
        (ST, MEMORY + 5, 3, MEMORY + 5),
        (LD, MEMORY - 1000, 2047, MEMORY),
        (ST, MEMORY - 1003, 2047, MEMORY),
    ],
)
def test_bus_errors(op, gmem, size, detail):
    bench = Machine(lmem=4096)

    async def body(ctx):
        await bench.run(ctx, 0, op, src=0, dst=0, gmem=gmem, size=size)
        assert bench.errors[0] == {7: (6, detail)}
        bench.errors[0].clear()
        await bench.run(ctx, 0, op, src=0, dst=0, gmem=64, size=20)
        assert not bench.errors[0], "the next one is not blamed"

    bench.simulate(body)
