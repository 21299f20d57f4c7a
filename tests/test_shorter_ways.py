# SPDX-License-Identifier: BSD-2-Clause
"""Amaranth's simulator gives the same by the shorter ways of `tests/support/shorter_ways.py`."""

import random
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Array, Cat, ClockDomain, Module, Mux, Shape, Signal, signed
from amaranth.hdl._ir import DriverConflict
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

from tests.support import shorter_ways

CYCLES = 60


def operand(rnd, signals, depth=0):
    """A random expression of signals."""
    if depth > 2 or rnd.random() < 0.2:
        return rnd.choice(signals)
    a, b, c = (operand(rnd, signals, depth + 1) for _ in range(3))
    return rnd.choice(
        [
            lambda: a + b,
            lambda: a - b,
            lambda: a * b,
            lambda: (a & b) ^ ~c,
            lambda: (a // b) + (a % c),
            lambda: -a,
            lambda: Mux(a.any(), b, c),
            lambda: Cat(a, b, c)[rnd.randrange(3) :],
            lambda: (a << b.as_unsigned()[:2]) | (c >> b.as_unsigned()[:3]),
            lambda: a.as_signed(),
            lambda: (a < b) | (b == c) | (a.xor() & c.all()),
            lambda: a.bit_select(b.as_unsigned()[:3], 2),
            lambda: Array([a, b, c])[c.as_unsigned()[:2]],
        ]
    )()


def design(seed):
    """Registers, combinational signals and a memory of random expressions, with two clocks."""
    rnd = random.Random(seed)
    m = Module()
    m.domains.sync = ClockDomain("sync")
    m.domains.other = ClockDomain("other", async_reset=True)
    inputs = [Signal(Shape(rnd.randint(1, 9), rnd.random() < 0.5), name=f"i{k}") for k in range(4)]
    signals, driven = list(inputs), []
    for number in range(14):
        width = Shape(rnd.randint(1, 12), rnd.random() < 0.5)
        target = Signal(width, name=f"s{number}", init=rnd.getrandbits(1) - width.signed)
        domain = m.d[rnd.choice(("comb", "sync", "sync", "other"))]
        inner = Module()
        inner.d.comb += (part := Signal(width)).eq(operand(rnd, signals))
        m.submodules += inner
        with m.Switch(Cat(operand(rnd, signals), operand(rnd, signals))[:2]):
            with m.Case(0):
                domain += target.eq(part)
            with m.Case("1-"):
                domain += target[: len(target) // 2 + 1].eq(operand(rnd, signals))
            with m.Default():
                domain += target.eq(operand(rnd, [*signals, part]))
        signals += [part, target]
        driven += [part, target]
    m.submodules.memory = memory = Memory(shape=6, depth=8, init=range(8))
    write, read = memory.write_port(granularity=2), memory.read_port()
    now = memory.read_port(domain="comb")
    m.d.comb += [
        write.addr.eq(signals[5]),
        write.data.eq(signals[9]),
        write.en.eq(signals[7]),
        read.addr.eq(signals[6]),
        read.en.eq(signals[4][0]),
        now.addr.eq(signals[8]),
    ]
    record = Signal(data.StructLayout({"low": 3, "high": data.ArrayLayout(2, 2)}), name="record")
    return m, inputs, [*driven, read.data, now.data], record


def trace(seed):
    """All values of a run, with everything that a bench can wait for."""
    m, inputs, outputs, record = design(seed)
    copy = Signal.like(record, name="copy")
    m.d.sync += copy.eq(record)
    m.d.comb += (flag := Signal()).eq(inputs[0][0] & record.as_value()[0])
    rnd, seen = random.Random(seed), []

    async def bench(ctx):
        for cycle in range(CYCLES):
            for signal in inputs:
                ctx.set(signal, rnd.randint(-600, 600))
                seen.append(ctx.get(signal))
            ctx.set(inputs[0][0], rnd.random() < 0.5)
            ctx.set(record, {"low": rnd.randrange(8), "high": [rnd.randrange(4), cycle % 4]})
            ctx.set(record.high[1], 3)
            values = await ctx.tick("other" if cycle % 7 == 3 else "sync").sample(
                *outputs, inputs[1][:1], copy, copy.high, outputs[0] + 1
            )
            seen.append([repr(value) for value in values])
            seen.extend(ctx.get(value) for value in (*outputs, outputs[0][:1], ~outputs[1]))
            if cycle % 9 == 5:
                seen.append(await ctx.tick().repeat(2))
            if cycle % 11 == 5:
                seen.append(await ctx.delay(1.7e-6).sample(outputs[2]))
        seen.append(await ctx.tick().sample(outputs[3]).until(flag | 1))

    async def watch(ctx):
        while True:
            seen.append(await ctx.changed(flag).sample(outputs[1]))

    async def answer(ctx):
        async for _, reset, value in ctx.tick().sample(outputs[0]):
            if not reset:
                ctx.set(inputs[3], value & 1)

    sim = Simulator(m)
    sim.add_clock(1e-6)
    sim.add_clock(0.7e-6, domain="other")
    sim.add_testbench(bench)
    sim.add_testbench(watch, background=True)
    sim.add_process(answer)
    sim.run()
    first = list(seen)
    seen.clear()
    rnd.seed(seed)
    sim.reset()
    sim.run()
    assert [repr(value) for value in seen] == [repr(value) for value in first]
    return [repr(value) for value in first]


def both(make, *arguments):
    """Results of a function with Amaranth's own code and with the shorter ways."""
    results = []
    for shorter in (False, True):
        with shorter_ways.used(shorter):
            results.append(make(*arguments))
    return results


@pytest.mark.parametrize("seed", range(6))
def test_runs_are_the_same(seed):
    own, ours = both(trace, seed)
    assert len(own) > CYCLES and len(own) == len(ours)
    different = [k for k, pair in enumerate(zip(own, ours, strict=True)) if pair[0] != pair[1]]
    assert not different, (seed, different[0], own[different[0]], ours[different[0]])


@pytest.mark.parametrize("seed", range(3))
def test_netlists_are_the_same(seed):
    def text():
        m, inputs, outputs, record = design(seed)
        return rtlil.convert(m, ports=[*inputs, *outputs, record.as_value()], emit_src=False)

    own, ours = both(text)
    assert own == ours


def test_combinational_signals_cannot_be_set():
    m = Module()
    m.d.comb += (target := Signal()).eq(1)

    async def bench(ctx):
        ctx.set(target, 0)

    sim = Simulator(m)
    sim.add_testbench(bench)
    with pytest.raises(DriverConflict, match="Combinationally driven"):
        sim.run()


def test_processes_use_no_method_for_whole_signals():
    slots = [SimpleNamespace(signal=Signal(width)) for width in (4, signed(3), 5)]
    code = "def run():\n    next_0 = slots[2].curr\n    slots[0].update(next_0, 15)\n"
    code += "    slots[1].update(next_1, -1)\n    slots[2].update(next_2, 7)\n"
    text, numbers = shorter_ways.rewritten(code, slots)
    assert numbers == [0, 2, 1] and "slots" not in text
    assert text.count(".update(") == 1 and "s1.update(next_1, 7)" in text
