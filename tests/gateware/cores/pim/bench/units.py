# SPDX-License-Identifier: BSD-2-Clause
"""The data units of one PIM processor under test: local memory, group store, matrix and vector
unit, driven as a processor would."""

from dataclasses import dataclass, field
from functools import partial

from amaranth import Module
from amaranth.lib import wiring

from quintet.gateware.cores.pim.engine.commands import CHUNK_BYTES
from quintet.gateware.cores.pim.engine.load.groups import GroupStore
from quintet.gateware.cores.pim.engine.matrix.unit import MatrixUnit
from quintet.gateware.cores.pim.engine.memory.lmem import MATRIX, TRANSFER, VECTOR, LocalMemory
from quintet.gateware.cores.pim.engine.vector.unit import VectorUnit
from tests.gateware.cores.pim.bench.sizes import sizes
from tests.support.simulating import design, simulator


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def sat(value, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))


def byw(biw):
    return -(-biw // 8)


def element(memory, at, biw):
    return signed(int.from_bytes(memory[at : at + byw(biw)], "little"), biw)


def put(memory, at, value, biw):
    memory[at : at + byw(biw)] = (value & (1 << 8 * byw(biw)) - 1).to_bytes(byw(biw), "little")


@dataclass
class Group:
    number: int
    weights: list  # rows of signed bytes
    arrays: list
    shift: int = 0
    round: int = 1
    bias: list = None
    bias_base: int = 0

    @property
    def rows(self):
        return len(self.weights)

    @property
    def cols(self):
        return len(self.weights[0])


@dataclass
class Unit:
    """A command for a unit and what it does to the oracle's memory."""

    unit: str
    fields: dict
    apply: object
    after: tuple = ()  # indices of commands that must be done before it is offered
    offered: int = None
    taken: int = None
    done: int = None


def mvmul(group, src, dst, ibiw, obiw, relu):
    def apply(memory):
        x = [element(memory, src + r * byw(ibiw), ibiw) for r in range(group.rows)]
        for c in range(group.cols):
            acc = (group.bias[c] if group.bias else 0) + sum(
                x[r] * group.weights[r][c] for r in range(group.rows)
            )
            if group.shift:
                acc = (acc + (1 << group.shift - 1 if group.round else 0)) >> group.shift
            put(memory, dst + c * byw(obiw), sat(max(acc, 0) if relu else acc, obiw), obiw)

    return Unit(
        "matrix",
        {
            "src": src,
            "dst": dst,
            "group": group.number,
            "rows": group.rows,
            "cols": group.cols,
            "ibiw": ibiw,
            "obiw": obiw,
            "shift": group.shift,
            "round": group.round,
            "relu": relu,
            "has_bias": int(group.bias is not None),
        },
        apply,
    )


class Units(wiring.Component):
    """All data units of a processor; the transfer unit's interfaces are the test's."""

    def __init__(self, params, family=None, parts=("matrix", "vector")):
        self.params = params
        self.lmem = LocalMemory(params=params, family=family)
        self.groups = GroupStore(params=params, family=family)
        self.matrix = MatrixUnit(params=params, family=family) if "matrix" in parts else None
        self.vector = VectorUnit(params=params, family=family) if "vector" in parts else None
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.lmem = self.lmem
        m.submodules.groups = groups = self.groups
        for number, name, unit in (
            (MATRIX, "matrix", self.matrix),
            (VECTOR, "vector", self.vector),
        ):
            if unit is not None:
                m.submodules[name] = unit
                wiring.connect(m, unit.read, self.lmem.read[number])
                wiring.connect(m, unit.write, self.lmem.write[number])
        if self.matrix is not None:
            matrix = self.matrix
            m.d.comb += [
                groups.ids_group.eq(matrix.ids_group),
                groups.ids_index.eq(matrix.ids_index),
                matrix.ids.eq(groups.ids),
                groups.bias_address.eq(matrix.bias_address),
                matrix.bias.eq(groups.bias),
            ]
        return m


@dataclass
class Result:
    memory: bytearray
    cycles: dict = field(default_factory=dict)


async def send(ctx, stream, fields):
    for name, value in fields.items():
        ctx.set(
            stream.payload[name] if hasattr(stream.payload, "__getitem__") else stream.payload,
            value,
        )
    ctx.set(stream.valid, 1)
    await ctx.tick().until(stream.ready)
    ctx.set(stream.valid, 0)


class UnitBench:
    """Loads groups and LMem, runs commands in order of each unit, compares LMem.

    ``traffic``: cycles of a hundred in which the transfer interfaces read, and write (the same
    bytes again), elsewhere. ``spoilt``: sources of ``mvmul`` in whole words: pairs (command, bytes
    that come in their place once it has read them).
    """

    def __init__(self, preset="sim", family=None, parts=("matrix", "vector"), **overrides):
        self.params = sizes(preset, overrides)
        self.dut = design(Units, self.params, family, parts)

    def run(self, groups, memory, commands, *, rng=None, traffic=0, spoilt=(), limit=200_000):
        dut, params = self.dut, self.params
        result = Result(bytearray(len(memory)))
        state = {"loaded": False, "done": 0, "cycle": 0, "to_spoil": len(spoilt)}
        units = {"matrix": dut.matrix, "vector": dut.vector}

        async def load(ctx):
            for group in groups:
                weights = dut.matrix.weights_write
                entry = {
                    "rows": group.rows - 1,
                    "cols": group.cols - 1,
                    "mbiw": 7,
                    "shift": group.shift,
                    "round": group.round,
                    "has_bias": int(group.bias is not None),
                }
                ctx.set(dut.groups.group_write, {"valid": 1, "group": group.number, "entry": entry})
                for index, array in enumerate(group.arrays):
                    ctx.set(
                        dut.groups.ids_write,
                        {
                            "valid": 1,
                            "group": group.number,
                            "index": index,
                            "ids": {"array": array, "bias": group.bias_base},
                        },
                    )
                    await ctx.tick()
                    ctx.set(dut.groups.group_write.valid, 0)
                ctx.set(dut.groups.ids_write.valid, 0)
                for k, value in enumerate(group.bias or ()):
                    ctx.set(
                        dut.groups.bias_write,
                        {"valid": 1, "address": group.bias_base + k, "data": value & 0xFFFF_FFFF},
                    )
                    await ctx.tick()
                ctx.set(dut.groups.bias_write.valid, 0)
                xr, xc = params["xb_rows"], params["xb_cols"]
                across = -(-group.cols // xc)
                for index, array in enumerate(group.arrays):
                    down, column = index // across * xr, index % across * xc
                    for r in range(min(xr, group.rows - down)):
                        line = group.weights[down + r][column : column + xc]
                        line = bytes(w & 255 for w in line) + bytes(xc - len(line))
                        for c in range(0, xc, CHUNK_BYTES):
                            chunk = int.from_bytes(line[c : c + CHUNK_BYTES], "little")
                            await send(
                                ctx,
                                weights,
                                {
                                    "address": ((array * xr + r) * xc + c) // CHUNK_BYTES,
                                    "data": chunk,
                                },
                            )
            await self._store(ctx, memory)
            state["loaded"] = True

        async def drive(ctx, name):
            while not state["loaded"]:
                await ctx.tick()
            unit = units[name]
            for command in [c for c in commands if c.unit == name]:
                while any(commands[k].done is None for k in command.after):
                    await ctx.tick()
                command.offered = state["cycle"]
                await send(
                    ctx, unit.command, {**command.fields, "tag": commands.index(command) % 8}
                )
                command.taken = state["cycle"] - 1

        async def watch(ctx, name):
            unit = units[name]
            mine = [c for c in commands if c.unit == name]
            while mine:
                if ctx.get(unit.progress.done):
                    command = mine.pop(0)
                    assert ctx.get(unit.progress.tag) == commands.index(command) % 8
                    command.done = state["cycle"]
                    state["done"] += 1
                    if not mine:
                        await ctx.tick()
                        assert not ctx.get(unit.busy)
                        break
                await ctx.tick()

        async def finish(ctx):
            while state["done"] < len(commands) or state["to_spoil"]:
                await ctx.tick()
                state["cycle"] += 1
                assert state["cycle"] < limit, (
                    f"the units have not finished: {state['done']} commands done"
                )
            state["stop"] = True
            await self._fetch(ctx, result.memory)

        async def disturb(ctx):
            face = dut.lmem.read[TRANSFER].request
            while not state["loaded"]:
                await ctx.tick()
            while not state.get("stop"):
                ctx.set(face.valid, 0)
                if rng.randrange(100) < traffic:
                    ctx.set(face.payload, rng.randrange(len(memory)))
                    ctx.set(face.valid, 1)
                    await ctx.tick().until(face.ready)
                    ctx.set(face.valid, 0)
                else:
                    await ctx.tick()

        async def spoil(ctx):
            for command, data in spoilt:
                reads = dut.matrix.reads
                while not (
                    ctx.get(reads.done) and ctx.get(reads.tag) == commands.index(command) % 8
                ):
                    await ctx.tick()
                await ctx.tick()
                await self._store(ctx, data, command.fields["src"])
                state["to_spoil"] -= 1

        sim = simulator(dut)
        sim.add_clock(1e-8)
        sim.add_testbench(load)
        for name in sorted({c.unit for c in commands}):
            sim.add_testbench(partial(drive, name=name))
            sim.add_testbench(partial(watch, name=name))
        sim.add_testbench(finish)
        if traffic:
            sim.add_testbench(disturb)
        if spoilt:
            sim.add_testbench(spoil)
        sim.run()
        return result

    async def _store(self, ctx, memory, place=0):
        face, step = self.dut.lmem.write[TRANSFER].request, self.params["vec_bytes"]
        ctx.set(face.payload.mask, (1 << step) - 1)
        for at in range(0, len(memory), step):
            await send(
                ctx,
                face,
                {"address": place + at, "data": int.from_bytes(memory[at : at + step], "little")},
            )

    async def _fetch(self, ctx, memory):
        face, step = self.dut.lmem.read[TRANSFER], self.params["vec_bytes"]
        for _ in range(12):  # until the traffic has ended
            await ctx.tick()
        asked = got = 0
        ctx.set(face.request.valid, 1)
        while got < len(memory):
            ctx.set(face.request.payload, asked % len(memory))
            ctx.set(face.request.valid, asked < len(memory))
            if ctx.get(face.request.ready):
                asked += step
            if ctx.get(face.valid):
                memory[got : got + step] = ctx.get(face.data).to_bytes(step, "little")
                got += step
            await ctx.tick()

    def check(self, groups, memory, commands, **how):
        """Runs and compares with the commands' own oracles, in their order."""
        expected = bytearray(memory)
        for command in commands:
            command.apply(expected)
            for one, data in how.get("spoilt", ()):
                if one is command:
                    expected[command.fields["src"] : command.fields["src"] + len(data)] = data
        got = self.run(groups, memory, commands, **how).memory
        wrong = [k for k in range(len(memory)) if got[k] != expected[k]]
        assert not wrong, (
            f"byte {wrong[0]:#x} is {got[wrong[0]]:#04x}, expected {expected[wrong[0]]:#04x} "
            f"({len(wrong)} differ)"
        )
