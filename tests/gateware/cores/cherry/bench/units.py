# SPDX-License-Identifier: BSD-2-Clause
"""A unit between tile file and progress counters, with a load/store unit and random operations
played by the test."""

import random
from dataclasses import dataclass, field

import numpy as np
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.sim import Simulator

from quintet.gateware.cores.cherry.engine.front.hazards import Progress
from quintet.gateware.cores.cherry.engine.memory.tilefile import ACC, TileFile
from quintet.gateware.cores.cherry.engine.ops import POSITION, Unit, element_bits, tile_elements
from quintet.gateware.cores.cherry.model.program import Tiles, compute
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.tables import FRAC

SPECIAL = (
    0,
    0x20000,
    0x1FE00,
    0x3FE00,
    0x1FF00,
    0x1FE01,
    0x3FE01,
    0x001,
    0x20155,
    0x1FDFF,
    0x3FDFF,
    0x00200,
    0x20200,
    0x0FE00,
    0x2FE00,
)
LSU = Unit.LSU.value


def parameters(preset, **changed):
    return SPACE.resolve(preset, {"contexts": 4, **changed})


def element(rnd, spread):
    if rnd.random() < 0.05:
        return rnd.choice(SPECIAL)
    exponent = rnd.randrange(127 - spread, 128 + spread) if spread < 120 else rnd.randrange(1, 255)
    return (
        rnd.randrange(2) << 17
        | exponent << 9
        | rnd.choice((0, 1, 510, 511, 256, rnd.randrange(512), rnd.randrange(512)))
    )


def tile(rnd, frac=FRAC):
    """A random tile: near one, of full range, with specials."""
    spread = rnd.choice((1, 3, 8, 127))
    return np.array(
        [
            [
                element(rnd, spread) << frac - FRAC | rnd.randrange(1 << frac - FRAC)
                for _ in range(4)
            ]
            for _ in range(4)
        ]
    )


@dataclass
class Operation:
    """An operation of the unit. ``produce``: register that the load/store unit writes just before,
    slot by slot, or None."""

    name: str
    values: dict
    fields: dict
    size: int
    uniform: bool
    phys: int
    copies: list
    view_phys: list
    produce: int | None
    tiles: list = field(default_factory=list)


#: What each operation reads and writes.
READS = {
    "matmul": (0, 1, 3),
    "mulacc": (0, 1, 3),
    "add": (0, 1),
    "sub": (0, 1),
    "mul": (0, 1),
    "div": (0, 1),
    "pow": (0, 1),
    "exp": (0,),
    "log": (0,),
    "relu": (0,),
    "gtz": (0,),
    "max": (2, 3),
    "sum": (2, 3),
    "zero": (),
}
WRITES = {"matmul": 3, "mulacc": 3, "max": 3, "sum": 3}


def sources(op):
    return (op.values["src"],) if op.name == "copy" else READS[op.name]


def target(op):
    return (
        op.values["dst"]
        if op.name == "copy"
        else op.values["reg"]
        if op.name == "zero"
        else WRITES.get(op.name, 2)
    )


