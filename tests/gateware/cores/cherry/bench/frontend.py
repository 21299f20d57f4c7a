# SPDX-License-Identifier: BSD-2-Clause
"""The front end alone, between units that only follow who wrote which tile, and what the golden
model makes of the same program.

A *token* stands for a tile's value: (number of the operation that wrote it, slot). Operations are
numbered per unit.
"""

import random
from dataclasses import dataclass, field

import numpy as np
from amaranth.lib import data

from quintet.gateware.cores.cherry.asm.structure import sources
from quintet.gateware.cores.cherry.engine.front.frontend import FrontEnd
from quintet.gateware.cores.cherry.engine.ops import AluKind, DotKind, SfuKind
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.model.program import ProgramRun, Work
from quintet.gateware.isa.outcome import RunFault
from tests.support.simulating import design, simulate

LSU, DOT, ALU, SFU = range(4)
KINDS = {DOT: DotKind, ALU: AluKind, SFU: SfuKind}
UNIT_OF = {
    "load": LSU,
    "store": LSU,
    **{k.name.lower(): unit for unit, kinds in KINDS.items() for k in kinds},
}
ZERO_TOKEN = "zero"


@dataclass
class Expected:
    """Expected result of a program: the operations of each unit, and the end."""

    operations: list = field(default_factory=lambda: [[] for _ in range(4)])
    fault: object = None
    context: int = 0xFFFF_FFFF
    loop_vars: list = None
    instructions: int = 0
    element_operations: int = 0


class Recorder(ProgramRun):
    """Runs a program as the model does, on tokens."""

    def __init__(self, image, params, rebase=(0, 0)):
        super().__init__(
            ISA, params, image, np.zeros(1 << params["log_mem"], np.int64), Work(), rebase=rebase
        )
        self.expected = Expected()
        self.uniform = [ZERO_TOKEN] * 4
        self.private = [[None] * params["contexts"] for _ in range(4)]

    def _execute(self, pc, name, values, first, last, copies=None):
        if name == "nop" or (name == "copy" and values["src"] == values["dst"]):
            return
        read, written = sources(name, values)
        unit = UNIT_OF[name]
        number = len(self.expected.operations[unit])
        size, uniform = last - first, copies is None
        reads = [
            {
                r: self.private[r][c] if not uniform and c < copies[r] else self.uniform[r]
                for r in read
            }
            for c in range(size)
        ]
        detail = dict(values)
        fault = None
        good = size
        if unit == LSU:
            addresses = self._addresses(values | {"len_y": 4, "len_x": 4}, first, last)
            record = self.image.units[values["apu"]]
            detail |= {
                "address": int(addresses[0, 0, 0]),
                "stride_x": record.stride_x,
                "stride_y": record.stride_y,
            }
            if size > 1:
                detail["step"] = int(addresses[1, 0, 0] - addresses[0, 0, 0]) % (1 << 18)
            good, fault = self._outside(pc, self._addresses(values, first, last), first)
        self.expected.operations[unit].append(
            {
                "name": name,
                "size": size,
                "uniform": uniform,
                "reads": reads,
                "detail": detail,
                "good": good if fault else size,
            }
        )
        if fault is not None:
            raise fault
        if written is not None:
            if uniform:
                self.uniform[written] = unit, number, 0
                self.tiles.copies[written] = 0
            else:
                for c in range(size):
                    self.private[written][c] = unit, number, c
        super_operations = {"matmul": 64}.get(
            name, 0 if name in ("copy", "zero", "load", "store") else 16
        )
        self.work.operations += super_operations * size


def expect(image, params, rebase=(0, 0)):
    """The :class:`Expected` of a program."""
    run = Recorder(image, params, rebase)
    result = run.expected
    try:
        run.run()
    except RunFault as fault:
        result.fault = fault
        if run.context is not None:
            result.context = run.context | (run.iteration & 0x3FFFF) << 14
        result.loop_vars = run.loop_variables()
    result.instructions, result.element_operations = run.work.instructions, run.work.operations
    return result


def unpacked(shape, bits):
    """A structure's value as dicts, lists and numbers (of what a simulation gives in one piece,
    which is much quicker)."""
    if isinstance(shape, data.ArrayLayout):
        width = data.Layout.cast(shape).size // shape.length
        return [
            unpacked(shape.elem_shape, bits >> width * k & (1 << width) - 1)
            for k in range(shape.length)
        ]
    if isinstance(shape, data.StructLayout):
        return {name: unpacked(f.shape, bits >> f.offset & (1 << f.width) - 1) for name, f in shape}
    return bits


