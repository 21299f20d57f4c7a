# SPDX-License-Identifier: BSD-2-Clause
"""The instruction supply: every instruction once, in order, in all code forms, at memories of all
widths."""

import random

import numpy as np
import pytest
from amaranth.hdl import ResetInserter, Signal

from quintet.gateware.cores.pim.engine.front.prefetch import BURST_BYTES, Prefetch
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.storage import STORAGES, expand
from tests.support.memory_model import MemoryModel
from tests.support.shares import fewer
from tests.support.simulating import simulate

PARAMS = SPACE.resolve("sim")


def random_word(rnd):
    op = rnd.choice((0, 1, 1, 3, 6, 7, 8, 10, 25, 28, 31, 32))
    low = op | rnd.getrandbits(5) << 6
    if op in (1, 6, 7):
        return low | rnd.choice((5, 0xFFFF_FFF0, 0x1234_5678)) << 32
    return (
        low
        | (rnd.getrandbits(20) << 11)
        | (rnd.getrandbits(32) << 32 if rnd.random() < 0.4 and op not in (0, 32) else 0)
    )


def pack(words, mode):
    return b"".join(STORAGES[mode].store(w) for w in words)


def run(
    code,
    count,
    mode,
    *,
    beat_bytes,
    seed=1,
    latency=(1, 12),
    stall=0.25,
    patience=0.7,
    address=0x108,
    params=PARAMS,
    fail=None,
    cycles=20_000,
):
    dut = Prefetch(params=params, beat_bytes=beat_bytes)
    model = MemoryModel(
        dut.memory, size=1 << 16, seed=seed, latency=latency, stall=stall, fail=fail
    )
    model.memory[:] = 0xA5
    model.memory[address : address + len(code)] = list(code)
    rnd = random.Random(seed)
    shown, took = [], []

    async def bench(ctx):
        ctx.set(dut.code, address)
        ctx.set(dut.code_bytes, len(code))
        ctx.set(dut.count, count)
        ctx.set(dut.mode, mode)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        for cycle in range(cycles):
            ctx.set(dut.words.ready, rnd.random() < patience)
            if ctx.get(dut.ended) and ctx.get(dut.idle):
                break
            if ctx.get(dut.words.valid) and ctx.get(dut.words.ready):
                p = ctx.get(dut.words.payload)
                shown.append((p.low | p.high << 32, p.long, p.error, p.beyond))
                took.append(cycle)
                if p.beyond:
                    break
            await ctx.tick()
        else:
            raise AssertionError("the code does not end")

    simulate(dut, bench, background=[model.process])
    return shown, took, model


@pytest.mark.parametrize("mode", (0, 1, 2))
@pytest.mark.parametrize("beat_bytes", (1, 2, 4, 8))
def test_shows_each_instruction_once(beat_bytes, mode):
    rnd = random.Random(beat_bytes * 10 + mode)
    for count in (1, 2, 3, 17, fewer(150 if beat_bytes < 4 else 400)):
        words = [random_word(rnd) for _ in range(count)]
        if mode == 1:
            words = [expand(w & 0xFFFF_FFFF) for w in words]
        code = pack(words, mode)
        shown, _, model = run(
            code, count, mode, beat_bytes=beat_bytes, seed=count, address=8 * rnd.randrange(1, 40)
        )
        assert [w for w, *_ in shown] == words
        assert [n for _, n, *_ in shown] == [len(STORAGES[mode].store(w)) == 8 for w in words]
        assert not any(e or b for *_, e, b in shown)
        whole = [a for a, beats, _ in model.log if beats * beat_bytes == BURST_BYTES]
        assert (
            all(a % BURST_BYTES == 0 for a in whole)
            and len(model.log) <= len(code) // BURST_BYTES + 2
        )


