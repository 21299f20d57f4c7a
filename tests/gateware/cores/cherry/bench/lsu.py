# SPDX-License-Identifier: BSD-2-Clause
"""A load/store unit between a tile file, banks and progress of other units in Python, and the same
operations on the golden model's rules."""

import random
from collections import deque

import numpy as np
from amaranth import Cat, Module, Signal

from quintet.gateware.cores.cherry.engine.front.hazards import Progress
from quintet.gateware.cores.cherry.engine.memory.scratchpad import READ_LATENCY
from quintet.gateware.cores.cherry.engine.ops import POSITION, element_bits, entries, tile_elements
from quintet.gateware.cores.cherry.model.arithmetic import narrow, widen
from tests.support.simulating import simulate

ACC = 3
_ROWS, _COLUMNS = np.arange(4)[:, None], np.arange(4)


def addresses(op, slot):
    """Addresses of a slot's access, shape (len_y, len_x)."""
    start = op["address"] + slot * op["step"]
    return (
        start + _ROWS[: op["len_y"]] * op["stride_y"] + _COLUMNS[: op["len_x"]] * op["stride_x"]
    ) & 0x3FFFF


def passes(op, banks):
    """Cycles that a slot takes by the specification: distinct addresses of the fullest bank."""
    found = np.unique(addresses(op, 0))
    return int(np.bincount(found % banks).max())


def reads_tile(op):
    return op["store"] or not (op["zero"] or op["len_y"] == 4 and op["len_x"] == 4)


class Operations:
    """Random operations with the waits that they need among themselves and some for other units."""

    def __init__(self, params, seed, *, faults=False, simple=False):
        self.params, self.rnd, self.faults, self.simple = (
            params,
            random.Random(seed),
            faults,
            simple,
        )
        self.base = 0
        self.writers = {}  # (register, entry) -> (base, size) of the load that wrote it last

    def _stride(self):
        rnd = self.rnd
        return (
            rnd.choice(
                (
                    0,
                    1,
                    1,
                    4,
                    -1,
                    5,
                    20,
                    36,
                    16,
                    2,
                    17,
                    -4,
                    rnd.randrange(-40, 41),
                    rnd.randrange(-40, 41),
                )
            )
            & 0x3FFFF
        )

    def next(self):
        rnd, params = self.rnd, self.params
        contexts = params["contexts"]
        store = rnd.random() < 0.4
        uniform = not store and rnd.random() < 0.3
        size = 1 if uniform else rnd.choice((1, contexts, rnd.randrange(1, contexts + 1)))
        whole = rnd.random() < 0.5
        skip = not store and not whole and rnd.random() < 0.4
        top = 1 << params["log_mem"]
        op = {
            "size": size,
            "uniform": uniform,
            "phys": rnd.randrange(2),
            "store": store,
            "reg": rnd.randrange(4),
            "skip": skip,
            "len_y": 4 if whole else rnd.randrange(1, 4 if skip else 5),
            "len_x": 4 if whole else rnd.randrange(1, 5),
            "zero": not store and rnd.random() < 0.4,
            "stride_x": self._stride(),
            "stride_y": self._stride(),
            "step": rnd.choice((4, 16, rnd.randrange(0, 24))),
            "address": 0,
            "view": [
                {
                    "copies": rnd.choice((0, size, rnd.randrange(contexts + 1))),
                    "phys": rnd.randrange(2),
                }
                for _ in range(4)
            ],
        }
        # Inside MEM as a whole, if it can be; with faults anywhere near.
        spread = [addresses(op, slot) for slot in range(size)]
        offsets = np.concatenate(
            [(s + (1 << 17) & 0x3FFFF).astype(np.int64).ravel() for s in spread]
        ) - (1 << 17)
        low, high = int(offsets.min()), int(offsets.max())
        if high - low >= top:
            op.update(stride_x=1, stride_y=4, step=16)
            low, high = 0, 16 * size
        op["address"] = rnd.randrange(-low, top - high)
        if self.faults and rnd.random() < 0.15:
            # Over an edge, by little.
            op["address"] = (rnd.choice((-low, top - high)) + rnd.randrange(-12, 12)) & 0x3FFFF
        op["waits"] = self._waits(op)
        self.base += size
        return op

    def _entries(self, op, slot):
        contexts, view = self.params["contexts"], op["view"][op["reg"]]
        context = 0 if op["uniform"] else slot
        return (
            context if context < view["copies"] else contexts + view["phys"],
            contexts + op["phys"] if op["uniform"] else slot,
        )

    def _waits(self, op):
        waits = [
            {
                kind: {
                    "valid": 0,
                    "base": self.rnd.randrange(1 << POSITION),
                    "size": self.rnd.randrange(64),
                }
                for kind in ("fetched", "finished")
            }
            for _ in range(4)
        ]
        needed = []
        for slot in range(op["size"]):
            read, written = self._entries(op, slot)
            needed += [
                self.writers.get((op["reg"], e))
                for e in ((read,) if op["store"] else (read, written))
            ]
        needed = [n for n in needed if n is not None]
        if needed:
            base, size = max(needed)
            waits[0]["finished"] = {"valid": 1, "base": base % (1 << POSITION), "size": size}
        if not op["store"]:
            for slot in range(op["size"]):
                self.writers[op["reg"], self._entries(op, slot)[1]] = (self.base, op["size"])
        return waits