class FakeUnit:
    """Takes operations, reads and writes tokens slot by slot at random times, as the waits
    allow."""

    def __init__(self, bench, unit):
        self.bench, self.unit = bench, unit
        self.reset()

    def reset(self):
        self.queue, self.slot, self.under_way, self.number = [], 0, [], 0
        self.fault = None

    def gate(self, op, slot, progress):
        for v in range(4):
            for kind in ("fetched", "finished"):
                wait = op["waits"][v][kind]
                if wait["valid"]:
                    distance = (progress[v][kind] - wait["base"]) % 512
                    if (distance - 512 if distance & 256 else distance) < min(
                        slot + 1, wait["size"]
                    ):
                        return False
        return True

    def entry(self, op, register, slot):
        view = op["view"][register]
        return slot if slot < view["copies"] else ("uniform", view["phys"])

    def step(self, progress):
        """A cycle: returns whether a slot was fetched, and whether one finished."""
        rnd, bench = self.bench.rnd, self.bench
        fetched = finished = False
        if self.under_way and self.under_way[0][0] <= bench.cycle and rnd.random() < 0.8:
            _, register, entry, token = self.under_way.pop(0)
            if register is not None:
                bench.tiles[register][entry] = token
            finished = True
        if self.queue and self.fault is None and rnd.random() < bench.speed[self.unit]:
            op, number = self.queue[0]
            if self.gate(op, self.slot, progress):
                expected = bench.expected.operations[self.unit]
                known = expected[number] if number < len(expected) else None
                if known is not None and self.slot >= known["good"]:
                    if not self.under_way:
                        self.fault = self.slot
                    return fetched, finished
                self.check(op, number, known)
                register, entry, token = None, None, None
                if op["writes"] is not None:
                    register = op["writes"]
                    entry = ("uniform", op["phys"]) if op["uniform"] else self.slot
                    token = self.unit, number, self.slot
                self.under_way.append(
                    (bench.cycle + rnd.randint(1, bench.latency[self.unit]), register, entry, token)
                )
                fetched = True
                self.slot += 1
                if self.slot == op["size"]:
                    self.queue.pop(0)
                    self.slot = 0
        return fetched, finished

    def check(self, op, number, known):
        """Whether a slot sees the tiles that it must."""
        if known is None:
            return  # behind a fault
        for register, token in known["reads"][self.slot].items():
            seen = self.bench.tiles[register].get(self.entry(op, register, self.slot))
            assert seen == token, (
                self.bench.cycle,
                self.unit,
                number,
                self.slot,
                register,
                seen,
                token,
                op,
            )

    def accept(self, op):
        """A new operation, compared with the one expected."""
        number = self.number
        self.number += 1
        expected = self.bench.expected.operations[self.unit]
        if number < len(expected):
            want = expected[number]
            assert (op["name"], op["size"]) == (want["name"], want["size"]), (number, op, want)
            assert op["name"] == "store" or op["uniform"] == want["uniform"], (number, op, want)
            for name, value in want["detail"].items():
                assert name not in op or op[name] == value, (number, name, op, want)
        else:
            assert self.bench.expected.fault is not None, (number, op)
        self.queue.append((op, number))


