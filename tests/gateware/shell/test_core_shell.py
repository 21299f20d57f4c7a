# SPDX-License-Identifier: BSD-2-Clause
"""The shell around an engine: arbiter, guard, reset, control block, with the tiny core inside."""

import random

import numpy as np
import pytest

from quintet.gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from quintet.gateware.shell.core import CoreShell
from tests.support import simulating
from tests.support.memory_model import MemoryModel
from tests.support.shares import fewer
from tests.support.tiny_core import PACKAGE

OFFSET = {r.name: r.offset for r in COMMON_REGISTERS} | {
    "target": 0x100,
    "key": 0x104,
    "last": 0x108,
}
COUNTER = {c.name: c.offset for c in COMMON_COUNTERS}
SIZE = 4096
BUSY, DONE, FAULT, ABORTED = 1, 2, 4, 8


class Bench:
    def __init__(self, ctx, dut, model):
        self.ctx, self.dut, self.model = ctx, dut, model

    async def access(self, offset, data=None):
        ctx, bus = self.ctx, self.dut.bus
        for signal, value in (
            (bus.adr, offset // 4),
            (bus.we, data is not None),
            (bus.dat_w, data or 0),
            (bus.sel, 15),
            (bus.cyc, 1),
            (bus.stb, 1),
        ):
            ctx.set(signal, value)
        (value,) = await ctx.tick().sample(bus.dat_r).until(bus.ack)
        ctx.set(bus.cyc, 0)
        ctx.set(bus.stb, 0)
        return value

    async def write(self, **registers):
        for name, value in registers.items():
            await self.access(OFFSET[name], value)

    async def read(self, name):
        return await self.access(OFFSET[name])

    async def count(self, name):
        return await self.access(COUNTER[name]) | await self.access(COUNTER[name] + 4) << 32

    async def ended(self, limit=400):
        for _ in range(limit):
            status = await self.read("status")
            if not status & BUSY:
                return status
        raise AssertionError("the core never ends")

    async def adds_up(self):
        parts = [
            await self.count(name)
            for name in ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")
        ]
        assert sum(parts) == await self.count("cycles")


def simulate(body, *, beat_bytes=4, seed=1, **memory):
    dut = CoreShell(
        package=PACKAGE,
        params=PACKAGE.params.SPACE.resolve(),
        beat_bytes=beat_bytes,
        memory_size=SIZE,
    )
    model = MemoryModel(dut.memory, size=SIZE, seed=seed, **memory)
    model.memory[:] = np.random.default_rng(seed).integers(1, 256, SIZE, np.uint8)

    async def testbench(ctx):
        bench = Bench(ctx, dut, model)
        await bench.ended()
        await body(ctx, bench, model)

    async def watchdog(ctx):
        for _ in range(60_000):
            await ctx.tick()
        raise AssertionError("the test does not come to its end")

    simulating.simulate(dut, testbench, background=[model.process, watchdog])


@pytest.mark.parametrize("beat_bytes", [2, 4])
def test_runs_count_and_repeat(beat_bytes):
    async def body(ctx, bench, model):
        before = model.memory.copy()
        await bench.write(
            program_address=0x100, program_length=64, target=0x800, key=0xA5, irq_enable=1
        )
        for _ in range(2):
            await bench.write(control=1)
            assert await bench.ended() == DONE
            assert ctx.get(bench.dut.interrupt)
            assert bytes(model.memory[0x800:0x840]) == bytes(before[0x100:0x140] ^ 0xA5)
            assert await bench.count("instructions") == 64 // beat_bytes
            assert await bench.count("bytes_read") == await bench.count("bytes_written") == 64
            await bench.adds_up()
        assert bytes(model.memory[:0x800]) == bytes(before[:0x800])
        assert bytes(model.memory[0x840:]) == bytes(before[0x840:])

    simulate(body, beat_bytes=beat_bytes)


def test_window_is_a_wall():
    async def body(ctx, bench, model):
        before = model.memory.copy()
        await bench.write(
            window_base=0x100,
            window_limit=0x180,
            program_address=0x100,
            program_length=0x100,
            target=0x140,
        )
        await bench.write(control=1)
        assert await bench.ended() == DONE | FAULT
        assert await bench.read("fault_code") == 6
        assert await bench.read("fault_detail") == 0x180
        await bench.adds_up()
        assert all(
            0x100 <= address and address + 4 * beats <= 0x180 for address, beats, _ in model.log
        )
        assert bytes(model.memory[:0x140]) == bytes(before[:0x140])
        assert bytes(model.memory[0x180:]) == bytes(before[0x180:])
        # No reset is needed for the next run.
        await bench.write(window_base=0, window_limit=SIZE, program_length=16, target=0x800)
        await bench.write(control=1)
        assert await bench.ended() == DONE

    simulate(body)


def test_fault_and_abort():
    async def body(ctx, bench, model):
        model.memory[0x210:0x214] = 0
        await bench.write(program_address=0x200, program_length=64, target=0x800)
        await bench.write(control=1)
        assert await bench.ended() == DONE | FAULT
        assert [await bench.read(n) for n in ("fault_code", "fault_pc", "fault_detail")] == [
            1,
            0x210,
            0x55,
        ]
        assert await bench.count("instructions") == 4
        assert ctx.get(bench.dut.fault)
        await bench.write(program_address=0x400, program_length=0x400)
        await bench.write(control=1)
        await bench.write(control=2)
        assert await bench.ended() == DONE | ABORTED
        assert await bench.read("fault_code") == 8
        assert 0x400 < await bench.read("fault_pc") < 0x800
        await bench.adds_up()

    simulate(body)


@pytest.mark.parametrize("seed", range(3))
def test_core_reset_in_mid_burst(seed):
    """Requests outstanding at the reset are drained, and the next run is right."""
    rng = random.Random(seed)

    async def body(ctx, bench, model):
        for _ in range(fewer(4)):
            await bench.write(program_address=0x400, program_length=0x400, target=0x800)
            await bench.write(control=1)
            await ctx.tick().repeat(rng.randrange(90, 300))
            await bench.write(control=4)
            assert await bench.ended() == 0
            assert model.outstanding == 0
            assert await bench.read("program_length") == 0
            assert await bench.read("window_limit") == SIZE
            assert await bench.count("cycles") == 0
            before = model.memory.copy()
            await bench.write(program_address=0x100, program_length=16, target=0xC00)
            await bench.write(control=1)
            assert await bench.ended() == DONE
            assert bytes(model.memory[0xC00:0xC10]) == bytes(before[0x100:0x110] ^ 0x55)

    simulate(body, seed=seed, latency=(1, 30), stall=0.5)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"family": "xc7"}, "Family must be one of"),
        (
            {"memory_size": 100},
            "Memory size must be a positive multiple of 64 up to 2\\^32, not 100",
        ),
    ],
)
def test_bad_shell_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        CoreShell(
            **{
                "package": PACKAGE,
                "params": PACKAGE.params.SPACE.resolve(),
                "beat_bytes": 4,
                "memory_size": SIZE,
                **change,
            }
        )