class Reference:
    """Effects of operations in order, by the rules of the golden model."""

    def __init__(self, params, mem, tiles):
        self.params, self.mem, self.tiles, self.writes = params, mem.copy(), tiles.copy(), []

    def run(self, op):
        """A fault as (slot, address), or ``None``."""
        contexts, frac, reg = self.params["contexts"], self.params["acc_frac"], op["reg"]
        view = op["view"][reg]
        for slot in range(op["size"]):
            at = addresses(op, slot)
            outside = at >= len(self.mem)
            if outside.any():
                return slot, int(at[outside][0])
            context = 0 if op["uniform"] else slot
            old = self.tiles[reg, context if context < view["copies"] else contexts + view["phys"]]
            if op["store"]:
                tile = narrow(old, frac) if reg == ACC else old
                self.mem[at.ravel()] = tile[: op["len_y"], : op["len_x"]].ravel()
                continue
            tile = np.zeros((4, 4), np.int64) if op["zero"] else old.copy()
            values = self.mem[at]
            tile[op["skip"] : op["skip"] + op["len_y"], : op["len_x"]] = (
                widen(values, frac) if reg == ACC else values
            )
            entry = contexts + op["phys"] if op["uniform"] else slot
            self.tiles[reg, entry] = tile
            self.writes.append((reg, entry, tile))
        return None


