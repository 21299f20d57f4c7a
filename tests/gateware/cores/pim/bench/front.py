# SPDX-License-Identifier: BSD-2-Clause
"""The front end of a processor alone, with units of Python behind it.

Each unit reads the sources of a command at some time and writes its result at some later time, both
drawn, in the order of its commands. So whatever the scoreboard lets through wrongly gives wrong
bytes sooner or later, whatever real units would do.
"""

import random
from collections import deque

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect

from quintet.gateware.cores.pim.engine.front.issue import Issue
from quintet.gateware.cores.pim.engine.front.prefetch import Prefetch
from quintet.gateware.cores.pim.engine.front.wordload import WordLoad
from quintet.gateware.cores.pim.model import Model
from quintet.gateware.cores.pim.model import core as elements
from tests.support.memory_model import MemoryModel
from tests.support.simulating import design, simulator

OPS = {"ld": 1, "st": 2, "lldi": 3, "lmv": 4}


class Front(wiring.Component):
    """Code buffer, issue and the load of a word."""

    def __init__(self, *, params, beat_bytes, memory_size):
        self.prefetch = Prefetch(params=params, beat_bytes=beat_bytes)
        self.issue = Issue(params=params, number=0, memory_size=memory_size)
        self.load = WordLoad(beat_bytes=beat_bytes)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.prefetch, m.submodules.issue, m.submodules.load = prefetch, issue, load = (
            self.prefetch,
            self.issue,
            self.load,
        )
        connect(m, prefetch.words, issue.words)
        m.d.comb += [
            issue.ended.eq(prefetch.ended),
            load.start.eq(issue.load),
            load.address.eq(issue.main),
            issue.load_busy.eq(load.busy),
            issue.load_done.eq(load.done),
            issue.load_word.eq(load.word),
            issue.load_error.eq(load.error),
            prefetch.stop.eq(issue.halted | issue.stop),
        ]
        return m


