# SPDX-License-Identifier: BSD-2-Clause
"""DMA against the golden model's transfers: formats, addresses, faults, stops, errors of the port,
speed."""

import random
from collections import deque

import numpy as np
import pytest

from quintet.gateware.cores.cherry.engine.memory.mover import Mover
from quintet.gateware.cores.cherry.engine.memory.mover_rows import FAULTS
from quintet.gateware.cores.cherry.engine.memory.scratchpad import DMA_LATENCY
from quintet.gateware.cores.cherry.image import FILL, FORMATS, IN, OUT, Descriptor, row_words
from quintet.gateware.cores.cherry.model.program import Work
from quintet.gateware.cores.cherry.model.transfers import MainMemory, _transfer
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.isa.outcome import RunFault
from tests.support.memory_model import MemoryModel
from tests.support.shares import fewer
from tests.support.simulating import design, simulate

SIZE = 1 << 14
MEM = 1 << 10
LOW18 = (1 << 18) - 1


class Bench:
    """A mover between a memory and a MEM in Python; ``counted``: bytes read and written."""

    def __init__(self, beat_bytes, seed=0, banks=4, **memory):
        self.params = SPACE.resolve("sim", {"log_mem": 10, "banks": banks})
        self.dut = design(Mover, params=self.params, beat_bytes=beat_bytes, memory_size=SIZE)
        self.main = MemoryModel(self.dut.port, size=SIZE, seed=seed, **memory)
        rnd = np.random.default_rng(seed)
        self.main.memory[:] = rnd.integers(0, 256, SIZE)
        # Half of the words are IEEE numbers of moderate size: rounding, not only NaN and infinity.
        self.mem = rnd.integers(0, 1 << 18, MEM)
        self.counted = [0, 0]
        self.cycles, self.writes = 0, 0

    def run(self, script):
        async def drive(ctx):
            ctx.set(self.dut.window_limit, SIZE)
            await script(ctx)

        simulate(self.dut, drive, background=[self.main.process, self._mem])

    async def _mem(self, ctx):
        faces, dut = list(self.dut.scratch), self.dut
        sampled = [s for f in faces for s in (f.enable, f.address, f.write, f.write_data)]
        late = deque([None] * (DMA_LATENCY - 1))
        while True:
            _, _, read, written, *values = await ctx.tick().sample(
                dut.bytes_read, dut.bytes_written, *sampled
            )
            self.cycles += 1
            self.counted[0] += read
            self.counted[1] += written
            banks, answers = set(), []
            for k in range(len(faces)):
                enable, address, write, value = values[4 * k : 4 * k + 4]
                answers.append(int(self.mem[address]) if enable else 0x2AAAA)
                if enable:
                    assert address % self.params["banks"] not in banks
                    banks.add(address % self.params["banks"])
                    if write:
                        self.mem[address] = value
                        self.writes += 1
            late.append(answers)
            due = late.popleft()
            if due is not None:
                for face, value in zip(faces, due, strict=True):
                    ctx.set(face.read_data, value)

    async def give(self, ctx, d):
        assert ctx.get(self.dut.descriptor.ready)
        ctx.set(
            self.dut.descriptor.payload,
            {
                "op": d.op,
                "format": FORMATS.index(d.format),
                "main": d.main & 0xFFFF_FFFF,
                "mem": d.mem,
                "cols": d.cols,
                "rows": d.rows,
                "pitch": d.pitch & 0xFFFF_FFFF,
                "mem_pitch": d.mem_pitch & LOW18,
                "mem_step": d.mem_step & LOW18,
            },
        )
        ctx.set(self.dut.descriptor.valid, 1)
        await ctx.tick()
        ctx.set(self.dut.descriptor.valid, 0)

    async def finish(self, ctx, limit=6000):
        """Waits for ``done``; error and detail."""
        for _ in range(limit):
            if ctx.get(self.dut.done):
                assert self.main.outstanding == 0
                return ctx.get(self.dut.error), ctx.get(self.dut.error_detail)
            await ctx.tick()
        raise AssertionError("no end")