class UnitBench:
    """``unit`` (its place in :class:`Unit`: ``place``) works off operations; the final tiles must
    be the model's.

    ``make(rnd)`` gives name, the model's values and the fields of an operation's payload.
    """

    def __init__(self, unit, place, params, make, *, seed=0):
        self.unit, self.place, self.params, self.make = unit, place, params, make
        self.rnd = random.Random(seed)
        self.soon = None
        self.contexts, self.frac = params["contexts"], params["acc_frac"]
        self.entries = self.contexts + 2
        self.tiles = np.zeros((4, self.entries, 4, 4), np.int64)
        self.file = TileFile(params=params)
        self.progress = Progress()
        m = self.top = Module()
        m.submodules.unit, m.submodules.file, m.submodules.progress = unit, self.file, self.progress
        wiring.connect(m, unit.tiles_read, self.file.read[place])
        wiring.connect(m, unit.tiles_write, self.file.write[place])
        m.d.comb += [
            unit.progress.eq(self.progress.progress),
            self.progress.fetched[place].eq(unit.fetched),
            self.progress.finished[place].eq(unit.finished),
        ]
        self.loaded, self.clear = Signal(), Signal()
        m.d.comb += [unit.clear.eq(self.clear), self.progress.clear.eq(self.clear)]
        m.d.comb += self.progress.finished[LSU].eq(self.loaded)

    def announced(self, soon):
        """The dot unit writes OUTPUT and ACC now and then, ``soon``; the unit must not write the
        same register then."""
        self.soon = soon

    # Operations and what they come to

    def operation(self):
        rnd = self.rnd
        name, values, fields = self.make(rnd)
        uniform = rnd.random() < 0.2
        size = 1 if uniform else rnd.randrange(1, self.contexts + 1)
        copies = [0 if uniform else rnd.randrange(self.contexts + 1) for _ in range(4)]
        op = Operation(
            name,
            values,
            fields,
            size,
            uniform,
            rnd.randrange(2),
            copies,
            [rnd.randrange(2) for _ in range(4)],
            None,
        )
        read = sources(op)
        if read and rnd.random() < 0.5:
            op.produce = rnd.choice(read)
            if not uniform:
                copies[op.produce] = size
            op.tiles = [tile(rnd, self.frac if op.produce == ACC else FRAC) for _ in range(size)]
        return op

    def entry(self, op, reg, slot):
        return slot if slot < op.copies[reg] else self.contexts + op.view_phys[reg]

    def execute(self, op):
        """The operation on the model's tiles."""
        if op.produce is not None:
            for slot, value in enumerate(op.tiles):
                self.tiles[op.produce, self.entry(op, op.produce, slot)] = value
        state = Tiles(self.contexts, self.frac)
        state.private[:] = self.tiles[:, : self.contexts]
        for reg in range(4):
            state.uniform[reg] = self.tiles[reg, self.contexts + op.view_phys[reg]]
        reg, result = compute(op.name, op.values, state, 0, op.size, op.copies)
        for slot in range(op.size):
            self.tiles[reg, self.contexts + op.phys if op.uniform else slot] = result[slot]

    def payload(self, op, waits):
        return {
            "size": op.size,
            "uniform": int(op.uniform),
            "phys": op.phys,
            "view": [
                {"copies": c, "phys": p} for c, p in zip(op.copies, op.view_phys, strict=True)
            ],
            "waits": waits,
            **op.fields,
        }

    # The simulation

    def run(self, count, *, noise=0.3, cleared=True):
        """``count`` operations; ``noise``: how often the load/store unit reads in between;
        ``cleared``: some operations come before, and are forgotten half way. Returns the cycles
        that they took."""
        rnd = self.rnd
        for reg in range(4):
            for entry in range(self.entries):
                self.tiles[reg, entry] = tile(rnd, self.frac if reg == ACC else FRAC)
        start = self.tiles.copy()
        ops = [self.operation() for _ in range(count)]
        plan, position, produced = [], 0, 0
        for k, op in enumerate(ops):
            waits = [
                {
                    kind: {"valid": 0, "base": rnd.randrange(512), "size": rnd.randrange(1, 33)}
                    for kind in ("fetched", "finished")
                }
                for _ in range(4)
            ]
            # The youngest operation before whose result it reads or overwrites.
            before = position
            for earlier in reversed(ops[:k]):
                before -= earlier.size
                if target(earlier) in (*sources(op), target(op)):
                    waits[self.place]["finished"] = {
                        "valid": 1,
                        "base": before % (1 << POSITION),
                        "size": earlier.size,
                    }
                    break
            if op.produce is not None:
                waits[LSU]["finished"] = {
                    "valid": 1,
                    "base": produced % (1 << POSITION),
                    "size": op.size,
                }
            plan.append((op, self.payload(op, waits), position, produced))
            position += op.size
            produced += op.size if op.produce is not None else 0
            self.execute(op)
        return self._simulate(start, plan, position, noise, cleared)

    def _simulate(self, start, plan, slots, noise, cleared):
        rnd, unit = self.rnd, self.unit
        state = {"fetched": 0, "finished": 0, "cycles": 0, "begun": False}

        async def watch(ctx):
            async for *_, fetched, finished in ctx.tick().sample(unit.fetched, unit.finished):
                state["fetched"] += fetched
                state["finished"] += finished
                state["cycles"] += 1
                assert state["finished"] <= state["fetched"]

        async def feed(ctx):
            if cleared:
                nothing = [
                    {kind: {"valid": 0} for kind in ("fetched", "finished")} for _ in range(4)
                ]
                for _, payload, *_ in plan[:3]:
                    ctx.set(unit.op.payload, {**payload, "waits": nothing})
                    ctx.set(unit.op.valid, 1)
                    await ctx.tick()
                await ctx.tick().repeat(rnd.randrange(1, 60))
                ctx.set(unit.op.valid, 0)
                ctx.set(self.clear, 1)
                await ctx.tick()
                ctx.set(self.clear, 0)
                state["fetched"] = state["finished"] = 0
            self._fill(ctx, start)
            state["begun"] = True
            for _, payload, *_ in plan:
                while rnd.random() < 0.2:
                    await ctx.tick()
                ctx.set(unit.op.payload, payload)
                ctx.set(unit.op.valid, 1)
                await ctx.tick().until(unit.op.ready)
                ctx.set(unit.op.valid, 0)

        async def loads(ctx):
            while not state["begun"]:
                await ctx.tick()
            for op, _, position, _ in plan:
                if op.produce is None:
                    continue
                # Everything before has read its operands and written its results.
                while state["finished"] < position:
                    await ctx.tick()
                for slot, value in enumerate(op.tiles):
                    await ctx.tick().repeat(rnd.choice((0, 0, 1, 5)) + 1)
                    await self._write(ctx, op.produce, self.entry(op, op.produce, slot), value)
                    ctx.set(self.loaded, 1)
                    await ctx.tick()
                    ctx.set(self.loaded, 0)

        async def reads(ctx):
            request = self.file.read[LSU].request
            while True:
                ctx.set(request.valid, int(rnd.random() < noise))
                ctx.set(request.payload.mask, rnd.randrange(16))
                ctx.set(request.payload.entry, [0] * 4)
                await ctx.tick()

        async def others(ctx):
            coming = [0] * unit.LATENCY
            request = unit.tiles_write.request
            while True:
                coming = [rnd.choice((0, 0, 1, 2)), *coming]
                ctx.set(self.soon, coming[0])
                *_, valid, reg = await ctx.tick().sample(request.valid, request.payload.reg)
                assert not valid or reg < 2 or not coming.pop() >> reg - 2 & 1
                coming = coming[: unit.LATENCY]

        async def until_done(ctx):
            for _ in range(60000):
                if state["begun"] and state["finished"] == slots:
                    break
                await ctx.tick()
            assert state["finished"] == slots == state["fetched"], (state, slots)
            await ctx.tick().repeat(4)
            assert not ctx.get(unit.working)
            got = self.contents(ctx)
            wrong = [
                (reg, entry)
                for reg in range(4)
                for entry in range(self.entries)
                if (got[reg, entry] != self.tiles[reg, entry]).any()
            ]
            assert not wrong, (
                wrong,
                *(np.vectorize(hex)(t[wrong[0]]) for t in (got, self.tiles)),
                [op for op, *_ in plan],
            )

        sim = Simulator(self.top)
        sim.add_clock(1e-6)
        sim.add_process(watch)
        sim.add_testbench(feed)
        sim.add_testbench(loads)
        if noise:
            sim.add_testbench(reads, background=True)
        if self.soon is not None:
            sim.add_testbench(others, background=True)
        sim.add_testbench(until_done)
        sim.run()
        return state["cycles"]

    def _fill(self, ctx, tiles):
        elements = tile_elements(self.params)
        for reg in range(4):
            bits = self.file.bits(reg)
            for entry in range(self.entries):
                flat = [int(v) for v in tiles[reg, entry].flatten()]
                for word in range(16 // elements):
                    ctx.set(
                        self.file.arrays[reg].memory.data[self.file.row(entry, word)],
                        sum(
                            v << bits * k
                            for k, v in enumerate(flat[word * elements : (word + 1) * elements])
                        ),
                    )

    async def _write(self, ctx, reg, entry, value):
        request = self.file.write[LSU].request
        elements, wide = tile_elements(self.params), element_bits(self.params)
        flat = [int(v) for v in value.flatten()]
        for word in range(16 // elements):
            data = sum(
                v << wide * k for k, v in enumerate(flat[word * elements : (word + 1) * elements])
            )
            ctx.set(request.payload, {"reg": reg, "entry": entry, "word": word, "data": data})
            ctx.set(request.valid, 1)
            await ctx.tick().until(request.ready)
        ctx.set(request.valid, 0)

    def contents(self, ctx):
        """All tiles, as they stand in the tile file."""
        elements = tile_elements(self.params)
        result = np.zeros_like(self.tiles)
        for reg in range(4):
            bits = self.file.bits(reg)
            for entry in range(self.entries):
                flat = []
                for word in range(16 // elements):
                    data = ctx.get(self.file.arrays[reg].memory.data[self.file.row(entry, word)])
                    flat += [data >> bits * k & (1 << bits) - 1 for k in range(elements)]
                result[reg, entry] = np.array(flat).reshape(4, 4)
        return result