class Bench:
    """One front end; ``run`` runs programs one after the other on it."""

    def __init__(self, params, seed=0):
        self.params = params
        self.dut = design(FrontEnd, params=params)
        self.rnd = random.Random(seed)
        self.streams = [getattr(self.dut, name) for name in ("lsu", "dot", "alu", "sfu")]
        self.units = [FakeUnit(self, k) for k in range(4)]
        self.cycle = 0

    def run(self, cases):
        """``cases``: list of (image, options); options: ``rebase``, ``stop_at`` (cycle), ``slot``,
        ``speed``, ``latency``; ``follows``: (cycle from which the front end knows of it, slot,
        image) of the program that comes next, which is then ``resident``. Returns what the front
        end reported of each."""
        self.results, self.state = [], {}

        async def main(ctx):
            for image, options in cases:
                self.results.append(await self._one(ctx, image, **options))

        simulate(self.dut, main)
        return self.results

    def set(self, ctx, signal, value):
        """Sets a signal if its value changes, because every setting makes the simulator settle."""
        key = repr(signal)
        if self.state.get(key) != value:
            self.state[key] = value
            ctx.set(signal, value)

    async def _load(self, ctx, image, slot):
        dut = self.dut
        words = [(0, k, w) for k, w in enumerate(image.words)]
        words += [
            (1, 2 * k + h, v) for k, record in image.loops.items() for h, v in enumerate(record)
        ]
        for k, u in image.units.items():
            words += [(2, 16 * k + h, v) for h, v in enumerate((u.address, u.stride_x, u.stride_y))]
            words += [(2, 16 * k + 8 + h, u.coefficients.get(h, 0)) for h in range(8)]
        self.set(ctx, dut.table.en, 1)
        self.set(ctx, dut.table.resident, slot)
        for kind, address, value in words:
            self.set(ctx, dut.table.kind, kind)
            self.set(ctx, dut.table.address, address)
            self.set(ctx, dut.table.data, value & 0x3FFFF)
            await ctx.tick()
        self.set(ctx, dut.table.en, 0)

    def _take(self, ctx, unit):
        """The operation that a unit's stream offers, as a dict."""
        payload = self.streams[unit].payload
        op = unpacked(payload.shape(), ctx.get(payload.as_value()))
        if unit == LSU:
            op["name"] = "store" if op["store"] else "load"
            op["writes"] = None if op["store"] else op["reg"]
        else:
            op["name"] = KINDS[unit](op.pop("kind")).name.lower()
            op["writes"] = (
                op["dst"]
                if op["name"] in ("zero", "copy")
                else 3
                if op["name"] in ("matmul", "mulacc", "sum", "max")
                else 2
            )
            if op["name"] == "zero":
                op["reg"] = op["dst"]
        return op

    async def _one(
        self,
        ctx,
        image,
        rebase=(0, 0),
        stop_at=None,
        slot=0,
        speed=(0.9,) * 4,
        latency=(6, 16, 8, 30),
        follows=None,
        resident=False,
    ):
        dut = self.dut
        self.expected = expect(image, self.params, rebase)
        self.speed, self.latency = speed, latency
        self.tiles = [{("uniform", 0): ZERO_TOKEN, ("uniform", 1): ZERO_TOKEN} for _ in range(4)]
        for unit in self.units:
            unit.reset()
        if not resident:
            await self._load(ctx, image, slot)
        if follows:
            await self._load(ctx, follows[2], follows[1])
        fields = {
            "resident": slot,
            "instructions": len(image.words),
            "loops": sum(1 << k for k in image.loops),
            "units": sum(1 << k for k in image.units),
            "contexts": image.contexts,
            "rebase": rebase[0],
            "rebase_mask": rebase[1],
        }
        self.set(ctx, dut.program, fields)
        self.set(ctx, dut.start, 1)
        await ctx.tick()
        self.set(ctx, dut.start, 0)
        self.set(ctx, dut.prepared, 0)
        counts, cycles, first = [0, 0], 0, None
        ready = [False] * 4
        while True:
            counts[0] += ctx.get(dut.retired)
            counts[1] += 16 * ctx.get(dut.operations)
            if ctx.get(dut.clear):
                for unit in self.units:
                    taken = unit.number
                    unit.reset()
                    unit.number = taken
            progress = unpacked(dut.progress.shape(), ctx.get(dut.progress.as_value()))
            fetched = finished = 0
            for k, unit in enumerate(self.units):
                a, b = unit.step(progress)
                fetched |= a << k
                finished |= b << k
                ready[k] = len(unit.queue) < 2 and self.rnd.random() < 0.9
            lsu = self.units[LSU]
            self.set(ctx, dut.mem_fault, lsu.fault is not None)
            if lsu.fault is not None:
                self.set(ctx, dut.mem_slot, lsu.fault)
                self.set(ctx, dut.mem_address, self.expected.fault.detail)
            self.set(ctx, dut.fetched, fetched)
            self.set(ctx, dut.finished, finished)
            for k in range(4):
                self.set(ctx, self.streams[k].ready, ready[k])
            if ctx.get(dut.finish):
                break
            if stop_at is not None and cycles >= stop_at:
                self.set(ctx, dut.stop, 1)
            if follows and cycles == follows[0]:
                self.set(ctx, dut.next_resident, follows[1])
                self.set(ctx, dut.prepared, 1)
            if first is None and any(ctx.get(s.valid) for s in self.streams):
                first = cycles
            cycles += 1
            self.cycle += 1
            assert cycles < 60000
            # Streams: what is valid now is taken with this edge if ready.
            for k, unit in enumerate(self.units):
                ready[k] = ready[k] and ctx.get(self.streams[k].valid)
                if ready[k]:
                    unit.accept(self._take(ctx, k))
            await ctx.tick()
        self.set(ctx, dut.stop, 0)
        self.set(ctx, dut.mem_fault, 0)
        await ctx.tick()
        values = []
        for loop in range(8):
            self.set(ctx, dut.var_loop, loop)
            await ctx.tick()
            values.append(ctx.get(dut.var_value))
        result = {
            name: ctx.get(getattr(dut, name))
            for name in ("fault_code", "index", "detail", "context")
        }
        return result | {
            "loop_vars": values,
            "instructions": counts[0],
            "operations": counts[1],
            "cycles": cycles,
            "first": first,
            "taken": [u.number for u in self.units],
            "expected": self.expected,
        }


def check(result):
    """Compares the front end's reports with the expected ones."""
    expected = result["expected"]
    assert (result["instructions"], result["operations"]) == (
        expected.instructions,
        expected.element_operations,
    ), result
    if expected.fault is None:
        assert not result["fault_code"], result
        assert result["taken"] == [len(ops) for ops in expected.operations]
        assert result["context"] == 0xFFFF_FFFF and result["loop_vars"] == [0xFFFF_FFFF] * 8
        return
    fault = expected.fault
    assert result["fault_code"] == ISA.fault_codes[fault.name], (result, fault)
    assert (result["index"], result["detail"]) == (fault.index, fault.detail), (result, fault)
    assert (result["context"], result["loop_vars"]) == (expected.context, expected.loop_vars), (
        result,
        fault,
    )
