# SPDX-License-Identifier: BSD-2-Clause
"""Load/store units against the rules of the golden model: random operations, waits and stalls,
faults, cycles of an access."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.engine.units.lsu import LoadStore
from quintet.gateware.cores.cherry.engine.units.pairs.unit import PairLoadStore, in_pairs
from quintet.gateware.cores.cherry.params import SPACE
from tests.gateware.cores.cherry.bench.lsu import Bench, Operations, Reference, passes
from tests.support.shares import shares, some

BUILDS = {
    "sim": ("sim", {"log_mem": 10}),
    "85f": ("85f", {"log_mem": 11}),
    "45f": ("45f", {"log_mem": 10}),
    "wide": ("sim", {"log_mem": 10, "acc_frac": 17, "banks": 2, "macs": 32, "contexts": 8}),
    # By pairs of elements: with whole and with wide elements.
    "pairs": ("25f", {"log_mem": 10}),
    "wide pairs": ("sim", {"log_mem": 10, "acc_frac": 17, "banks": 2, "macs": 4}),
    "rows": ("sim", {"log_mem": 10, "acc_frac": 17, "banks": 16, "contexts": 16}),
}


def build(name):
    preset, others = BUILDS[name]
    params = SPACE.resolve(preset, others)
    return params, (PairLoadStore if in_pairs(params) else LoadStore)(params=params)


def same(bench, reference):
    assert len(bench.written) == len(reference.writes)
    for k, (got, want) in enumerate(zip(bench.written, reference.writes, strict=True)):
        assert got[:2] == want[:2] and (got[2] == want[2]).all(), (k, got, want)
    assert (bench.mem == reference.mem).all(), np.nonzero(bench.mem != reference.mem)


@pytest.mark.parametrize(
    ("name", "stall"), [(name, 0.4 if k % 2 else 0.1) for k, name in enumerate(BUILDS)]
)
@shares
def test_random_operations(name, stall, share):
    params, unit = build(name)
    bench = Bench(unit, params, 5, stall=stall)
    reference = Reference(params, bench.mem, bench.tiles)
    source = Operations(params, 11)

    async def script(ctx, bench):
        slots = 0
        for _ in range(some(24, share, 8)):
            op = source.next()
            assert reference.run(op) is None
            slots += op["size"]
            await bench.give(ctx, op)
            if bench.rnd.random() < 0.2:
                await ctx.tick().repeat(bench.rnd.randrange(1, 30))
        while bench.finished < slots:
            await ctx.tick()
        await ctx.tick().repeat(4)
        assert bench.fetched == bench.finished == slots and not ctx.get(unit.fault)
        assert not ctx.get(unit.loading) and not ctx.get(unit.storing)

    bench.run(script)
    same(bench, reference)


@shares
@pytest.mark.parametrize("name", ["sim", "85f", "pairs"])
def test_waits_for_others(name, share):
    """A slot asks for no tile and writes none before what it waits for, and does not wait for
    more."""
    params, unit = build(name)
    bench = Bench(unit, params, 7, stall=0)
    reference = Reference(params, bench.mem, bench.tiles)
    source = Operations(params, 3)

    async def script(ctx, bench):
        rnd, slots = bench.rnd, 0
        for _ in range(some(25, share)):
            op = source.next()
            reference.run(op)
            other, kind = rnd.randrange(1, 4), rnd.choice(("fetched", "finished"))
            base = ctx.get(bench.progress.progress[other][kind]) + rnd.randrange(3)
            size = rnd.randrange(1, 17)
            op["waits"][other][kind] = {"valid": 1, "base": base % 512, "size": size}
            while bench.finished < slots:
                await ctx.tick()
            # Held as long as it takes: a unit may take it when it is nearly done with it.
            ctx.set(unit.op.payload, op)
            ctx.set(unit.op.valid, 1)
            gone = 0
            pulse = bench.others[kind]
            while bench.finished < slots + op["size"]:
                if rnd.random() < 0.15:
                    ctx.set(pulse, 1 << other)
                    gone = ctx.get(bench.progress.progress[other][kind]) + 1
                else:
                    ctx.set(pulse, 0)
                    gone = ctx.get(bench.progress.progress[other][kind])
                past = (gone - base + 256) % 512 - 256
                allowed = 99 if past >= size else max(past, 0)
                _, _, taken = await ctx.tick().sample(unit.op.ready)
                if taken:
                    ctx.set(unit.op.valid, 0)
                assert bench.fetched - slots <= allowed, (bench.fetched - slots, past, size)
                assert bench.cycles < 20_000
            slots += op["size"]

    bench.run(script)
    same(bench, reference)


@shares
@pytest.mark.parametrize("name", ["sim", "85f", "wide", "pairs", "wide pairs"])
def test_faults(name, share):
    params, unit = build(name)
    bench = Bench(unit, params, 9)
    found = 0

    async def script(ctx, bench):
        nonlocal found
        for run in range(some(6, share, 3)):
            source = Operations(params, 100 + run, faults=True)
            reference = Reference(params, bench.mem, bench.tiles)
            before = len(bench.written)
            fault, slots = None, 0
            for _ in range(14):
                op = source.next()
                if fault is None:
                    fault = reference.run(op)
                    slots += op["size"] if fault is None else fault[0]
                for _ in range(4000):
                    ctx.set(unit.op.payload, op)
                    ctx.set(unit.op.valid, 1)
                    _, _, ready, faulty = await ctx.tick().sample(unit.op.ready, unit.fault)
                    ctx.set(unit.op.valid, 0)
                    if ready or faulty:
                        break
                if faulty:
                    break
            while (
                fault is not None
                and not ctx.get(unit.fault)
                or fault is None
                and bench.finished < slots
            ):
                await ctx.tick()
            # A load counts as finished a cycle before its tile is written.
            await ctx.tick()
            if fault is not None:
                found += 1
                assert (ctx.get(unit.fault_slot), ctx.get(unit.fault_address)) == fault
                assert bench.finished == slots
                await ctx.tick().repeat(20)
                assert bench.finished == slots and ctx.get(unit.fault)
            assert (bench.mem == reference.mem).all()
            got = bench.written[before:]
            assert [g[:2] for g in got] == [w[:2] for w in reference.writes]
            assert all((g[2] == w[2]).all() for g, w in zip(got, reference.writes, strict=True))
            await bench.clear(ctx)
            assert not ctx.get(unit.fault)

    bench.run(script)
    assert found >= 2


def test_clear_at_any_time():
    params, unit = build("85f")
    bench = Bench(unit, params, 4)

    async def script(ctx, bench):
        for run in range(10):
            source = Operations(params, 300 + run)
            for _ in range(bench.rnd.randrange(1, 6)):
                await bench.give(ctx, source.next())
            await ctx.tick().repeat(bench.rnd.randrange(1, 40))
            await bench.clear(ctx)
            await ctx.tick()
            written, writes = len(bench.written), bench.mem_writes
            await ctx.tick().repeat(30)
            assert (
                len(bench.written) == written
                and bench.mem_writes == writes
                and bench.fetched == bench.finished == 0
            )
        reference = Reference(params, bench.mem, bench.tiles)
        before, slots, source = len(bench.written), 0, Operations(params, 77)
        for _ in range(10):
            op = source.next()
            reference.run(op)
            slots += op["size"]
            await bench.give(ctx, op)
        while bench.finished < slots:
            await ctx.tick()
        await ctx.tick()
        bench.written = bench.written[before:]
        same(bench, reference)

    bench.run(script)


def access(store, stride_x, stride_y, **others):
    return {
        "size": 16,
        "uniform": 0,
        "phys": 0,
        "store": store,
        "reg": 1,
        "skip": 0,
        "len_y": 4,
        "len_x": 4,
        "zero": 0,
        "address": 3,
        "stride_x": stride_x & 0x3FFFF,
        "stride_y": stride_y & 0x3FFFF,
        "step": 4,
        "view": [{"copies": 16, "phys": 0}] * 4,
        "waits": [{kind: {"valid": 0, "base": 0, "size": 0} for kind in ("fetched", "finished")}]
        * 4,
        **others,
    }


@pytest.mark.parametrize(("name", "contexts"), [("85f", 16), ("45f", 16)])
@pytest.mark.parametrize("store", [0, 1])
def test_cycles_of_an_access(name, contexts, store):
    """As many as the fullest bank has distinct addresses; a tile of rows takes four at least."""
    params, unit = build(name)
    bench = Bench(unit, params, 1, stall=0)
    strides = (
        (1, 4),
        (1, 68),
        (68, 1),
        (1, 20),
        (1, 64),
        (64, 1),
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (16, 16),
        (2, 68),
        (-1, 36),
        (5, 3),
    )
    strides = [(x, y) for x, y in strides if max(abs(x), abs(y)) * 3 + 80 < len(bench.mem)]
    times = []

    async def script(ctx, bench):
        slots = 0
        for x, y in strides:
            op = access(store, x, y, address=100)
            start = bench.cycles
            await bench.give(ctx, op)
            slots += 16
            while bench.finished < slots:
                await ctx.tick()
            times.append((bench.cycles - start, max(passes(op, params["banks"]), 16 // bench.size)))

    bench.run(script)
    # What is left besides the slots' passes: the pipeline's length, the same for all.
    extra = [time - 16 * each for time, each in times]
    assert max(extra) <= 16, times


@pytest.mark.parametrize(
    ("store", "stride_x", "stride_y", "cycles"),
    [
        (0, 1, 68, 8),
        (0, 68, 1, 8),
        (0, 0, 0, 8),
        (0, 2, 1, 8),
        (0, 2, 64, 16),
        (1, 1, 68, 8),
        (1, 68, 1, 16),
        (1, 0, 4, 8),
    ],
)
def test_cycles_of_an_access_by_pairs(store, stride_x, stride_y, cycles):
    """Two neighbours a cycle where they lie in different banks, or at one address; a store's only
    along rows."""
    params, unit = build("pairs")
    bench = Bench(unit, params, 1, stall=0)

    async def script(ctx, bench):
        await bench.give(ctx, access(store, stride_x, stride_y, address=100))
        while bench.finished < 16:
            await ctx.tick()

    bench.run(script)
    # A store waits for its first row, a slot of sixteen pairs for space, one that goes down columns
    # for two rows to be written.
    extra = 4 * store + 4 * (cycles == 16) + (stride_x not in (0, 1))
    assert 16 * cycles <= bench.cycles <= 16 * (cycles + extra) + 30


def test_operations_back_to_back():
    """Sixteen loads and stores of sixteen slots each: a cycle a slot, but for the turns between
    loads and stores."""
    params, unit = build("85f")
    bench = Bench(unit, params, 2, stall=0)

    async def script(ctx, bench):
        for k in range(16):
            await bench.give(ctx, access(k % 8 == 7, 1, 4, address=4 * k))
        while bench.finished < 256:
            await ctx.tick()

    bench.run(script)
    assert bench.cycles <= 256 + 16 + 4


def test_refused():
    with pytest.raises(ValueError) as error:
        LoadStore(params=SPACE.resolve("hx8k"))
    assert (
        str(error.value)
        == "Parameter banks must be at least 2 for the parallel load/store unit, not 1"
    )
    with pytest.raises(ValueError) as error:
        PairLoadStore(params=SPACE.resolve("45f"))
    assert (
        str(error.value)
        == "Load/store by pairs needs parameter banks 2 and macs below 32, not 4 and 16"
    )
