# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS, Counter, Register
from quintet.gateware.shell.control import ControlBlock
from quintet.gateware.shell.engine import EngineControl, Stall

OFFSET = {r.name: r.offset for r in COMMON_REGISTERS}
START, ABORT, RESET = 1, 2, 4
BUSY, DONE, FAULT, ABORTED = 1, 2, 4, 8

REGISTERS = (
    Register("base", 0x100, "rw", mask=0xFFFF_FFF0),
    Register("mode", 0x104, "rw", mask=1),
    Register("form", 0x108, "rw", reset=0x0001_0011),
    Register("tag", 0x10C, "r"),
    Register("extra", 0x110, "rw", reset=0x1234, only_if="ext"),
    Register("table", 0x140, "rw", count=4, storage="engine"),
    Register("event", 0x150, "rw", storage="engine", live=True),
    Register("wide", 0x158, "rw", width=64),
)
COUNTERS = (Counter("loads", 0x180, bits=20),)


def control(**kwargs):
    return EngineControl(
        registers=REGISTERS, operations_bits=9, bytes_bits=5, counters=COUNTERS, **kwargs
    )


def block(**kwargs):
    return ControlBlock(
        **{
            "ident": "TEST",
            "version": (2, 7),
            "params_hash": 0xDEAD_BEEF,
            "memory_size": 1 << 20,
            "control": control(),
            "program_align": 16,
            "absent": ("extra",),
            **kwargs,
        }
    )


