# SPDX-License-Identifier: BSD-2-Clause
"""Parts of the OPU's engine alone: refusals, the region table, fetch, derived numbers, requests,
packing of stores."""

import random

import pytest
from amaranth import Module, ResetInserter, Signal
from amaranth.sim import Simulator

from quintet.gateware.cores.opu import geometry
from quintet.gateware.cores.opu.core import variant
from quintet.gateware.cores.opu.engine.core import PipelinedEngine
from quintet.gateware.cores.opu.engine.front.derived import SETTLE, Derived
from quintet.gateware.cores.opu.engine.front.fetch import Fetch
from quintet.gateware.cores.opu.engine.front.legality import illegal
from quintet.gateware.cores.opu.engine.front.regions import RegionTable
from quintet.gateware.cores.opu.engine.transfer.requests import Requests, burst_of
from quintet.gateware.cores.opu.engine.transfer.stores import Stores
from quintet.gateware.cores.opu.isa import INSTRUCTIONS
from quintet.gateware.cores.opu.params import SPACE
from tests.support.shares import fewer
from tests.support.simulating import simulate

PARAMS = SPACE.resolve("sim")


@pytest.mark.parametrize(
    "change, arguments, message",
    [
        ({}, {"beat_bytes": 8}, "Beat size must be at most pi elements of ifm, 4 bytes, not 8"),
        ({"out_lanes": 3}, {}, "Parameter out_lanes must be a power of two, not 3"),
    ],
)
def test_refusals(change, arguments, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        PipelinedEngine(
            **{"params": {**PARAMS, **change}, "beat_bytes": 2, "memory_size": 1 << 16, **arguments}
        )


def test_the_engine_follows_its_parameter():
    assert variant(PARAMS, 4) is PipelinedEngine


def test_legal_values_are_those_of_the_table():
    """For every field, every value of its bits."""
    for instruction in INSTRUCTIONS:
        for field in instruction.fields:
            bits, out = Signal(field.width), Signal()
            wrong = illegal(field, bits)
            if wrong is None:
                assert len(field.values) == 1 << field.width
                continue
            m = Module()
            m.d.comb += out.eq(wrong)

            async def drive(ctx, field=field, bits=bits, out=out):
                for raw in range(1 << field.width):
                    ctx.set(bits, raw)
                    await ctx.delay(1e-9)
                    assert ctx.get(out) == (field.extract(raw << field.lo) is None), (field, raw)

            sim = Simulator(m)
            sim.add_testbench(drive)
            sim.run()


# The region table


def test_region_table():
    table = RegionTable()

    async def drive(ctx):
        while not ctx.get(table.ready):
            await ctx.tick()

        async def read(word):
            ctx.set(table.address, word)
            await ctx.tick()
            return ctx.get(table.read_data)

        async def write(word, value):
            ctx.set(table.address, word)
            ctx.set(table.write_data, value)
            ctx.set(table.write, 1)
            await ctx.tick()
            ctx.set(table.write, 0)

        for r in range(16):
            assert await read(0x40 + r) == r << 28 and await read(0x50 + r) == 1 << 28
        for word, value, kept in (
            (0x45, 0x1234_5678, 0x1234_5640),
            (0x55, 0x1000_0040, 0x1000_0000),
            (0x51, 0x0FFF_FFFF, 0x0FFF_FFC0),
            (0x52, 0xFFFF_FFFF, 0x1000_0000),
            (0x53, 0, 0),
            (0x4F, 0xFFFF_FFFF, 0xFFFF_FFC0),
        ):
            await write(word, value)
            assert await read(word) == kept
        assert await read(0x44) == 4 << 28 and await read(0x54) == 1 << 28
        ctx.set(table.number, 5)
        await ctx.tick()
        assert ctx.get(table.base) == 0x1234_5640 >> 6 and ctx.get(table.limit) == 1 << 22

    simulate(table, drive)


# Fetch


@pytest.mark.parametrize("beat", [1, 2, 4, 8, 16])
def test_fetch(beat):
    """Every word in order, no request past the program or the window, and why there are no more."""
    fetch = Fetch(beat_bytes=beat)
    memory = random.Random(beat).randbytes(4096)
    asked = []

    async def serve(ctx):
        ctx.set(fetch.memory.req.ready, 1)
        while True:
            _, _, valid, request = await ctx.tick().sample(
                fetch.memory.req.valid, fetch.memory.req.payload
            )
            if valid:
                asked.append((request.address, (request.beats + 1) * beat))
                ctx.set(fetch.memory.req.ready, 0)
                for k in range(request.beats + 1):
                    at = request.address + k * beat
                    ctx.set(
                        fetch.memory.r.payload.data,
                        int.from_bytes(memory[at : at + beat], "little"),
                    )
                    ctx.set(fetch.memory.r.payload.last, k == request.beats)
                    ctx.set(fetch.memory.r.payload.error, at == 1024)
                    ctx.set(fetch.memory.r.valid, 1)
                    await ctx.tick()
                ctx.set(fetch.memory.r.valid, 0)
                ctx.set(fetch.memory.req.ready, 1)

    async def drive(ctx):
        # program and window in units of 64 bytes, length; words expected, whether the window ends
        # them
        for program, length, low, high, words, outside in (
            (1, 100, 0, 64, 25, 0),
            (2, 0, 0, 64, 0, 0),
            (3, 7, 0, 64, 1, 0),
            (0, 1 << 30, 0, 3, 48, 1),
            (5, 64, 5, 6, 16, 1),
            (5, 60, 5, 6, 15, 0),
            (4, 64, 5, 6, 0, 1),
            (9, 64, 5, 6, 0, 1),
            (15, 260, 0, 1 << 20, 65, 0),
            (6, 66, 5, 7, 16, 1),
            (5, 3, 5, 6, 0, 0),
        ):
            ctx.set(fetch.program, program)
            ctx.set(fetch.length, length)
            ctx.set(fetch.window_base, low)
            ctx.set(fetch.window_limit, high)
            ctx.set(fetch.start, 1)
            await ctx.tick()
            ctx.set(fetch.start, 0)
            got, errors, cycles = [], [], 0
            rng = random.Random(program)
            while not ctx.get(fetch.spent):
                ready = rng.random() < 0.7
                ctx.set(fetch.words.ready, ready)
                if ready and ctx.get(fetch.words.valid):
                    got.append(ctx.get(fetch.words.payload.word))
                    errors.append(ctx.get(fetch.words.payload.error))
                await ctx.tick()
                cycles += 1
                assert cycles < 2000
            assert ctx.get(fetch.outside) == outside and ctx.get(fetch.idle)
            begin = 64 * program
            assert got == [
                int.from_bytes(memory[begin + 4 * k : begin + 4 * k + 4], "little")
                for k in range(words)
            ]
            bad = {1024 // beat * beat + k for k in range(beat)}
            assert errors == [
                bool(bad & set(range(begin + 4 * k, begin + 4 * k + 4))) for k in range(words)
            ]
            for address, size in asked:
                assert begin <= address and address % 64 == 0 and size <= 64
                assert address + size <= -(-(begin + 4 * words) // beat) * beat
            asked.clear()
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)

    reset = Signal()
    top = Module()
    top.submodules.fetch = ResetInserter(reset)(fetch)
    simulate(top, drive, surroundings=(serve,))


# Derived numbers


@pytest.mark.parametrize("preset", ["sim", "85f", "25f"])
def test_derived(preset):
    params = SPACE.resolve(preset)
    derived = Derived(params=params)

    async def drive(ctx):
        rng = random.Random(7)
        for _ in range(25):
            side = lambda: rng.choice((1, 2, 127, rng.randrange(1, 128), rng.randrange(1, 20)))  # noqa: E731
            ifm, ofm = (
                (side(), side(), rng.choice((16, 32, 64))),
                (side(), side(), rng.choice((2, 4, 8, 16, 32, 64))),
            )
            taps, stride = rng.randrange(1, 37), (rng.randrange(1, 8), rng.randrange(1, 8))
            mem_w, out = (
                rng.choice((1, 1023, rng.randrange(1, 200))),
                (rng.randrange(1, 1024), rng.randrange(1, 1024)),
            )
            pool = (
                rng.randrange(1, 16),
                rng.randrange(1, 16),
                rng.randrange(1, 8),
                rng.randrange(1, 8),
            )
            order = rng.randrange(3)
            values = {
                "ifm_h": ifm[0],
                "ifm_w": ifm[1],
                "ifm_c": ifm[2].bit_length() - 5,
                "ofm_h": ofm[0],
                "ofm_w": ofm[1],
                "ofm_c": ofm[2].bit_length() - 1,
                "ker_n": taps,
                "stride_h": stride[0],
                "stride_w": stride[1],
                "ifm_mem_w": mem_w,
                "ofm_mem_h": out[0],
                "ofm_mem_w": out[1],
                "order": order,
                "pool_h": pool[0],
                "pool_w": pool[1],
                "pool_i": pool[2],
                "pool_j": pool[3],
            }
            for bit in ("any", "ifm", "out", "map"):
                ctx.set(derived.touched[bit], 1)
            await ctx.tick()
            for bit in ("any", "ifm", "out", "map"):
                ctx.set(derived.touched[bit], 0)
            for name, value in values.items():
                ctx.set(derived.config[name], value)
            cycles = 0
            while not ctx.get(derived.settled):
                await ctx.tick()
                cycles += 1
            assert cycles == SETTLE
            assert ctx.get(derived.top) == ifm[0] - 1 - (ofm[0] - 1) * stride[0]
            assert ctx.get(derived.left) == ifm[1] - 1 - (ofm[1] - 1) * stride[1]
            rows = geometry.ker_rows(taps, ofm[2], ifm[2], params["pi"], params["po"])
            assert (
                ctx.get(derived.kernel_rows) == rows and taps << ctx.get(derived.tap_shift) == rows
            )
            assert ctx.get(derived.kernel_too_long) == (rows > params["ker_rows"])
            assert ctx.get(derived.kernel_large) == (
                not geometry.kernel_legal(taps, ofm[2], ifm[2])
            )
            fits = pool[0] <= ofm[0] and pool[1] <= ofm[1]
            assert (ctx.get(derived.pool_tall), ctx.get(derived.pool_wide)) == (
                pool[0] > ofm[0],
                pool[1] > ofm[1],
            )
            while not ctx.get(derived.ifm_ready & derived.out_ready & derived.map_ready):
                await ctx.tick()
                cycles += 1
            assert cycles < 20
            assert ctx.get(derived.ifm_slots) == (ifm[0] - 1) * mem_w + ifm[1] - 1
            assert ctx.get(derived.map_slots) == out[0] * out[1]
            assert ctx.get(derived.deep) == (ofm[2] > ifm[2])
            if fits:
                h, w = geometry.pooled(ofm[0], ofm[1], pool)
                assert (ctx.get(derived.out_h), ctx.get(derived.out_w)) == (h - 1, w - 1)
                assert ctx.get(derived.out_slots) == (h - 1) * out[1] + w - 1
                given = (h, w) if order == 2 else ofm
                assert (ctx.get(derived.tall), ctx.get(derived.wide)) == (
                    given[0] > ifm[0],
                    given[1] > ifm[1],
                )

    simulate(derived, drive)


# Requests


@pytest.mark.parametrize("beat, element", [(1, 1), (2, 1), (4, 2), (8, 2), (16, 1)])
def test_requests(beat, element):
    """Exactly the beats of the geometry, in order, in bursts within a segment; one a cycle while
    they are taken."""
    part = Requests(beat_bytes=beat, element_bytes=element)
    slot = 64 * element // beat
    burst = burst_of(beat)

    def maps(rng):
        rows, columns, mem_w = rng.randrange(1, 6), rng.randrange(1, 7), rng.randrange(1, 12)
        beats = rng.choice((1, 3, slot, slot))
        if beats == slot and rng.random() < 0.5:
            segments, beats = 1, columns * slot
        else:
            segments = columns
        unit = rng.randrange(1 << 20)
        expected = [
            64 * unit + i * mem_w * 64 * element + j * 64 * element + k * beat
            for i in range(rows)
            for j in range(segments)
            for k in range(beats)
        ]
        return {
            "unit": unit,
            "beats": beats - 1,
            "segments": segments - 1,
            "rows": rows - 1,
            "pitch": element,
            "row_pitch": mem_w * element,
            "write": rng.randrange(2),
        }, expected

    def pads(rng):
        rows, mem_w, p = rng.randrange(1, 8), rng.randrange(1, 8), rng.randrange(1, 5)
        unit = rng.randrange(1 << 20)
        expected = [
            64 * (unit + (r * mem_w + c) * element) + k * beat
            for r in range(rows)
            for c in range(mem_w)
            if r < p or r >= rows - p or c < p or c >= mem_w - p
            for k in range(slot)
        ]
        return {
            "unit": unit,
            "beats": mem_w * slot - 1,
            "segments": 0,
            "rows": rows - 1,
            "pitch": max(0, mem_w - p) * element,
            "row_pitch": mem_w * element,
            "write": 1,
            "pad": 1,
            "border": p,
            "side": p * slot - 1,
            "solid": 2 * p >= mem_w,
        }, expected

    async def drive(ctx):
        rng = random.Random(beat)
        for number in range(fewer(30)):
            given, expected = (pads if number % 2 else maps)(rng)
            for name, _ in part.geometry.shape():
                ctx.set(part.geometry[name], given.get(name, 0))
            ctx.set(part.start, 1)
            ctx.set(part.allow, 1)
            await ctx.tick()
            ctx.set(part.start, 0)
            got, cycles, requests = [], 0, 0
            while not ctx.get(part.free) or ctx.get(part.request.valid):
                ready = number < 10 or rng.random() < 0.6
                ctx.set(part.request.ready, ready)
                if ready and ctx.get(part.request.valid):
                    r = part.request.payload
                    beats = ctx.get(r.beats) + 1
                    assert beats <= burst and ctx.get(r.write) == given["write"]
                    got += [ctx.get(r.address) + k * beat for k in range(beats)]
                    requests += 1
                await ctx.tick()
                cycles += 1
            assert got == expected
            if number < 10 and not number % 2:
                assert cycles == requests + 1

    simulate(part, drive)


# Packing of stores


@pytest.mark.parametrize(
    "beat, change",
    [
        (1, {}),
        (2, {}),
        (4, {}),
        (2, {"po": 1}),
        (4, {"po": 1}),
        (8, {"pi": 8, "po": 1}),
        (8, {"pi": 8, "po": 16}),
        (16, {"pi": 16, "po": 16, "ker_rows": 288}),
        (16, {"pi": 16, "po": 4}),
        (2, {"po": 8, "out_lanes": 4}),
        (4, {"types": "16-16-32-32", "po": 4, "out_lanes": 1}),
    ],
)
def test_stores_pack(beat, change):
    params = SPACE.resolve("sim", change)
    part = Stores(params=params, beat_bytes=beat)
    element, lanes = (2 if "types" in change else 1), params["out_lanes"]

    async def drive(ctx):
        rng = random.Random(beat)
        for channels in (2, 4, 8, 16, 32, 64):
            for pooled in (0, 1):
                values = [rng.randbytes(channels * element) for _ in range(5)]
                groups = []
                for position in values:
                    for at in range(0, channels, lanes):
                        groups.append(
                            (position + rng.randbytes(64))[at * element : (at + lanes) * element]
                        )
                per = max(1, channels * element // beat)  # beats of a position: a request each
                ctx.set(part.start, 1)
                ctx.set(part.ofm_c, channels.bit_length() - 1)
                ctx.set(part.pooled, pooled)
                await ctx.tick()
                ctx.set(part.start, 0)
                await ctx.tick().repeat(2)
                ctx.set(part.made_beats, min(per, burst_of(beat)) - 1)
                got, left, cycles = bytearray(), len(values) * per, 0
                while ctx.get(part.outstanding) or left or groups:
                    offer = groups and rng.random() < 0.8
                    ctx.set(part.out.valid, bool(offer))
                    if offer:
                        ctx.set(part.out.payload.data, int.from_bytes(groups[0], "little"))
                    ask = left and ctx.get(part.allow)
                    ctx.set(part.made, bool(ask))
                    ready = rng.random() < 0.7
                    ctx.set(part.w.ready, ready)
                    if offer and ctx.get(part.out.ready):
                        groups.pop(0)
                    if ask:
                        left -= min(per, burst_of(beat))
                    if ready and ctx.get(part.w.valid):
                        data = ctx.get(part.w.payload.data).to_bytes(beat, "little")
                        mask = ctx.get(part.w.payload.mask)
                        got += bytes(b for k, b in enumerate(data) if mask >> k & 1)
                    await ctx.tick()
                    cycles += 1
                    assert cycles < 5000
                assert bytes(got) == b"".join(values), (channels, pooled)

    simulate(part, drive)
