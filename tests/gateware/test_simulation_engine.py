# SPDX-License-Identifier: BSD-2-Clause
"""The tests' simulation engine against Amaranth's own: random designs, and what a test bench of
either sees."""

import io
import random

import numpy as np
import pytest
from amaranth import (
    Cat,
    ClockDomain,
    ClockSignal,
    Const,
    Elaboratable,
    Module,
    Mux,
    Shape,
    Signal,
    signed,
)
from amaranth.hdl import Assert, DriverConflict, Format, Print
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.sim import BrokenTrigger, DomainReset, Simulator

from tests.support.shares import fewer
from tests.support.simulating import design, simulator
from tests.support.simulation_engine import Engine, original
from tests.support.simulation_layouts import bits, from_bits

engines = pytest.mark.parametrize("engine", [original, Engine], ids=["amaranth", "ours"])

PERIOD = 1e-6
#: Operators of two values whose results stay narrow enough for expressions of several levels.
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a & b,
    lambda a, b: a | b,
    lambda a, b: a ^ b,
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    lambda a, b: a[:4] * b[:3],
    lambda a, b: a.as_signed() * b[:3],
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: a << b[:2].as_unsigned(),
    lambda a, b: a >> b[:2].as_unsigned(),
    lambda a, b: Mux(a, b, a),
    lambda a, b: Mux(a > b, a - 1, b[1:]),
    lambda a, b: Cat(a, b)[1:9],
    lambda a, b: Cat(a).bit_select(b[:3].as_unsigned(), 3),
    lambda a, b: Cat(a).word_select(b[:2].as_unsigned(), 2),
]
UNARY = [
    lambda a: ~a,
    lambda a: -a,
    lambda a: +a,
    lambda a: a.bool(),
    lambda a: a.any(),
    lambda a: a.all(),
    lambda a: a.xor(),
    lambda a: a.as_signed(),
    lambda a: a.as_unsigned(),
    lambda a: abs(a),
    lambda a: a[: max(len(a) - 1, 1)],
    lambda a: a[len(a) // 2 :],
    lambda a: a.rotate_left(1),
    lambda a: ~a[:1],
]


class Random(wiring.Component):
    """Random logic: registers of two clock edges, combinational signals, a memory."""

    def __init__(self, seed):
        super().__init__({})
        draw = self.draw = random.Random(seed)
        self.inputs = [self._signal(f"in{n}") for n in range(5)]
        self.registers = [self._signal(f"register{n}") for n in range(8)]
        self.wires = [self._signal(f"wire{n}") for n in range(6)]
        self.late = [self._signal(f"late{n}") for n in range(2)]
        depth = draw.randint(3, 6)
        shape = self._shape()
        init = [draw.randrange(2) * (-1 if shape.signed else 1) for _ in range(depth)]
        self.memory = Memory(shape=shape, depth=depth, init=init)
        self.outputs = [*self.registers, *self.wires, *self.late]

    def _shape(self):
        return Shape(self.draw.randint(1, 9), signed=self.draw.random() < 0.4)

    def _signal(self, name):
        shape = self._shape()
        low, high = (-(1 << shape.width) // 2, 1 << (shape.width - 1)) if shape.signed else (0, 2)
        options = {"reset_less": self.draw.random() < 0.2}
        return Signal(shape, name=name, init=self.draw.randrange(low, high), **options)

    def _value(self, sources, depth=3):
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return draw.choice([*sources, *sources, draw.choice(sources) * 0 + draw.randint(-3, 9)])
        value = self._value(sources, depth - 1)
        if draw.random() < 0.35:
            return draw.choice(UNARY)(value)
        result = draw.choice(BINARY)(value, self._value(sources, depth - 1))
        # Wide results are cut, so that operators on them stay fast.
        return result if len(result) <= 16 else result[:16]

    def _assign(self, domain, target, sources):
        draw = self.draw
        value = self._value(sources)
        match draw.randrange(6):
            case 0:
                start = draw.randrange(len(target))
                domain += target[start : draw.randint(start, len(target))].eq(value)
            case 1:
                domain += target.bit_select(draw.choice(sources)[:3].as_unsigned(), 2).eq(value)
            case 2:
                domain += target.as_unsigned().eq(value)
            case 3:
                cut = draw.randrange(len(target) + 1)
                domain += Cat(target[cut:], target[:cut]).eq(value)
            case _:
                domain += target.eq(value)

    def _body(self, m, domain, targets, sources, depth=2):
        draw = self.draw
        for target in targets:
            if draw.random() < 0.7:
                self._assign(domain, target, sources)
        if not depth:
            return
        match draw.randrange(3):
            case 0:
                with m.If(self._value(sources, 1).bool()):
                    self._body(m, domain, targets, sources, depth - 1)
                with m.Elif(self._value(sources, 1).bool()):
                    self._body(m, domain, targets, sources, depth - 1)
                with m.Else():
                    self._body(m, domain, targets, sources, depth - 1)
            case 1:
                test = self._value(sources, 1)
                test = Cat(test, draw.choice(sources))[:3]
                with m.Switch(test):
                    for pattern in draw.sample(["000", "01-", "1-1", "111"], 3):
                        with m.Case(pattern, "001"):
                            self._body(m, domain, targets, sources, depth - 1)
                    with m.Default():
                        self._body(m, domain, targets, sources, depth - 1)
            case 2:
                with m.If(draw.choice(sources).bool()):
                    self._body(m, domain, targets, sources, depth - 1)

    def elaborate(self, platform):
        m = Module()
        late = ClockDomain("late", clk_edge="neg", async_reset=self.draw.random() < 0.5)
        m.domains.late = late
        m.d.comb += ClockSignal("late").eq(ClockSignal())
        m.d.comb += late.rst.eq(self.inputs[0][0])
        m.submodules.memory = memory = self.memory
        write = memory.write_port()
        clocked = memory.read_port(transparent_for=[write] if self.draw.random() < 0.5 else [])
        open_ = memory.read_port(domain="comb")
        sources = [*self.inputs, *self.registers, *self.late, clocked.data, open_.data]
        sources = [value if len(value) > 2 else Cat(value, value, value) for value in sources]
        self.outputs += [clocked.data, open_.data]
        for port in (write, clocked, open_):
            m.d.comb += port.addr.eq(self._value(sources[:-1] if port is open_ else sources, 1))
        m.d.comb += [write.data.eq(self._value(sources)), write.en.eq(self._value(sources, 1))]
        m.d.comb += clocked.en.eq(self.draw.choice(sources[:6]))
        for wire in self.wires:
            self._body(m, m.d.comb, [wire], sources)
            sources.append(wire if len(wire) > 2 else Cat(wire, wire, wire))
        self._body(m, m.d.sync, self.registers, sources)
        self._body(m, m.d.late, self.late, sources)
        return m


def _trace(engine, seed, cycles):
    """Values of all outputs, and of an expression, in every cycle."""
    dut = Random(seed)
    draw = random.Random(seed + 1)
    expression = dut._value([*dut.inputs, *dut.registers])
    seen = []

    async def bench(ctx):
        for _ in range(cycles):
            for signal in draw.sample(dut.inputs, 3):
                ctx.set(signal, draw.randrange(-200, 200))
            if draw.random() < 0.1:
                ctx.set(dut.memory.data[draw.randrange(dut.memory.depth)], draw.randrange(2))
            seen.append([ctx.get(output) for output in dut.outputs])
            *sampled, value = (await ctx.tick().sample(*dut.outputs[:3], expression))[2:]
            seen.append([*sampled, value, ctx.get(expression)])
            seen.append([ctx.get(row) for row in dut.memory.data])
        assert all(type(value) is int for values in seen for value in values)

    sim = Simulator(dut, engine=engine)
    sim.add_clock(PERIOD)
    sim.add_testbench(bench)
    sim.run()
    return seen


@pytest.mark.parametrize("seed", range(fewer(40, least=10)))
def test_random_designs_act_alike(seed):
    expected = _trace(original, seed, 30)
    for number, (ours, theirs) in enumerate(zip(_trace(Engine, seed, 30), expected, strict=True)):
        assert ours == theirs, f"seed {seed}, record {number}"


class Pair(data.Struct):
    """A structure of two fields."""

    low: 3
    high: signed(4)


class Letter(enum.Enum, shape=2):
    A = 1
    B = 2


class Counter(wiring.Component):
    """A counter with a reset, a structure that follows it, and a memory of its values."""

    def __init__(self):
        super().__init__({})
        self.count = Signal(8)
        self.clear = Signal()
        self.pair = Signal(Pair)
        self.letter = Signal(Letter, init=Letter.A)
        self.step = Signal(4, init=1)
        self.below = Signal(signed(5))
        self.doubled = Signal(9)
        self.memory = Memory(shape=8, depth=5, init=[7])

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = sync = ClockDomain()
        m.d.comb += [sync.rst.eq(self.clear), self.doubled.eq(self.count << 1)]
        m.d.comb += [self.pair.low.eq(self.count), self.pair.high.eq(-self.count[:3])]
        m.d.sync += self.count.eq(self.count + self.step)
        m.submodules.memory = self.memory
        port = self.memory.write_port()
        m.d.comb += [port.addr.eq(self.count), port.data.eq(self.count), port.en.eq(1)]
        return m


def _run(engine, bench, dut=None, *, process=None):
    sim = Simulator(dut or Counter(), engine=engine)
    sim.add_clock(PERIOD)
    sim.add_testbench(bench)
    if process is not None:
        sim.add_process(process)
    sim.run()


@engines
def test_waits_for_clock_edges(engine):
    dut = Counter()

    async def bench(ctx):
        assert await ctx.tick() == (True, False)
        assert ctx.get(dut.count) == 1
        assert await ctx.tick().sample(dut.count, dut.pair, dut.letter) == (
            True,
            False,
            1,
            Pair.const({"low": 1, "high": -1}),
            Letter.A,
        )
        assert await ctx.tick().repeat(4) == ()
        assert await ctx.tick().sample(dut.count).repeat(2) == (7,)
        assert await ctx.tick().sample(dut.count, dut.doubled).until(dut.count == 12) == (12, 24)
        assert ctx.get(dut.count) == 13
        assert await ctx.tick().until(dut.count[0]) == ()
        assert ctx.get(dut.count) == 14
        for count in (0, -1):
            with pytest.raises(ValueError, match="positive integer"):
                await ctx.tick().repeat(count)
        for condition in ("no value", dut.pair):
            with pytest.raises(TypeError, match="ondition"):
                await ctx.tick().until(condition)

    _run(engine, bench, dut)


@engines
def test_a_reset_ends_waits(engine):
    dut = Counter()

    async def bench(ctx):
        await ctx.tick().repeat(3)
        ctx.set(dut.clear, 1)
        assert await ctx.tick().sample(dut.count) == (True, True, 3)
        assert ctx.get(dut.count) == 0
        with pytest.raises(DomainReset):
            await ctx.tick().repeat(3)
        with pytest.raises(DomainReset):
            await ctx.tick().until(dut.count == 9)

    _run(engine, bench, dut)


@engines
def test_values_that_a_bench_sets(engine):
    dut = Counter()

    async def bench(ctx):
        ctx.set(dut.step, 0x35)
        assert ctx.get(dut.step) == 5
        ctx.set(dut.step[1:3], 1)
        assert ctx.get(dut.step) == 3
        ctx.set(Cat(dut.step[2:], dut.below), 0b10101_10)
        assert (ctx.get(dut.step), ctx.get(dut.below)) == (0b1011, -11)
        ctx.set(dut.below.as_unsigned(), 17)
        assert ctx.get(dut.below) == -15
        ctx.set(dut.letter, Letter.B)
        assert ctx.get(dut.letter) is Letter.B
        ctx.set(dut.memory.data[3], 99)
        assert ctx.get(dut.memory.data[3]) == 99
        assert ctx.get(dut.pair.high) == 0
        with pytest.raises(DriverConflict):
            ctx.set(dut.doubled, 1)
        with pytest.raises(DriverConflict):
            ctx.set(dut.pair, {"low": 1, "high": 1})
        await ctx.tick()
        assert [ctx.get(row) for row in dut.memory.data] == [0, 0, 0, 99, 0]

    _run(engine, bench, dut)


@engines
def test_processes_and_other_triggers(engine):
    dut = Counter()
    seen = []

    async def process(ctx):
        async for _, _, count in ctx.tick().sample(dut.count):
            ctx.set(dut.below, count % 7 - 3)

    async def bench(ctx):
        await ctx.posedge(dut.count[1])
        seen.append(ctx.get(dut.count))
        seen.append(await ctx.changed(dut.count))
        seen.append(await ctx.delay(3 * PERIOD).sample(dut.count))
        seen.append(await ctx.edge(dut.count[0], 0).delay(PERIOD / 8))
        async for _, _, below in ctx.tick().sample(dut.below):
            seen.append(below)
            if below == 3:
                break

    _run(engine, bench, dut, process=process)
    assert seen[:4] == [2, (3,), (True, 5), (False, True)]
    assert seen[4:] == [2, 3]


class Late(Elaboratable):
    """A counter in a domain of falling edges with an asynchronous reset."""

    def __init__(self):
        self.count = Signal(4)
        self.clear = Signal()

    def elaborate(self, platform):
        m = Module()
        m.domains.late = late = ClockDomain(clk_edge="neg", async_reset=True)
        m.d.comb += [late.clk.eq(ClockSignal()), late.rst.eq(self.clear)]
        m.d.late += self.count.eq(self.count + 1)
        m.d.sync += Signal().eq(1)
        return m


@engines
def test_falling_edges_and_an_asynchronous_reset(engine):
    dut = Late()

    async def bench(ctx):
        assert await ctx.tick("late").sample(dut.count) == (True, False, 0)
        await ctx.tick("late").repeat(3)
        assert ctx.get(dut.count) == 4
        await ctx.tick()
        assert ctx.get(dut.count) == 4

    async def clear(ctx):
        await ctx.delay(6.25 * PERIOD)
        ctx.set(dut.clear, 1)

    async def watch(ctx):
        await ctx.delay(6.1 * PERIOD)
        assert await ctx.tick("late").sample(dut.count) == (False, True, 6)
        assert ctx.get(dut.count) == 0
        assert await ctx.tick("late") == (True, True)

    sim = Simulator(dut, engine=engine)
    sim.add_clock(PERIOD)
    for testbench in (bench, clear, watch):
        sim.add_testbench(testbench)
    sim.run()


@engines
def test_a_missed_edge_is_told(engine):
    async def bench(ctx):
        with pytest.raises(BrokenTrigger):
            async for _ in ctx.tick():
                await ctx.delay(3 * PERIOD)

    _run(engine, bench)


class Faulty(Elaboratable):
    """Says what its counter is, and asserts that it stays below 4."""

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        m.d.sync += [count.eq(count + 1), Print(Format("count {:02d}", count))]
        m.d.sync += Assert(count < 4, Format("it is {}", count))
        return m


@engines
def test_messages_and_assertions(engine, capsys):
    async def bench(ctx):
        for _ in range(9):
            await ctx.tick()

    with pytest.raises(AssertionError, match="Assertion violated: it is 4"):
        _run(engine, bench, Faulty())
    assert capsys.readouterr().out.split("\n")[:5] == [f"count {n:02d}" for n in range(5)]


@engines
def test_too_wide_a_value_is_refused(engine):
    class Wide(Elaboratable):
        def elaborate(self, platform):
            m = Module()
            wide = Signal(40)
            m.d.comb += wide.eq(Signal(3) << Signal(18))
            return m

    with pytest.raises(OverflowError, match="262146 bits wide"):
        Simulator(Wide(), engine=engine)


def test_equal_waveforms():
    def waves(engine):
        dut, file = Counter(), io.StringIO()

        async def bench(ctx):
            await ctx.tick().repeat(9)

        sim = Simulator(dut, engine=engine)
        sim.add_clock(PERIOD)
        sim.add_testbench(bench)
        with sim.write_vcd(file):
            sim.run()
        head, _, changes = file.getvalue().partition("$enddefinitions $end")
        return _by_time(head, changes)

    assert waves(Engine) == waves(original)
    assert len(waves(Engine)) > 15


def _by_time(head, changes):
    """Changes of a waveform: at each time, a set of (name, value)."""
    names = {}
    for line in head.splitlines():
        words = line.split()
        if words[:1] == ["$var"]:
            names[words[3]] = words[4]
    times = {}
    now = times.setdefault("#0", set())
    for line in changes.splitlines():
        if line.startswith("#"):
            now = times.setdefault(line, set())
        elif line[:1] in "01" and line:
            now.add((names[line[1:]], line[0]))
        elif line[:1] in "bs":
            value, _, key = line.partition(" ")
            now.add((names.get(key, key), value))
    return times


def test_a_shared_design_starts_anew():
    dut = design(Counter)
    for _ in range(2):
        sim = simulator(dut)
        sim.add_clock(PERIOD)
        seen = []

        async def bench(ctx, seen=seen):
            seen.append(ctx.get(dut.count))
            ctx.set(dut.memory.data[4], 3)
            seen += await ctx.tick().sample(dut.count, dut.memory.data[4]).repeat(5)
            ctx.set(dut.step, 3)

        async def endless(ctx):
            await ctx.tick().until(dut.count == 77)

        sim.add_testbench(bench)
        sim.add_testbench(endless, background=True)
        sim.run()
        assert seen == [0, 4, 3]


class Start(data.Struct):
    """A structure with an initial value."""

    low: 3 = 5
    high: 2


class Own(data.Struct):
    """A structure with a conversion of its own."""

    low: 3

    @classmethod
    def from_bits(cls, value):
        return f"{value} bits"


WHOLE = data.StructLayout(
    {
        "pair": Pair,
        "letters": data.ArrayLayout(Letter, 3),
        "flag": 1,
        "start": Start,
        "near": range(9),
    }
)
#: (shape, value that a bench sets).
SET = [
    (Pair, {"low": 9, "high": -1}),
    (Pair, {"high": True}),
    (Pair, {"low": Const(2, 3), "high": np.int64(-3)}),
    (Pair, Pair.const({"low": 1})),
    (Pair, None),
    (Start, {"high": 1}),
    (data.ArrayLayout(signed(4), 3), [1, -2, 3]),
    (data.ArrayLayout(Pair, 2), ({"low": 3}, {"high": 2})),
    (data.ArrayLayout(4, 2), {1: 7}),
    (data.ArrayLayout(4, 2), {-1: 7}),
    (data.UnionLayout({"word": 8, "pair": Pair}), {"pair": {"high": -2}}),
    (WHOLE, {"near": 8, "flag": 1, "letters": [Letter.B, Letter.A, Letter.B]}),
    (WHOLE, {"pair": {"low": 1, "high": 3}, "start": {}}),
    (Letter, Letter.B),
]


@pytest.mark.parametrize(("shape", "value"), SET, ids=range(len(SET)))
def test_bits_of_structures_are_amaranths(shape, value):
    expected = Const.cast(shape.const(value)).value
    assert bits(shape, value) == expected
    assert from_bits(shape, expected) == shape.from_bits(expected)


def test_conversions_of_a_shape_itself_are_used():
    assert from_bits(Own, 3) == "3 bits"


class Named(wiring.Component):
    """A component whose class has a property of a signal's name."""

    inner: wiring.Out(stream.Signature(Pair))
    ready: wiring.In(1)

    def __init__(self):
        super().__init__()
        self.extra = Signal(4)

    @property
    def doubled(self):
        return self.ready, self.ready


def test_members_of_flipped_interfaces():
    named = Named()
    found = wiring.flipped(named)
    assert found.ready is named.ready and found.extra is named.extra
    assert found.inner == wiring.flipped(named.inner)
    assert found.inner.valid is named.inner.valid
    assert found.inner.payload.eq(named.inner.payload)
    assert found.doubled == (named.ready, named.ready)
    # The property goes before an attribute of the object.
    named.__dict__["doubled"] = Signal()
    assert found.doubled == (named.ready, named.ready)
    with pytest.raises(AttributeError, match="nothing"):
        _ = found.nothing


@pytest.mark.parametrize("value", [{"middle": 1}, {"low": "x"}, 5, [1]])
def test_values_that_amaranth_refuses(value):
    with pytest.raises(Exception) as ours:
        bits(Pair, value)
    with pytest.raises(Exception) as theirs:
        Pair.const(value)
    assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))