class Bench:
    """``unit`` with what is around it. After ``run``: ``mem``, ``tiles``, ``written`` (register,
    entry, tile), ``cycles``."""

    def __init__(self, unit, params, seed, *, stall=0.3):
        self.unit, self.params, self.rnd, self.stall = unit, params, random.Random(seed), stall
        self.width, self.size = element_bits(params), tile_elements(params)
        rnd = np.random.default_rng(seed)
        self.mem = rnd.integers(0, 1 << 18, 1 << params["log_mem"])
        self.tiles = rnd.integers(0, 1 << 18, (4, entries(params), 4, 4))
        self.tiles[ACC] = rnd.integers(0, 1 << self.width, self.tiles[ACC].shape)
        self.written, self.partial = [], []
        self.cycles = self.fetched = self.finished = 0
        self.mem_writes = 0

    def run(self, script, timeout=12_000):
        """``script(ctx, self)`` drives operations."""
        m = Module()
        m.submodules.unit, m.submodules.progress = self.unit, progress = self.unit, Progress()
        self.progress = progress
        self.others = {kind: Signal(4, name=f"others_{kind}") for kind in ("fetched", "finished")}
        m.d.comb += [
            progress.fetched.eq(Cat(self.unit.fetched, self.others["fetched"][1:])),
            progress.finished.eq(Cat(self.unit.finished, self.others["finished"][1:])),
            progress.clear.eq(self.unit.clear),
            self.unit.progress.eq(progress.progress),
        ]
        self.timeout = timeout

        async def drive(ctx):
            await script(ctx, self)

        simulate(m, drive, background=[self._world])

    def _words(self, tile):
        flat = [int(v) for v in tile.ravel()]
        return [
            sum(v << self.width * k for k, v in enumerate(flat[w : w + self.size]))
            for w in range(0, 16, self.size)
        ]

    async def _world(self, ctx):
        unit, rnd = self.unit, self.rnd
        read, write, banks = unit.tiles_read, unit.tiles_write, self.params["banks"]
        ready = True
        tiles_late, banks_late = deque([None]), deque([None] * (READ_LATENCY - 1))
        sampled = [
            unit.clear,
            read.request.valid,
            read.request.ready,
            read.request.payload,
            write.request.valid,
            write.request.ready,
            write.request.payload,
            unit.fetched,
            unit.finished,
            *(s for b in unit.banks for s in (b.row, b.write, b.write_data)),
        ]
        while True:
            (
                _,
                _,
                cleared,
                rv,
                rr,
                rp,
                wv,
                wr,
                wp,
                fetched,
                finished,
                *rows,
            ) = await ctx.tick().sample(*sampled)
            self.cycles += 1
            assert self.cycles < self.timeout
            self.fetched += fetched
            self.finished += finished
            if cleared:
                self.fetched = self.finished = 0
                self.partial = []
            assert self.finished <= self.fetched + 1
            # The tile file: what a request asks for is what stood there before this cycle's write.
            tiles_late.append(
                (rp.mask, list(rp.entry), rp.word, self.tiles.copy()) if rv and rr else None
            )
            if wv and wr:
                assert wp.word == len(self.partial)
                self.partial.append(wp.data)
                if len(self.partial) == 16 // self.size:
                    flat = [
                        v >> self.width * k & (1 << self.width) - 1
                        for v in self.partial
                        for k in range(self.size)
                    ]
                    tile = np.array(flat).reshape(4, 4)
                    self.written.append((wp.reg, wp.entry, tile))
                    self.tiles[wp.reg, wp.entry] = tile
                    self.partial = []
            due = tiles_late.popleft()
            ctx.set(read.valid, due is not None)
            for reg in range(4):
                if due is not None and due[0] >> reg & 1:
                    ctx.set(read.data[reg], self._words(due[3][reg, due[1][reg]])[due[2]])
                else:
                    ctx.set(read.data[reg], rnd.getrandbits(self.width * self.size))
            ctx.set(read.request.ready, rnd.random() >= self.stall)
            ctx.set(write.request.ready, ready)
            # Others write any of the registers in the next cycle, at least when the tile file will
            # not be ready.
            ready = rnd.random() >= self.stall
            ctx.set(unit.others, 0 if ready else 15)
            ctx.set(unit.refused, rnd.random() < self.stall / 4)
            # The banks.
            answers = []
            for bank in range(banks):
                row, writes, value = rows[3 * bank : 3 * bank + 3]
                at = row * banks + bank
                answers.append(rnd.getrandbits(18) if writes else int(self.mem[at]))
                if writes:
                    self.mem[at] = value
                    self.mem_writes += 1
            banks_late.append(answers)
            due = banks_late.popleft()
            if due is not None:
                for bank in range(banks):
                    ctx.set(unit.banks[bank].read_data, due[bank])

    async def give(self, ctx, op):
        """Offers an operation until it is taken."""
        unit = self.unit
        ctx.set(unit.op.payload, op)
        ctx.set(unit.op.valid, 1)
        await ctx.tick().until(unit.op.ready)
        ctx.set(unit.op.valid, 0)

    async def clear(self, ctx):
        ctx.set(self.unit.clear, 1)
        await ctx.tick()
        ctx.set(self.unit.clear, 0)