class Units:
    """Matrix, vector and transfer unit, group store, and the event registers."""

    def __init__(self, dut, core, machine, memory, rnd, latest):
        self.issue, self.core, self.machine, self.memory, self.rnd, self.latest = (
            dut.issue,
            core,
            machine,
            memory,
            rnd,
            latest,
        )
        self.queues = {"matrix": deque(), "vector": deque(), "transfer": deque()}
        self.events = [0] * 32
        self.cycle = 0
        self.in_flight = []  # most commands in flight at a time
        self.commands = []  # (cycle, unit)
        self.failing = {}  # gmem address -> error

    def _matrix(self, c):
        group = self.core.entry.groups[c.group]
        assert (c.rows, c.cols, c.shift, c.round, c.has_bias) == (
            group.rows,
            group.cols,
            group.shift,
            group.round,
            group.has_bias,
        )
        x = elements.load(self.core.lmem, c.src, c.rows, c.ibiw)
        y = x @ self.core._matrix(c.group)
        if c.has_bias:
            y = y + self.core.bias[group.bias_at : group.bias_at + c.cols]
        if c.shift:
            y = y + (1 << c.shift - 1 if c.round else 0) >> c.shift
        if c.relu:
            y = np.maximum(y, 0)
        return c.dst, elements.saturate(y, c.obiw), c.obiw

    def _vector(self, c):
        lmem, op = self.core.lmem, c.op.value
        if op in (17, 22):
            x = elements.gather(lmem, c.src1, c.operand, c.len, c.ibiw)
            return (c.dst, elements.average(x, c.obiw), c.obiw) if op == 17 else (c.dst, x, c.ibiw)
        x = elements.load(lmem, c.src1, c.len, c.ibiw)
        y = (
            elements.load(lmem, c.src2, c.len, c.ibiw)
            if op in (10, 11, 12, 13, 14, 15, 16)
            else None
        )
        if op == 13:
            return c.dst, elements.inner_product(x, y, c.obiw), c.obiw
        same, function = elements.ELEMENTWISE[op]
        width = c.ibiw if same else c.obiw
        return (
            c.dst,
            elements.saturate(
                function(x, y, elements.Widths(c.ibiw, c.obiw, c.fi, c.fo, c.operand)), width
            ),
            width,
        )

    def _transfer(self, c):
        lmem, op, size = self.core.lmem, c.op.value, c.size
        if op == OPS["ld"]:
            return ("lmem", c.dst, self.memory[c.gmem : c.gmem + size].copy())
        if op == OPS["st"]:
            return ("gmem", c.gmem, lmem[c.src : c.src + size].copy())
        if op == OPS["lldi"]:
            return ("lmem", c.dst, np.full(size, c.imm, np.uint8))
        return ("lmem", c.dst, lmem[c.src : c.src + size].copy())

    def _finish(self, unit, result):
        if unit == "transfer":
            where, at, data = result
            (self.memory if where == "gmem" else self.core.lmem)[at : at + len(data)] = data
        else:
            elements.store(self.core.lmem, *result)

    async def process(self, ctx):
        issue, rnd, queues = self.issue, self.rnd, self.queues
        streams = {unit: getattr(issue, unit) for unit in queues}
        ready = dict.fromkeys(queues, 0)
        asked, shown = deque(), 0
        owed_product = None
        syncs = waits = 0
        while True:
            values = await ctx.tick().sample(
                *(s.valid for s in streams.values()),
                *(s.payload for s in streams.values()),
                issue.group,
                issue.multiply.valid,
                issue.multiply.payload,
                issue.events.sync,
                issue.events.sync_event,
                issue.events.wait,
                issue.events.wait_event,
                issue.events.wait_value,
                issue.events.wait_count,
            )
            values = values[2:]
            self.cycle += 1
            for k, unit in enumerate(queues):
                if values[k] and ready[unit]:
                    command = values[3 + k]
                    first = max(
                        self.cycle + rnd.randint(0, self.latest),
                        queues[unit][-1][1] if queues[unit] else 0,
                    )
                    last = max(
                        first + 1 + rnd.randint(0, self.latest),
                        queues[unit][-1][2] + 1 if queues[unit] else 3 + self.cycle,
                    )
                    queues[unit].append([command, first, last, None])
                    self.commands.append((self.cycle, unit))
            self.in_flight.append(sum(map(len, queues.values())))
            for unit, queue in queues.items():
                for entry in queue:
                    if entry[1] <= self.cycle and entry[3] is None:
                        entry[3] = getattr(self, f"_{unit}")(entry[0])
                progress = (
                    issue.transfer_progress
                    if unit == "transfer"
                    else getattr(issue, f"{unit}_ends")
                )
                done = bool(queue) and queue[0][2] <= self.cycle and queue[0][3] is not None
                error = False
                if done:
                    command, _, _, result = queue.popleft()
                    error = (
                        unit == "transfer" and command.gmem in self.failing and command.op.value < 3
                    )
                    if not error:
                        self._finish(unit, result)
                    ctx.set(progress.tag, command.tag)
                ctx.set(progress.done, done)
                if unit == "transfer":
                    ctx.set(issue.late, error)
                    ctx.set(issue.late_code, 6)
                    ctx.set(issue.late_detail, command.gmem if error else 0)
                ready[unit] = (rnd.random() < 0.7 or not self.latest) and len(queue) < 3
                ctx.set(streams[unit].ready, ready[unit])
            # Group store: one cycle
            group, multiply, operands = values[6], values[7], values[8]
            asked.append(group)
            shown = asked.popleft()
            groups = self.core.entry.groups
            if shown < len(groups):
                g = groups[shown]
                ctx.set(
                    issue.entry,
                    {
                        "rows": g.rows - 1,
                        "cols": g.cols - 1,
                        "mbiw": g.mbiw - 1,
                        "shift": g.shift,
                        "round": g.round,
                        "has_bias": g.has_bias,
                    },
                )
            # Multiplication: taken at once, answered three cycles later
            if multiply and owed_product is None:
                owed_product = [3, operands.a * operands.b & 0xFFFF_FFFF]
            ctx.set(issue.multiply.ready, 1)
            ctx.set(issue.product_valid, 0)
            if owed_product:
                owed_product[0] -= 1
                if owed_product[0] == 0:
                    ctx.set(issue.product_valid, 1)
                    ctx.set(issue.product, owed_product[1])
                    owed_product = None
            # Events of this one core
            sync, event, wait, wait_event, value, counts = values[9:15]
            syncs = syncs + 1 if sync and not syncs == 3 else 0
            ctx.set(issue.events.synced, syncs == 3)
            if syncs == 3:
                ctx.set(issue.events.overflow, self.events[event] == 1023)
                self.events[event] = min(1023, self.events[event] + 1)
            held = self.events[wait_event]
            waits = (
                waits + 1
                if wait and (held >= value if counts else held == value) and waits != 3
                else 0
            )
            ctx.set(issue.events.granted, waits == 3)
            if waits == 3:
                self.events[wait_event] = held - value if counts else 0


class Result:
    """Results of a run to compare, and to measure."""


