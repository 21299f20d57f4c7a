# SPDX-License-Identifier: BSD-2-Clause
"""LOAD alone: what it tells the processors, and what it refuses, as the image's reader does."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.pim.engine.load.load import Load
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image, stored_weights
from quintet.gateware.cores.pim.image.reading import TableFault, read_tables
from quintet.gateware.cores.pim.params import SPACE
from tests.support.memory_model import MemoryModel
from tests.support.simulating import simulate

SIZE = 1 << 16
BASE = 0x400
PARAMS = SPACE.resolve("sim", {"xb_rows": 16, "xb_cols": 16, "arrays": 12, "cores": 3})


def random_image(rng, cores=3):
    entries = []
    for _ in range(cores):
        groups, biases = [], 0
        for _ in range(rng.randint(0, 3)):
            rows, cols = rng.randint(1, 48), rng.randint(1, 48)
            number = -(-rows // 16) * -(-cols // 16)
            bias = rng.random() < 0.6 and biases + cols <= PARAMS["bias_words"]
            biases += cols if bias else 0
            groups.append(
                Group(
                    rows,
                    cols,
                    tuple(rng.sample(range(12), number)),
                    mbiw=rng.randint(1, 8),
                    shift=rng.randint(0, 47),
                    round=rng.randint(0, 1),
                    weights=np.array(
                        [[rng.randint(-128, 127) for _ in range(cols)] for _ in range(rows)],
                        np.int8,
                    )
                    if rng.random() < 0.8
                    else None,
                    bias=np.array([rng.randint(-(2**31), 2**31 - 1) for _ in range(cols)], np.int32)
                    if bias
                    else None,
                )
            )
        mode = rng.randint(0, 2)
        count = rng.randint(0, 20)
        code = rng.randbytes((8, 4, 4)[mode] * count)
        entries.append(
            CoreProgram(
                code,
                count,
                mode,
                rng.randint(0, 1),
                rng.randint(1, 32),
                rng.randint(1, 32),
                rng.choice((0, 31, 255)),
                rng.choice((0, 31, 255)),
                groups,
            )
        )
    return Image(entries, 16, 16, rng.choice((0, 0x1000)), rng.choice((0, 0x800)))


class Bench:
    def __init__(self, beat, **model):
        self.dut = Load(params=PARAMS, beat_bytes=beat, memory_size=SIZE)
        self.model = MemoryModel(self.dut.memory, size=SIZE, **model)
        self.clear()

    def clear(self):
        self.weights, self.bias, self.groups, self.ids = {}, {}, {}, {}
        self.pulses = []

    async def watch(self, ctx):
        dut, rng = self.dut, random.Random(5)
        while True:
            _, _, core, valid, ready, chunk, group, ids, bias, *pulses = await ctx.tick().sample(
                dut.target,
                dut.weights.valid,
                dut.weights.ready,
                dut.weights.payload,
                dut.group,
                dut.ids,
                dut.bias,
                dut.clear,
                dut.prime,
                dut.go,
            )
            if valid and ready:
                self.weights[core, chunk.address] = chunk.data
            if group.valid:
                self.groups[core, group.group] = {
                    k: getattr(group.entry, k)
                    for k in ("rows", "cols", "mbiw", "shift", "round", "has_bias")
                }
            if ids.valid:
                self.ids[core, ids.group, ids.index] = ids.ids.array, ids.ids.bias
            if bias.valid:
                self.bias[core, bias.address] = bias.data
            self.pulses += [
                name for name, pulse in zip(("clear", "prime", "go"), pulses, strict=True) if pulse
            ]
            ctx.set(dut.weights.ready, rng.random() < 0.7)

    async def run(self, ctx, data, base=BASE, limit=20000, **registers):
        """Loads an image; returns ``(code, detail)`` of a fault, or ``None``."""
        self.clear()
        dut = self.dut
        self.model.memory[base : base + len(data)] = np.frombuffer(data, np.uint8)
        values = {
            "program_address": base,
            "program_length": len(data),
            "window_base": 0,
            "window_limit": SIZE,
            "core_table": 0,
            "run_flags": 0,
            "gmem_base": 0,
            "gmem_size": 0,
            **registers,
        }
        for name, value in values.items():
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.ready, 1)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        for _ in range(limit):
            if not ctx.get(dut.busy):
                break
            await ctx.tick()
        else:
            raise AssertionError("LOAD does not end")
        assert not self.model.outstanding
        return (ctx.get(dut.fault_code), ctx.get(dut.fault_detail)) if ctx.get(dut.fault) else None

    def simulate(self, body):
        simulate(self.dut, body, surroundings=[self.model.process, self.watch])


def check_loaded(ctx, bench, image, data, base, *, keep=False):
    dut = bench.dut
    tables = read_tables(data, PARAMS)
    assert bench.pulses == ["clear", "prime", "go"]
    assert ctx.get(dut.entries) == len(image.cores)
    weights, biases = {}, {}
    for k, (entry, program) in enumerate(zip(tables.cores, image.cores, strict=True)):
        start = ctx.get(dut.starts[k])
        assert (
            start.code,
            start.code_bytes,
            start.count,
            start.mode,
            start.wait_count,
            start.ibiw,
            start.obiw,
            start.fi,
            start.fo,
            start.groups,
        ) == (
            base + entry.code,
            entry.code_bytes,
            entry.count,
            entry.mode,
            entry.wait_mode,
            entry.ibiw,
            entry.obiw,
            entry.fi,
            entry.fo,
            len(entry.groups),
        )
        for n, (row, group) in enumerate(zip(entry.groups, program.groups, strict=True)):
            assert bench.groups[k, n] == {
                "rows": row.rows - 1,
                "cols": row.cols - 1,
                "mbiw": row.mbiw - 1,
                "shift": row.shift,
                "round": row.round,
                "has_bias": row.has_bias,
            }
            for index, array in enumerate(row.arrays):
                assert bench.ids[k, n, index][0] == array
                assert not row.has_bias or bench.ids[k, n, index][1] == row.bias_at
            if group.bias is not None:
                biases.update(
                    {
                        (k, row.bias_at + c): int(value) & 0xFFFF_FFFF
                        for c, value in enumerate(group.bias)
                    }
                )
            if group.weights is not None:
                whole, at = stored_weights(group.weights, 16, 16), 0
                for index, array in enumerate(row.arrays):
                    rows = min(16, row.rows - index // -(-row.cols // 16) * 16)
                    for c in range(2 * rows):
                        weights[k, 32 * array + c] = int.from_bytes(whole[at : at + 8], "little")
                        at += 8
                assert at == len(whole)
    assert bench.weights == ({} if keep else weights)
    assert bench.bias == ({} if keep else biases)


@pytest.mark.parametrize("beat", [8, 2, 1])
def test_images(beat):
    rng = random.Random(beat)
    bench = Bench(beat, seed=beat, stall=0.1)

    async def body(ctx):
        for turn in range(5 if beat == 8 else 2):
            image = random_image(rng)
            data = image.data()
            base = rng.choice((BASE, 0x2000))
            by_table = turn % 2
            registers = (
                {"core_table": base, "program_address": 0, "program_length": 0} if by_table else {}
            )
            assert await bench.run(ctx, data, base, **registers) is None
            check_loaded(ctx, bench, image, data, base)
            dut = bench.dut
            size = image.gmem_size or SIZE - image.gmem_base
            assert (ctx.get(dut.gmem_from), ctx.get(dut.gmem_low), ctx.get(dut.gmem_high)) == (
                image.gmem_base,
                0,
                size,
            )
        # Kept weights; GMem by the registers, cut by the window.
        assert (
            await bench.run(
                ctx, data, base, run_flags=3, gmem_base=0x300, gmem_size=0x8_0000, window_base=0x340
            )
            is None
        )
        check_loaded(ctx, bench, image, data, base, keep=True)
        assert (ctx.get(dut.gmem_from), ctx.get(dut.gmem_low), ctx.get(dut.gmem_high)) == (
            0x300,
            0x40,
            SIZE - 0x300,
        )
        assert not ctx.get(dut.zero)

    bench.simulate(body)


def corruptions(data, rng):
    """(image, window limit): each field of each table wrong in turn."""
    import struct

    tables = read_tables(data, PARAMS)
    table = struct.unpack_from("<I", data, 0x10)[0]
    fields = [
        (at, size, 0)
        for at, size in (
            (0, 4),
            (4, 2),
            (6, 2),
            (8, 4),
            (0xC, 2),
            (0xE, 2),
            (0x10, 4),
            (0x14, 2),
            (0x16, 2),
            (0x20, 4),
            (0x3F, 1),
        )
    ]
    for k, entry in enumerate(tables.cores):
        base = table + 32 * k
        fields += [
            (base + at, size, 0)
            for at, size in (
                (0, 4),
                (4, 4),
                (8, 4),
                (0xC, 1),
                (0xD, 1),
                (0xE, 1),
                (0xF, 1),
                (0x10, 4),
                (0x14, 2),
                (0x16, 1),
                (0x17, 1),
                (0x18, 1),
                (0x1F, 1),
            )
        ]
        groups = struct.unpack_from("<I", data, base + 0x10)[0]
        for n in range(len(entry.groups)):
            base = groups + 64 * n
            fields += [
                (base + at, size, 0)
                for at, size in (
                    (0, 2),
                    (2, 2),
                    (4, 1),
                    (5, 1),
                    (6, 1),
                    (7, 1),
                    (8, 4),
                    (0xC, 4),
                    *((0x10 + 2 * i, 2) for i in range(16)),
                    (0x30, 1),
                    (0x3F, 1),
                )
            ]
    for at, size, _ in fields:
        old = int.from_bytes(data[at : at + size], "little")
        top = (1 << 8 * size) - 1
        for value in {top, old + rng.choice((1, 3, 64)) & top, 0 if old else 1}:
            yield data[:at] + value.to_bytes(size, "little") + data[at + size :]


@pytest.mark.parametrize("share", [0.12, pytest.param(1, marks=pytest.mark.long)])
def test_wrong_fields(share):
    """Every field wrong in turn: refused with the offset that the image's reader names, or taken
    where it takes it."""
    rng = random.Random(11)
    image = random_image(rng)
    while not all(len(core.groups) for core in image.cores[:2]):
        image = random_image(rng)
    data = image.data()
    bench = Bench(8, seed=1, stall=0, latency=(1, 1))
    seen = set()

    async def body(ctx):
        for wrong in corruptions(data, rng):
            if rng.random() >= share:
                continue
            whole = bytearray(SIZE)
            whole[BASE : BASE + len(wrong)] = wrong
            bench.model.memory[:] = 0
            try:
                read_tables(bytes(whole[BASE:]), PARAMS, len(wrong))
                expected = None
            except TableFault as fault:
                expected = 27, fault.detail
                seen.add(fault.detail)
            assert await bench.run(ctx, wrong) == expected

    bench.simulate(body)
    assert len(seen) > 10


def test_window_bus_error_and_stop():
    image = random_image(random.Random(3))
    data = image.data()
    bench = Bench(8)

    async def body(ctx):
        assert await bench.run(ctx, data, window_base=BASE + 64) == (27, 0)
        assert await bench.run(ctx, data, window_limit=BASE) == (27, 0)
        assert await bench.run(ctx, data, window_limit=BASE + len(data) - 64) == (27, 8)
        assert await bench.run(ctx, data, program_length=len(data) - 1) == (27, 8)
        for at in (0x38, 0x48):
            bench.model.fail = lambda address, write, at=at: address == BASE + at
            assert await bench.run(ctx, data) == (6, BASE + at)
        bench.model.fail = lambda address, write: False
        # Stopped anywhere it ends, without a fault, and the next run is as ever.
        for cycles in (3, 40, 90, 200):
            ctx.set(bench.dut.start, 1)
            await ctx.tick()
            ctx.set(bench.dut.start, 0)
            for _ in range(cycles):
                await ctx.tick()
            ctx.set(bench.dut.stop, 1)
            for _ in range(400):
                await ctx.tick()
            assert (
                not ctx.get(bench.dut.busy)
                and not ctx.get(bench.dut.fault)
                and not bench.model.outstanding
            )
            ctx.set(bench.dut.stop, 0)
        assert await bench.run(ctx, data) is None
        check_loaded(ctx, bench, image, data, BASE)

    bench.simulate(body)


def test_speed():
    """As fast as memory gives eight bytes a cycle, but for 15 % and 2,500 cycles (section 10)."""
    params = SPACE.resolve("85f", {"arrays": 4})
    rng = np.random.default_rng(1)
    weights = rng.integers(-128, 128, (64, 256), dtype=np.int8)
    data = Image(
        [CoreProgram(groups=[Group(64, 256, (0, 1, 2, 3), weights=weights)]) for _ in range(4)]
    ).data()
    dut = Load(params=params, beat_bytes=8, memory_size=1 << 18)
    model = MemoryModel(dut.memory, size=1 << 18, latency=(16, 16), stall=0.0, depth=8)
    model.memory[: len(data)] = np.frombuffer(data, np.uint8)

    async def body(ctx):
        for name, value in (
            ("program_length", len(data)),
            ("window_limit", 1 << 18),
            ("ready", 1),
            ("start", 1),
        ):
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.weights.ready, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        cycles = 0
        while not ctx.get(dut.go):
            await ctx.tick()
            cycles += 1
        assert cycles <= 1.15 * len(data) / 8 + 2500
        assert cycles <= 1.15 * len(data) / 8 + 800, "and not much of the 2,500 for the tables"

    simulate(dut, body, surroundings=[model.process])