async def access(ctx, bus, offset, data=None, sel=0xF):
    ctx.set(bus.adr, offset // 4)
    ctx.set(bus.we, data is not None)
    ctx.set(bus.dat_w, data or 0)
    ctx.set(bus.sel, sel)
    ctx.set(bus.cyc, 1)
    ctx.set(bus.stb, 1)
    (value,) = await ctx.tick().sample(bus.dat_r).until(bus.ack)
    ctx.set(bus.cyc, 0)
    ctx.set(bus.stb, 0)
    return value


class Bench:
    def __init__(self, dut):
        self.dut = dut

    async def read(self, offset):
        return await access(self.ctx, self.dut.bus, offset)

    async def write(self, offset, data, sel=0xF):
        await access(self.ctx, self.dut.bus, offset, data, sel)

    async def read64(self, offset):
        low = await self.read(offset)
        return low | await self.read(offset + 4) << 32

    async def counters(self):
        return {c.name: await self.read64(c.offset) for c in COMMON_COUNTERS + COUNTERS}

    async def status(self):
        return await self.read(OFFSET["status"])

    async def command(self, value):
        await self.write(OFFSET["control"], value)

    async def begin(self):
        """Start, and stand in the cycle after the engine's start."""
        await self.command(START)
        while not self.ctx.get(self.dut.engine.start):
            await self.ctx.tick()
        await self.ctx.tick()

    async def finish(self, code, pc=0, detail=0):
        engine = self.dut.engine
        self.ctx.set(engine.fault_code, code)
        self.ctx.set(engine.fault_pc, pc)
        self.ctx.set(engine.fault_detail, detail)
        self.ctx.set(engine.finish, 1)
        await self.ctx.tick()
        self.ctx.set(engine.finish, 0)


def simulate(body, *processes, **kwargs):
    dut = block(**kwargs)
    bench = Bench(dut)

    async def testbench(ctx):
        bench.ctx = ctx
        ctx.set(dut.guard_idle, 1)
        ctx.set(dut.engine.ready, 1)
        await body(ctx, bench, dut)

    async def watchdog(ctx):
        for _ in range(40_000):
            await ctx.tick()
        raise AssertionError("the test does not come to its end")

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.add_testbench(watchdog, background=True)
    for process in processes:

        async def background(ctx, process=process):
            await process(ctx, dut)

        sim.add_testbench(background, background=True)
    sim.run()


async def engine_table(ctx, dut):
    """Four words and one event, as an engine would keep them."""
    words = dict.fromkeys(range(0x50, 0x55), 0)
    bus = dut.engine.bus
    while True:
        _, _, address, write, data = await ctx.tick().sample(bus.address, bus.write, bus.write_data)
        if write:
            words[address] = data
        ctx.set(bus.read_data, words.get(address, 0))


def test_constants_and_resets():
    async def body(ctx, bench, dut):
        assert await bench.status() & ~BUSY == 0
        assert (await bench.read(0x00)).to_bytes(4, "little") == b"TEST"
        assert await bench.read(0x04) == 0x0002_0007
        assert await bench.read(0x08) == 0xDEAD_BEEF
        assert await bench.read(0x0C) == 3
        assert await bench.read(0x10) == 0
        assert await bench.status() == 0
        assert await bench.read(OFFSET["window_base"]) == 0
        assert await bench.read(OFFSET["window_limit"]) == 1 << 20
        assert ctx.get(dut.engine.window_limit) == 1 << 20
        assert await bench.read(0x108) == 0x0001_0011
        assert ctx.get(dut.engine.reg.form) == 0x0001_0011
        for offset in (0x1C, 0x60, 0x110, 0x17C, 0x200, 0xFFC):
            assert await bench.read(offset) == 0, hex(offset)

    simulate(body)


def test_a_write_as_the_core_gets_ready_is_whole_or_none():
    """The bus reads what the engine sees, whichever cycle of a write the core becomes idle in."""
    value, seen = 0x0ABC_0140, set()

    async def body(ctx, bench, dut):
        bus = dut.bus

        async def attempt(ready_at):
            ctx.set(dut.engine.ready, 0)
            await bench.command(RESET)
            await ctx.tick().repeat(300)
            await bench.read(0)  # from here on the rounds stand at a known place
            for member, data in (
                (bus.adr, OFFSET["window_base"] // 4),
                (bus.we, 1),
                (bus.dat_w, value),
                (bus.sel, 0xF),
                (bus.cyc, 1),
                (bus.stb, 1),
            ):
                ctx.set(member, data)
            cycle = ack = 0
            while not ack:
                ctx.set(dut.engine.ready, cycle >= ready_at)
                *_, ack = await ctx.tick().sample(bus.ack)
                cycle += 1
            ctx.set(bus.cyc, 0)
            ctx.set(bus.stb, 0)
            ctx.set(dut.engine.ready, 1)
            while await bench.status() & BUSY:
                pass
            return cycle

        length = await attempt(1000)
        for ready_at in range(length - 6, length + 1):
            await attempt(ready_at)
            stored = await bench.read(OFFSET["window_base"])
            assert stored == ctx.get(dut.engine.window_base)
            seen.add(stored)

    simulate(body)
    assert seen == {0, value}


def test_registers_hold_their_masks():
    async def body(ctx, bench, dut):
        ones = 0xFFFF_FFFF
        expected = {
            "program_address": (0x20, ones & ~15),
            "program_length": (0x24, ones),
            "window_base": (0x28, ones & ~63),
            "window_limit": (0x2C, ones & ~63),
            "irq_enable": (0x18, 1),
            "base": (0x100, ones & ~15),
            "mode": (0x104, 1),
            "form": (0x108, ones),
            "extra": (0x110, 0),
            "tag": (0x10C, 0x5A5A_1234),
        }
        ctx.set(dut.engine.val.tag, 0x5A5A_1234)
        for offset, _ in expected.values():
            await bench.write(offset, ones)
        for name, (offset, value) in expected.items():
            assert await bench.read(offset) == value, name
        assert ctx.get(dut.engine.program_address) == ones & ~15
        assert ctx.get(dut.engine.reg.base) == ones & ~15
        assert ctx.get(dut.engine.reg.extra) == 0x1234, (
            "the engine of a build without it sees its reset value"
        )
        await bench.write(0x158, 0x1111_2222)
        await bench.write(0x15C, 0x3333_4444)
        assert await bench.read64(0x158) == 0x3333_4444_1111_2222
        assert ctx.get(dut.engine.reg.wide) == 0x3333_4444_1111_2222
        for sel in range(15):
            await bench.write(0x24, 0, sel)
        assert await bench.read(0x24) == ones, "only whole words are written"
        for offset in (0x00, 0x04, 0x08, 0x0C, 0x40, 0x44, 0x48, 0x80, 0xC8):
            before = await bench.read(offset)
            await bench.write(offset, ~before & ones)
            assert await bench.read(offset) == before, hex(offset)
        await bench.command(RESET)
        while await bench.status() & BUSY:
            pass
        for offset, value in (
            (0x20, 0),
            (0x24, 0),
            (0x2C, 1 << 20),
            (0x100, 0),
            (0x104, 0),
            (0x108, 0x0001_0011),
        ):
            assert await bench.read(offset) == value, hex(offset)
        assert ctx.get(dut.engine.program_length) == 0
        assert ctx.get(dut.engine.reg.form) == 0x0001_0011

    simulate(body)


def test_engine_storage():
    async def body(ctx, bench, dut):
        for index in range(4):
            await bench.write(0x140 + 4 * index, 0x0101_0000 * (index + 1) + index)
        for index in range(4):
            assert await bench.read(0x140 + 4 * index) == 0x0101_0000 * (index + 1) + index
        await bench.command(START)
        await bench.write(0x140, 7)
        await bench.write(0x150, 9)
        assert await bench.read(0x140) == 0x0101_0000, "writes while busy are ignored"
        assert await bench.read(0x150) == 9, "a live register takes them"

    simulate(body, engine_table)


@pytest.mark.parametrize("sampled", [False, True])
def test_counters_are_exact(sampled):
    rng = random.Random(20)

    async def body(ctx, bench, dut):
        engine = dut.engine
        ctx.set(engine.operations, 3)  # before the start nothing counts
        ctx.set(engine.retired, 1)
        while await bench.status() & BUSY:
            pass
        for length in (1, 2, 3, 90, 101, 1500):
            want = dict.fromkeys((c.name for c in COMMON_COUNTERS + COUNTERS), 0)
            ctx.set(engine.ready, 0)
            await bench.command(START)
            await ctx.tick().repeat(rng.randrange(200))
            ctx.set(engine.ready, 1)
            while not ctx.get(engine.start):
                await ctx.tick()
            heavy = rng.random() < 0.5
            await ctx.tick()
            for cycle in range(length):
                stall = rng.choice(list(Stall))
                step = {
                    "retired": rng.getrandbits(1),
                    "operations": 511 if heavy else rng.getrandbits(9),
                    "bytes_read": 31 if heavy else rng.getrandbits(5),
                    "bytes_written": rng.getrandbits(5),
                }
                loads = 0xFFFFF if heavy else rng.getrandbits(20)
                ctx.set(engine.stall, stall)
                for name, value in step.items():
                    ctx.set(getattr(engine, name), value)
                ctx.set(engine.inc.loads, loads)
                want["cycles"] += 1
                want["instructions"] += step["retired"]
                for name in ("operations", "bytes_read", "bytes_written"):
                    want[name] += step[name]
                want["loads"] += loads
                want[
                    {
                        Stall.WORK: "work",
                        Stall.FETCH: "stall_fetch",
                        Stall.OPERAND: "stall_operand",
                        Stall.WRITE: "stall_write",
                        Stall.OTHER: "stall_other",
                    }[stall]
                ] += 1
                if cycle == length - 1:
                    ctx.set(engine.finish, 1)
                await ctx.tick()
            ctx.set(engine.finish, 0)
            assert not ctx.get(dut.busy)
            assert await bench.status() == DONE
            assert await bench.counters() == want

    simulate(body, sampled=sampled)


def test_views_of_the_counters():
    rng = random.Random(5)

    async def body(ctx, bench, dut):
        engine = dut.engine
        while await bench.status() & BUSY:
            pass
        for length in (3, 300):
            await bench.begin()
            want = [dict.fromkeys((c.name for c in COMMON_COUNTERS), 0) for _ in range(3)]
            for cycle in range(length):
                for source, counts in zip(
                    (engine, engine.part[0], engine.part[1]), want, strict=True
                ):
                    stall = rng.choice(list(Stall))
                    ctx.set(source.stall, stall)
                    counts["cycles"] += 1
                    counts["work" if stall is Stall.WORK else f"stall_{stall.name.lower()}"] += 1
                    ctx.set(source.retired, 1)
                    counts["instructions"] += 1
                    for name, bits in (("operations", 9), ("bytes_read", 5), ("bytes_written", 5)):
                        value = rng.getrandbits(bits)
                        ctx.set(getattr(source, name), value)
                        counts[name] += value
                for k, source in enumerate((engine, engine.part[0], engine.part[1])):
                    ctx.set(source.inc.loads, cycle * (k + 1))
                ctx.set(engine.finish, cycle == length - 1)
                await ctx.tick()
            ctx.set(engine.finish, 0)
            for view in (0, 1, 2, 1, 0):
                ctx.set(engine.view, view)
                assert {c.name: await bench.read64(c.offset) for c in COMMON_COUNTERS} == want[view]
                assert (
                    await bench.read64(COUNTERS[0].offset)
                    == (view + 1) * length * (length - 1) // 2
                )
                assert await bench.read(OFFSET["window_limit"]) == 1 << 20

    simulate(body, control=control(views=3))


def test_several_instructions_a_cycle():
    async def body(ctx, bench, dut):
        engine = dut.engine
        while await bench.status() & BUSY:
            pass
        await bench.begin()
        ctx.set(engine.retired, 13)
        ctx.set(engine.part[0].retired, 7)
        for cycle in range(400):
            ctx.set(engine.finish, cycle == 399)
            await ctx.tick()
        ctx.set(engine.finish, 0)
        for view, each in ((0, 13), (1, 7)):
            ctx.set(engine.view, view)
            assert await bench.read64(0x88) == 400 * each

    simulate(body, control=control(views=2, retired_bits=4))


def test_bus_while_busy_loses_no_count():
    async def body(ctx, bench, dut):
        ctx.set(dut.engine.inc.loads, 0xFFFFF)
        ctx.set(dut.engine.operations, 511)
        while await bench.status() & BUSY:
            pass
        await bench.command(START)
        for _ in range(40):
            assert await bench.status() == BUSY
            assert await bench.read(0x24) == 0
            await bench.write(0x24, 5)
        await bench.finish(0)
        counts = await bench.counters()
        assert counts["cycles"] > 1000
        assert counts["operations"] == 511 * counts["cycles"]
        assert counts["loads"] == 0xFFFFF * counts["cycles"]
        assert await bench.read(0x24) == 0, "writes while busy are ignored"

    simulate(body)


def test_fault_abort_and_interrupt():
    async def body(ctx, bench, dut):
        engine = dut.engine
        while await bench.status() & BUSY:
            pass
        await bench.write(0x20, 0x1234_5670)
        await bench.write(0x18, 1)
        await bench.begin()
        await bench.finish(18, pc=0x8765_4321, detail=0xFEDC_BA98)
        assert ctx.get(dut.interrupt) and ctx.get(dut.fault)
        assert await bench.status() == DONE | FAULT
        assert [await bench.read(o) for o in (0x40, 0x44, 0x48)] == [18, 0x8765_4321, 0xFEDC_BA98]
        # A run that ends well leaves no trace of the fault before it.
        await bench.begin()
        assert not ctx.get(dut.interrupt) and not ctx.get(dut.fault)
        await bench.finish(0, pc=77, detail=88)
        assert await bench.status() == DONE
        assert [await bench.read(o) for o in (0x40, 0x44, 0x48)] == [0, 0, 0]
        # Abort of a running engine.
        await bench.begin()
        await bench.command(ABORT)
        await ctx.tick().repeat(3)
        assert ctx.get(engine.abort)
        await bench.finish(8, pc=0x40)
        assert not ctx.get(engine.abort)
        assert await bench.status() == DONE | ABORTED
        assert [await bench.read(o) for o in (0x40, 0x44, 0x48)] == [8, 0x40, 0]
        # Abort of a start that still waits: the engine never sees it.
        ctx.set(engine.ready, 0)
        await bench.command(START)
        await bench.command(ABORT)
        ctx.set(engine.ready, 1)
        for _ in range(150):
            assert not ctx.get(engine.start)
            await ctx.tick()
        assert await bench.status() == DONE | ABORTED
        assert [await bench.read(o) for o in (0x40, 0x44, 0x48)] == [8, 0x1234_5670, 0]
        assert set((await bench.counters()).values()) == {0}
        # The interrupt of an engine within a run; it goes with the next start.
        await bench.begin()
        assert not ctx.get(dut.interrupt)
        ctx.set(engine.interrupt, 1)
        await ctx.tick()
        ctx.set(engine.interrupt, 0)
        await ctx.tick()
        assert ctx.get(dut.interrupt) and await bench.status() == BUSY
        await bench.command(RESET)
        await ctx.tick()
        assert not ctx.get(dut.interrupt)

    simulate(body)


def test_start_while_busy_is_ignored():
    async def body(ctx, bench, dut):
        while await bench.status() & BUSY:
            pass
        await bench.begin()
        await ctx.tick().repeat(300)
        await bench.command(START)
        await bench.finish(0)
        assert (await bench.counters())["cycles"] > 300
        assert await bench.status() == DONE

    simulate(body)


@pytest.mark.parametrize("moment", (0, 7, 40, 90, 150, 250, 330, 399))
def test_core_reset_at_any_moment(moment):
    async def body(ctx, bench, dut):
        while await bench.status() & BUSY:
            pass
        ctx.set(dut.engine.operations, 511)
        await bench.write(0x24, 99)
        await bench.begin()
        await ctx.tick().repeat(moment // 2 + 1)
        await bench.finish(5, pc=4, detail=4)
        await ctx.tick().repeat(moment % 40 + 1)
        ctx.set(dut.guard_idle, 0)
        ctx.set(dut.engine.ready, 0)
        await bench.command(RESET)
        for _ in range(50):
            assert ctx.get(dut.core_reset) and ctx.get(dut.busy)
            await ctx.tick()
        ctx.set(dut.guard_idle, 1)
        await ctx.tick().repeat(2)
        assert not ctx.get(dut.core_reset)
        assert await bench.status() == BUSY
        ctx.set(dut.engine.ready, 1)
        while await bench.status() & BUSY:
            pass
        assert await bench.status() == 0
        assert set((await bench.counters()).values()) == {0}
        assert [await bench.read(o) for o in (0x24, 0x40, 0x44, 0x48)] == [0, 0, 0, 0]

    simulate(body)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"control": None}, "Engine control must be an EngineControl, not None"),
        ({"ident": "TOOLONG"}, "Identification must be four ASCII characters, not 'TOOLONG'"),
        ({"version": (1, 70000)}, r"Version must be two numbers of 16 bits, not \(1, 70000\)"),
        (
            {"memory_size": 1 << 32},
            "Memory size must be an integer from 0 to 2\\^32 - 1, not 4294967296",
        ),
        ({"memory_size": 100}, "Memory size must be a multiple of 64, not 100"),
        ({"address_bits": 16}, "Address bits must be 8 to 32 and hold the memory size, not 16"),
        ({"control": 7}, "Engine control must be an EngineControl, not 7"),
        (
            {
                "control": EngineControl(
                    registers=[Register("a", 0x100, "rw", width=64), Register("b", 0x104, "r")]
                )
            },
            "Registers a and b both lie at 0x104",
        ),
        (
            {"control": EngineControl(registers=[Register("a", 0x102, "rw")])},
            "Register a must lie at a multiple of 4 inside 4096 bytes, not 0x102",
        ),
        (
            {"control": EngineControl(counters=[Counter("a", 0x104)])},
            "Register cnt_a must lie at a multiple of 8 inside 4096 bytes, not 0x104",
        ),
        (
            {"control": EngineControl(registers=[Register("a", 0x100, "rw", count=3)])},
            'Register array a must have storage "engine"',
        ),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        block(**change)


def test_narrow_parts():
    async def body(ctx, bench, dut):
        engine = dut.engine
        while await bench.status() & BUSY:
            pass
        await bench.begin()
        ctx.set(engine.part[0].operations, 3)
        ctx.set(engine.part[0].inc.loads, 1)
        for cycle in range(30):
            ctx.set(engine.finish, cycle == 29)
            await ctx.tick()
        ctx.set(engine.finish, 0)
        ctx.set(engine.view, 1)
        assert (
            await bench.read64(0x80),
            await bench.read64(0x90),
            await bench.read64(COUNTERS[0].offset),
        ) == (30, 90, 30)

    simulate(body, control=control(views=2, part_bits={"operations": 2, "loads": 1}))


@pytest.mark.parametrize("bits", [{"retired": 2}, {"loads": 0}, {"nothing": 1}, {"bytes": True}])
def test_bad_part_bits(bits):
    with pytest.raises(ValueError, match="in a view must be one of the whole's and no larger, not"):
        control(views=2, part_bits=bits)


def test_wide_cycles_retire_one_instruction():
    with pytest.raises(ValueError, match="of 2 bits need cycles of 1 bit, not 2"):
        control(retired_bits=2, cycle_bits=2)