def run_front(
    case, *, seed=0, beat_bytes=8, latency=(1, 8), stall=0.2, latest=9, cycles=60_000, failing=None
):
    """Runs a one-core :class:`~quintet.firmware.pim.measure.case.Case`; gives a :class:`Result`:
    state and times."""
    params, rnd = case.params, random.Random(seed)
    machine = Model(params, case.memory.copy())
    machine.take_registers(case.registers)
    machine._ready = []
    machine._load()
    core, entry = machine.cores[0], machine.cores[0].entry
    memory = machine.memory
    dut = design(Front, params=params, beat_bytes=beat_bytes, memory_size=memory.size)
    units = Units(dut, core, machine, memory, rnd, latest)
    units.failing = failing or {}
    models = [
        MemoryModel(port, size=memory.size, seed=seed + k, latency=latency, stall=stall)
        for k, port in enumerate((dut.prefetch.memory, dut.load.memory))
    ]
    for model in models:
        model.memory = memory
    issue, out = dut.issue, Result()

    async def bench(ctx):
        for part in (dut.prefetch,):
            for name, value in (
                ("code", machine._image_at + entry.code),
                ("code_bytes", entry.code_bytes),
                ("count", entry.count),
                ("mode", entry.mode),
            ):
                ctx.set(getattr(part, name), value)
        ctx.set(
            issue.start,
            {
                "code": machine._image_at + entry.code,
                "code_bytes": entry.code_bytes,
                "count": entry.count,
                "mode": entry.mode,
                "wait_count": entry.wait_mode,
                "ibiw": entry.ibiw,
                "obiw": entry.obiw,
                "fi": entry.fi,
                "fo": entry.fo,
                "groups": len(entry.groups),
            },
        )
        base, window = machine._gmem_base, machine.window
        ctx.set(issue.gmem_base, base)
        ctx.set(issue.gmem_low, max(0, window.base - base))
        ctx.set(issue.gmem_high, max(0, min(machine._gmem_size or 1 << 32, window.limit - base)))
        ctx.set(issue.cores, len(machine.entries))
        while not ctx.get(issue.ready):
            await ctx.tick()
        ctx.set(dut.prefetch.start, 1)
        await ctx.tick()
        ctx.set(dut.prefetch.start, 0)
        await ctx.tick().repeat(30)
        ctx.set(issue.go, 1)
        begin = units.cycle
        await ctx.tick()
        ctx.set(issue.go, 0)
        counts = dict.fromkeys(("scalar", "matrix", "vector", "transfer"), 0)
        sums = {"macs": 0}
        out.stalls = {}
        names = [f"done_{kind}" for kind in counts] + list(sums)
        for _ in range(cycles):
            if ctx.get(issue.finished) or ctx.get(issue.fault):
                break
            _, _, working, stall, *values = await ctx.tick().sample(
                issue.working, issue.stall, *(getattr(issue, name) for name in names)
            )
            for k, kind in enumerate(counts):
                counts[kind] += values[k]
            for k, name in enumerate(sums):
                sums[name] += values[4 + k]
            stall = "WORK" if working else stall.name
            out.stalls[stall] = out.stalls.get(stall, 0) + 1
        else:
            raise AssertionError(
                f"the program does not end: pc {ctx.get(issue.pc)}, blocked "
                f"{ctx.get(issue.blocked)}"
            )
        out.cycles = units.cycle - begin
        out.counters = {**counts, **sums}
        out.fault = (
            (ctx.get(issue.fault_code), ctx.get(issue.fault_detail))
            if ctx.get(issue.fault)
            else None
        )
        out.pc, out.offset = ctx.get(issue.pc), ctx.get(issue.pc_offset)
        debug = []
        for index in (*range(32), 64, 65):
            ctx.set(issue.debug_index, index)
            await ctx.tick().repeat(2)
            debug.append(ctx.get(issue.debug_value))
        out.registers, out.widths = debug[:32], tuple(debug[32:])

    sim = simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.add_testbench(units.process, background=True)
    for model in models:
        sim.add_testbench(model.process, background=True)
    sim.run()
    out.lmem, out.memory, out.code_at, out.units = (
        core.lmem,
        memory,
        machine._image_at + entry.code,
        units,
    )
    out.events = units.events
    return out


def compare_front(case, **options):
    """Asserts that front end and model agree on a one-core case; gives the :class:`Result`."""
    want = Model(case.params, case.memory.copy())
    outcome = want.run(case.registers)
    core = want.cores[0]
    got = run_front(case, **options)
    fault = outcome.fault and (outcome.fault.code, outcome.fault.detail)
    assert got.fault == fault, (
        f"{case.name}: fault {got.fault} at {got.pc}, expected {outcome.fault}"
    )
    assert got.pc == core.pc, f"{case.name}: pc {got.pc}, expected {core.pc}"
    if fault:
        assert got.code_at + got.offset == outcome.fault.pc, case.name
    assert got.registers == core.regs, case.name
    assert got.widths == (core.ibiw, core.obiw), case.name
    assert got.events == core.events, case.name
    assert not (got.lmem != core.lmem).any(), (
        f"{case.name}: LMem differs at {np.flatnonzero(got.lmem != core.lmem)[:8]}"
    )
    assert not (got.memory != want.memory).any(), f"{case.name}: memory differs"
    counted = {name: core.counters[name] for name in ("scalar", "matrix", "vector", "transfer")}
    counted["macs"] = core.counters["operations"]
    assert got.counters == counted, case.name
    return got
