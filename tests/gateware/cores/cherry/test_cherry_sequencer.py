# SPDX-License-Identifier: BSD-2-Clause
"""The sequencer against the golden model: random lists; programs and transfers are those of the
model, carried out at random times."""

import random

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from quintet.gateware.cores.cherry.engine.front.program_tables import TableKind
from quintet.gateware.cores.cherry.engine.run.sequencer import Sequencer
from quintet.gateware.cores.cherry.image import FORMATS, Descriptor, ProgramImage, Unit
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.model.program import ProgramRun, Work
from quintet.gateware.cores.cherry.model.races import Overlap
from quintet.gateware.cores.cherry.model.transfers import MainMemory, _transfer
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.isa.outcome import RunFault
from quintet.gateware.memory.port import MemoryPort
from tests.gateware.cores.cherry.bench.lists import MEMORY, random_list
from tests.support.memory_model import MemoryModel
from tests.support.shares import shares, some
from tests.support.simulating import simulate


def signed(value, bits):
    return value - (value >> bits - 1 << bits)


class Bench(wiring.Component):
    """A sequencer whose two streams are a memory port."""

    def __init__(self, params, beat_bytes):
        self.sequencer = Sequencer(params=params, beat_bytes=beat_bytes)
        super().__init__({"memory": Out(MemoryPort(beat_bytes))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer = s = self.sequencer
        connect(m, s.request, flipped(self.memory.req))
        connect(m, flipped(self.memory.r), s.answer)
        m.d.comb += self.memory.ack.ready.eq(1)
        return m


class Run:
    """A run of a case on the gateware, ended by ``abort`` after so many cycles (``None``: not)."""

    def __init__(self, case, params, beat_bytes, seed, abort=None, mem=None):
        self.case, self.params, self.abort = case, params, abort
        self.rnd = random.Random(seed)
        self.bench = Bench(params, beat_bytes)
        self.dut = self.bench.sequencer
        self.model = MemoryModel(
            self.bench.memory, size=MEMORY, seed=seed, stall=self.rnd.choice((0, 0.3))
        )
        self.model.memory[:] = case.memory
        self.mem = np.zeros(1 << params["log_mem"], np.int64)
        self.tables = [{kind: {} for kind in TableKind} for _ in range(2)]
        self.read = self.written = 0
        self.programs, self.beside = 0, 0
        self.running = False
        self.slow = self.rnd.choice((5, 200))
        around = [self.model.process, self.mover, self.front, self.watch]
        simulate(self.bench, self.host, surroundings=around)

    async def host(self, ctx):
        dut, values = self.dut, self.case.registers
        for name in (
            "program_address",
            "program_length",
            "window_base",
            "window_limit",
            "dma_in_list",
            "dma_out_list",
        ):
            ctx.set(getattr(dut, name), values.get(name, 0))
        ctx.set(dut.sequential, values["options"])
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        for cycle in range(100_000):
            if cycle == self.abort:
                ctx.set(dut.abort, 1)
            finished = ctx.get(dut.finish)
            await ctx.tick()
            if finished:
                break
        else:
            raise AssertionError("no end")
        ctx.set(dut.abort, 0)
        await ctx.tick().repeat(3)
        assert not self.running and not self.model.outstanding
        self.fault = ctx.get(dut.fault), ctx.get(dut.pc), ctx.get(dut.detail)
        self.step = ctx.get(dut.step)
        self.in_program = ctx.get(dut.in_program)

    async def watch(self, ctx):
        dut = self.dut
        async for _, _reset, read, written, en, slot, kind, address, data in ctx.tick().sample(
            dut.bytes_read,
            dut.bytes_written,
            dut.table.en,
            dut.table.resident,
            dut.table.kind,
            dut.table.address,
            dut.table.data,
        ):
            self.read += read
            self.written += written
            if en:
                assert not (self.running and slot == self.slot), "table of the program that runs"
                if kind == TableKind.UNIT and address & 15:
                    assert (
                        address - 1 - 5 * (address & 15 == 8) in self.tables[slot][TableKind.UNIT]
                    )
                self.tables[slot][TableKind(kind)][address] = data

    async def mover(self, ctx):
        dut, rnd = self.dut, self.rnd
        while True:
            ctx.set(dut.descriptor.ready, 1)
            asked = False
            while not asked:
                _, _, asked, d = await ctx.tick().sample(
                    dut.descriptor.valid, dut.descriptor.payload
                )
            ctx.set(dut.descriptor.ready, 0)
            self.beside += self.running
            work, error, detail = Work(), 0, 0
            given = Descriptor(
                d.op.value,
                FORMATS[d.format.value],
                d.main,
                d.mem,
                d.rows,
                d.cols,
                signed(d.pitch, 32),
                d.mem_pitch,
                d.mem_step,
            )
            stopped = False
            for _ in range(rnd.randrange(self.slow)):
                _, _, stopped = await ctx.tick().sample(dut.mover_stop)
                if stopped:
                    break
            else:
                registers = self.case.registers
                main = MainMemory(
                    self.model.memory, registers.get("window_base", 0), registers["window_limit"]
                )
                try:
                    _transfer(given, 0, main, self.mem, work, None)
                except RunFault as fault:
                    error, detail = ISA.fault_codes[fault.name], fault.detail
            while work.bytes_read or work.bytes_written:
                read, written = min(255, work.bytes_read), min(255, work.bytes_written)
                ctx.set(dut.mover_read, read)
                ctx.set(dut.mover_written, written)
                work.bytes_read -= read
                work.bytes_written -= written
                await ctx.tick()
            ctx.set(dut.mover_read, 0)
            ctx.set(dut.mover_written, 0)
            ctx.set(dut.mover_done, 1)
            ctx.set(dut.mover_error, error)
            ctx.set(dut.mover_detail, detail)
            await ctx.tick()
            ctx.set(dut.mover_done, 0)
            ctx.set(dut.mover_error, 0)

    def image(self, program):
        tables = self.tables[program.resident]
        loops, units = tables[TableKind.LOOP], tables[TableKind.UNIT]
        return ProgramImage(
            program.contexts,
            loops={k: (loops[2 * k], loops[2 * k + 1]) for k in range(8) if program.loops >> k & 1},
            units={
                k: Unit(
                    *(units[16 * k + i] for i in range(3)),
                    {n: units[16 * k + 8 + n] for n in range(8)},
                )
                for k in range(32)
                if program.units >> k & 1
            },
            words=[tables[TableKind.INSTRUCTION][k] for k in range(program.instructions)],
        )

    async def front(self, ctx):
        dut, rnd = self.dut, self.rnd
        while True:
            started = False
            while not started:
                _, _, started, program = await ctx.tick().sample(dut.program_start, dut.program)
            self.slot, self.running = program.resident, True
            self.programs += 1
            fault, index, detail = 0, 0, 0
            for _ in range(rnd.randrange(1, rnd.choice((3, 400)))):
                _, _, stop = await ctx.tick().sample(dut.program_stop)
                assert ctx.get(dut.program) == program
                if stop:
                    fault = ISA.fault_codes["aborted"]
                    break
            else:
                run = ProgramRun(
                    ISA,
                    self.params,
                    self.image(program),
                    self.mem,
                    Work(),
                    rebase=(program.rebase, program.rebase_mask),
                )
                try:
                    run.run()
                except RunFault as error:
                    fault, index, detail = ISA.fault_codes[error.name], error.index, error.detail
            ctx.set(dut.program_fault, fault)
            ctx.set(dut.program_index, index)
            ctx.set(dut.program_detail, detail)
            ctx.set(dut.program_finish, 1)
            await ctx.tick()
            ctx.set(dut.program_finish, 0)
            self.running = False


def expected(case, params):
    memory = case.memory.copy()
    model = Model(params, memory, races=False)
    return model, model.run(case.registers)


def compare(case, params, beat_bytes, seed):
    """Runs both; the run and the model's outcome, ``None`` where a wrong word makes the result
    depend on time."""
    try:
        model, outcome = expected(case, params)
    except Overlap:
        return None, None
    run = Run(case, params, beat_bytes, seed)
    fault = (
        (0, 0, 0)
        if outcome.fault is None
        else (outcome.fault.code, outcome.fault.pc, outcome.fault.detail)
    )
    if outcome.fault is None:
        assert run.fault[0] == 0
        assert (run.mem == model.mem).all()
    else:
        assert run.fault == fault
    assert run.step == outcome.values["step"]
    assert (run.model.memory == model.memory).all()
    if outcome.fault is None or not any(low <= fault[1] < high for low, high in case.deferred):
        assert (run.read, run.written) == (
            outcome.counters["bytes_read"],
            outcome.counters["bytes_written"],
        )
    assert run.in_program == (
        outcome.fault is not None
        and outcome.fault.name
        in ("opcode", "field", "state", "program_end", "undeclared", "mem_range")
        or outcome.values["fault_context"] != 0xFFFF_FFFF
    )
    return run, outcome


BUILDS = {
    "sim": ("sim", {}, 2),
    "wide": ("sim", {}, 16),
    "one slot": ("sim", {"slots": 1}, 4),
    "narrow": ("45f", {"slots": 1}, 1),
}


def right(build, seeds):
    """Lists that end well; how many transfers ran beside a program."""
    preset, change, beat_bytes = BUILDS[build]
    params, beside = SPACE.resolve(preset, change), 0
    for seed in seeds:
        run, outcome = compare(random_list(seed, params), params, beat_bytes, seed)
        assert outcome.status == "done"
        beside += run.beside
    return beside


def wrong(build, seeds):
    """Lists with something wrong; the faults met."""
    preset, change, beat_bytes = BUILDS[build]
    params, faults = SPACE.resolve(preset, change), set()
    for seed in seeds:
        _, outcome = compare(random_list(seed, params, wrong=True), params, beat_bytes, seed)
        if outcome is not None and outcome.fault is not None:
            faults.add(outcome.fault.name)
    return faults


@pytest.mark.parametrize("build, count", [("sim", 8), ("wide", 4), ("one slot", 3), ("narrow", 3)])
@shares
def test_random_lists(build, count, share):
    assert (right(build, range(some(count, share, 2))) > 0) == (BUILDS[build][1] == {})


@pytest.mark.parametrize("build, first", [("sim", 0), ("sim", 2000), ("one slot", 1000)])
@shares
def test_wrong_lists(build, first, share):
    assert len(wrong(build, range(first, first + some(16, share, 12)))) >= 2


@pytest.mark.long
@pytest.mark.parametrize("build", BUILDS)
def test_many_lists(build):
    right(build, range(100, 200))
    faults = wrong(build, range(10_000, 10_200))
    assert faults >= {"image", "capacity", "window", "descriptor", "dma_range"}, faults


def test_aborts():
    params = SPACE.resolve("sim", {})
    for seed in range(8):
        run = Run(
            random_list(seed, params),
            params,
            2,
            seed,
            abort=random.Random(seed).choice((0, 1, 3, 50, 200, 400, 900)),
        )
        assert run.fault[0] in (0, ISA.fault_codes["aborted"])