def test_one_instruction_a_cycle():
    words = [1 | (k % 32) << 6 | k << 32 for k in range(600)]
    _, took, _ = run(
        pack(words, 0), len(words), 0, beat_bytes=8, latency=(1, 1), stall=0, patience=1
    )
    assert took[-1] - took[0] <= 600 * 1.05 + 20
    words = [1 | (k % 32) << 6 | (k % 1000) << 32 for k in range(600)]
    _, took, _ = run(
        pack(words, 2), len(words), 2, beat_bytes=4, latency=(1, 1), stall=0, patience=1
    )
    assert took[-1] - took[0] <= 600 * 1.2 + 20


@pytest.mark.parametrize(
    "count,code,instructions",
    (
        (3, [1, 1, 33], 2),  # second half past the code
        (2, [1, 1, 1], 2),  # a word left over
        (1, [33, 7, 1, 1], 1),
        (4, [1, 1], 2),  # too short
        (1, [33], 0),
        (1, [], 0),
        (0, [1, 1], 0),  # no instruction, but words
    ),
)
def test_code_end(count, code, instructions):
    data = b"".join(w.to_bytes(4, "little") for w in code)
    for beat_bytes in (2, 8):
        shown, _, _ = run(data, count, 2, beat_bytes=beat_bytes)
        assert [b for *_, b in shown] == [0] * instructions + [1]


def test_no_code_ends_at_once():
    assert run(b"", 0, 0, beat_bytes=8)[0] == []


def test_a_bus_error_comes_with_its_instruction():
    words = [1 | k << 6 | k << 32 for k in range(20)]
    shown, _, _ = run(
        pack(words, 0),
        20,
        0,
        beat_bytes=4,
        address=0x100,
        fail=lambda a, write: a == 0x100 + 8 * 13 + 4,
    )
    assert [e for _, _, e, _ in shown] == [k == 13 for k in range(20)]


def test_a_stop_lasts():
    """What is left of the code is not fetched when ``stop`` falls: the next run would get it."""
    dut = Prefetch(params=PARAMS, beat_bytes=8)
    model = MemoryModel(dut.memory, size=1 << 14)

    async def bench(ctx):
        ctx.set(dut.code_bytes, 4096)
        ctx.set(dut.count, 512)
        for signal in (dut.start, dut.stop):
            ctx.set(signal, 1)
            await ctx.tick()
            ctx.set(signal, 0)
            await ctx.tick().repeat(60)
        ctx.set(dut.words.ready, 1)
        asked = len(model.log)
        await ctx.tick().repeat(200)
        assert asked >= 1 and len(model.log) == asked and ctx.get(dut.idle)

    simulate(dut, bench, background=[model.process])


def test_nothing_is_left_of_the_run_before():
    """A run that stops with code in the buffer, a reset, another run."""
    dut, clear = Prefetch(params=PARAMS, beat_bytes=8), Signal()
    model = MemoryModel(dut.memory, size=1 << 14, latency=(1, 1), stall=0)
    for run in range(2):
        words = np.arange(512, dtype=np.uint64) << np.uint64(32) | np.uint64(run << 20)
        model.memory[4096 * run : 4096 * run + 4096] = words.view(np.uint8)
    seen = []

    async def bench(ctx):
        ctx.set(dut.code_bytes, 4096)
        ctx.set(dut.count, 512)
        for run in range(2):
            for signal in (clear, dut.start):
                ctx.set(dut.code, 4096 * run)
                ctx.set(signal, 1)
                await ctx.tick()
                ctx.set(signal, 0)
                await ctx.tick().repeat(40)
            ctx.set(dut.words.ready, 1)
            for _ in range(5):
                if ctx.get(dut.words.valid):
                    seen.append(ctx.get(dut.words.payload.low) >> 20)
                await ctx.tick()
            ctx.set(dut.words.ready, 0)
            ctx.set(dut.stop, 1)
            await ctx.tick().repeat(60)
            ctx.set(dut.stop, 0)

    simulate(ResetInserter(clear)(dut), bench, background=[model.process])
    assert seen == [0] * 5 + [1] * 5