def random_descriptor(rnd, faulty=False):
    op, fmt = rnd.choice((IN, IN, OUT, OUT, FILL)), rnd.choice(FORMATS)
    if op == FILL:
        fmt = "fp32"
    cols, rows = (
        rnd.choice((1, 2, 3, rnd.randrange(1, 40), rnd.randrange(1, 160))),
        rnd.choice((1, 2, rnd.randrange(1, 6))),
    )
    width = 4 * row_words(fmt, cols)
    pitch = rnd.choice((width, width + 4 * rnd.randrange(9), -width - 8))
    step = rnd.choice((1, 1, 1, 2, 4, -1, 0, 3, rnd.randrange(-9, 10)))
    mem_pitch = rnd.choice((cols * step, 5, 68, -20, 0))
    reach = [r * mem_pitch + c * step for r in (0, rows - 1) for c in (0, cols - 1)]
    low, high = min(reach), max(reach)
    if high - low >= MEM:
        return random_descriptor(rnd, faulty)
    mem = rnd.randrange(-low, MEM - high)
    bytes_low, bytes_high = min(0, (rows - 1) * pitch), max(0, (rows - 1) * pitch) + width
    main = 4 * rnd.randrange(-bytes_low // 4, (SIZE - bytes_high) // 4 + 1)
    if op == FILL:
        main = rnd.getrandbits(18)
    elif faulty and rnd.random() < 0.5:
        main = 4 * rnd.choice((rnd.randrange(SIZE // 4), SIZE // 4 - rnd.randrange(-4, 80)))
    if faulty and rnd.random() < 0.5:
        mem = rnd.randrange(MEM) if rnd.random() < 0.7 else rnd.randrange(1 << 18)
    if faulty and rnd.random() < 0.2:
        # Once around: legal, but every element is looked at.
        step = ((1 << 18) + step) & LOW18 if rnd.random() < 0.5 else LOW18 + 1 - (1 << 9)
    return Descriptor(op, fmt, main, mem, rows, cols, pitch, mem_pitch, step - (step >> 17 << 18))


def model(d, memory, mem, base=0, limit=SIZE):
    """(code, detail) of the descriptor on ``memory`` and ``mem``, bytes read and written."""
    work = Work()
    try:
        _transfer(d, 0, MainMemory(memory, base, limit), mem, work, None)
    except RunFault as fault:
        return (FAULTS[fault.name], fault.detail), work
    return (0, None), work


@pytest.mark.parametrize(
    ("beat_bytes", "banks", "number"), [(2, 4, 16), (4, 4, 24), (1, 2, 5), (8, 4, 8), (16, 2, 8)]
)
def test_random_descriptors(beat_bytes, banks, number):
    bench, rnd = Bench(beat_bytes, seed=beat_bytes, banks=banks), random.Random(beat_bytes)
    # Words that are numbers.
    words = bench.main.memory.view("<u4")
    words[::2] = words[::2] & 0x87FF_FFFF | 0x3800_0000

    async def script(ctx):
        for _ in range(number):
            d = random_descriptor(rnd)
            memory, mem = bench.main.memory.copy(), bench.mem.copy()
            bench.counted = [0, 0]
            outcome, work = model(d, memory, mem)
            await bench.give(ctx, d)
            assert (await bench.finish(ctx))[0] == outcome[0] == 0, d
            assert (bench.mem == mem).all(), d
            assert (bench.main.memory == memory).all(), d
            await ctx.tick()
            assert bench.counted == [work.bytes_read, work.bytes_written], d

    bench.run(script)


@pytest.mark.parametrize("beat_bytes", [2, 4])
def test_faults(beat_bytes):
    bench, rnd = Bench(beat_bytes, seed=9, stall=0.1, latency=(1, 4)), random.Random(77)
    found = set()

    async def script(ctx):
        for _ in range(30):
            d = random_descriptor(rnd, faulty=True)
            base, limit = (
                (4 * rnd.randrange(SIZE // 16), SIZE - 4 * rnd.randrange(SIZE // 16))
                if rnd.random() < 0.5
                else (0, 1 << 20)
            )
            ctx.set(bench.dut.window_base, base)
            ctx.set(bench.dut.window_limit, limit)
            memory, mem = bench.main.memory.copy(), bench.mem.copy()
            (code, detail), _ = model(d, memory, mem, base, limit)
            await bench.give(ctx, d)
            got = await bench.finish(ctx)
            assert got[0] == code and (not code or got[1] == detail), (
                d,
                got,
                code,
                detail,
                base,
                limit,
            )
            found.add(code)
            # Rows before the one that faults are whole, and nothing of it or after it has moved.
            assert (bench.mem == mem).all() and (bench.main.memory == memory).all(), d

    bench.run(script)
    assert found == {0, *FAULTS.values()}


@pytest.mark.parametrize("op", [IN, OUT])
def test_errors_of_the_port(op):
    bench = Bench(
        2, seed=4, stall=0.1, latency=(1, 6), fail=lambda address, write: address == 0x1234
    )
    d = Descriptor(op, "fp32", 0x1000, 0, 5, 100, 400, 100, 1)

    async def script(ctx):
        await bench.give(ctx, d)
        # Of a read the beat, of a write the burst.
        assert await bench.finish(ctx) == (6, 0x1234 if op == IN else 0x1190 + 0)
        await ctx.tick()
        good = Descriptor(op, "packed", 0x2000, 3, 3, 50, 128, 60, 1)
        memory, mem = bench.main.memory.copy(), bench.mem.copy()
        model(good, memory, mem)
        await bench.give(ctx, good)
        assert (await bench.finish(ctx))[0] == 0
        assert (bench.mem == mem).all() and (bench.main.memory == memory).all()

    bench.run(script)


@pytest.mark.parametrize("beat_bytes", [2, 4])
def test_stop_at_any_time(beat_bytes):
    bench, rnd = Bench(beat_bytes, seed=6, stall=0.1), random.Random(5)

    async def script(ctx):
        for _ in range(fewer(6)):
            d = random_descriptor(rnd)
            d = Descriptor(d.op, d.format, d.main if d.op == FILL else 0, 0, 6, 150, 640, 150, 1)
            memory, mem = bench.main.memory.copy(), bench.mem.copy()
            model(d, memory, mem)
            before = bench.main.memory.copy(), bench.mem.copy()
            await bench.give(ctx, d)
            await ctx.tick().repeat(rnd.randrange(1, 400))
            if not ctx.get(bench.dut.busy):
                continue
            ctx.set(bench.dut.stop, 1)
            await bench.finish(ctx, limit=1500)
            ctx.set(bench.dut.stop, 0)
            writes, requests = bench.writes, len(bench.main.log)
            await ctx.tick().repeat(20)
            assert bench.writes == writes and len(bench.main.log) == requests
            assert ((bench.mem == mem) | (bench.mem == before[1])).all()
            assert ((bench.main.memory == memory) | (bench.main.memory == before[0])).all()

    bench.run(script)


@pytest.mark.parametrize("beat_bytes", [2, 4])
@pytest.mark.parametrize("op", [IN, OUT])
def test_speed(op, beat_bytes):
    """90 % of a port that answers at once, on rows of 64 elements."""
    bench = Bench(beat_bytes, stall=0, latency=(4, 4), depth=8)
    times = {}

    async def script(ctx):
        for fmt in FORMATS:
            d = Descriptor(op, fmt, 0, 0, 12, 64, 64 * 4, 68, 1)
            before = bench.cycles
            await bench.give(ctx, d)
            assert (await bench.finish(ctx))[0] == 0
            await ctx.tick()
            beats = 12 * row_words(fmt, 64) * 4 // beat_bytes
            times[fmt] = beats, bench.cycles - before

    bench.run(script)
    # A few cycles of beginning and end.
    assert all(cycles <= beats / 0.9 + 50 for beats, cycles in times.values()), times


@pytest.mark.parametrize("size", [3, 32, True])
def test_refused(size):
    with pytest.raises(ValueError) as error:
        Mover(params=SPACE.resolve("sim", {}), beat_bytes=size)
    assert str(error.value) == f"Beat size must be 1, 2, 4, 8 or 16 bytes, not {size!r}"
