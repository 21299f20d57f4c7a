# SPDX-License-Identifier: BSD-2-Clause
"""Exact rounding: the formula against exact fractions, then the gateware against the formula."""

import itertools
import os
import random
import time
from fractions import Fraction
from math import floor

import pytest
from amaranth.sim import Simulator

from quintet.gateware.cores.opu.engine.compute.biasterms import BiasTerms
from quintet.gateware.cores.opu.engine.compute.rounding import (
    Rounder,
    RoundingBits,
    bias_terms,
    plain_base,
    rounded,
)
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.types import TYPE_SETS, type_set
from tests.support.shares import fewer
from tests.support.simulating import simulate


def clamp(x, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, x))


def kappa(x, bits):
    return clamp(floor(x + Fraction(1, 2)), bits)


def exact_bias(bits, s, f, b, bias):
    """clamp(floor(bias * 2^b + s * 2^f + 1/2)) in integers."""
    cut = max(-f, -b, 0) + 1
    return clamp((bias << b + cut) + (s << f + cut) + (1 << cut - 1) >> cut, bits.ofm)


def extreme(rng, bits):
    """A signed number of ``bits`` bits: ends, powers of two and their neighbours, ties, small and
    any."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice((-(1 << bits - 1), -(1 << bits - 1) + 1, (1 << bits - 1) - 1, -1, 0, 1))
    if kind < 3:
        return clamp(
            rng.choice((1, -1, 3, -3)) * (1 << rng.randrange(bits)) + rng.choice((-1, 0, 1)), bits
        )
    return rng.randint(-(1 << bits - 1), (1 << bits - 1) - 1) >> rng.randrange(bits)


def extreme_shift(rng):
    return rng.choice(
        (rng.randint(-128, 127), rng.randint(-45, 45), rng.randint(-8, 8), rng.choice((-128, 127)))
    )


def case(rng, types):
    """S, f, b, bias; often such that both terms all but cancel, or that the sum is near a tie."""
    bound = 1 << types.dot_log2
    f, b, bias = extreme_shift(rng), extreme_shift(rng), extreme(rng, types.bias)
    s = extreme(rng, types.dot_bits)
    if rng.randrange(3) == 0:
        target = -bias * Fraction(2) ** (b - f) + rng.choice((0, 1, -1, 3)) * Fraction(2) ** (
            -f - rng.randrange(2)
        )
        s = int(target) + rng.choice((-1, 0, 1))
    return max(-bound, min(bound, s)), f, b, bias


def check_formula(rng, types, number):
    bits = RoundingBits.of(types.name)
    for _ in range(number):
        s, f, b, bias = case(rng, types)
        base, addend = bias_terms(bits, f, b, bias)
        assert rounded(bits, s + base, f, addend) == kappa(
            bias * Fraction(2) ** b + s * Fraction(2) ** f, types.ofm
        ), (s, f, b, bias)
        assert abs(s + base) < 1 << bits.accumulator - 1 and clamp(addend, bits.ofm) == addend
        old = extreme(rng, types.ofm)
        assert rounded(bits, s + plain_base(bits, f), f, old) == kappa(
            old + s * Fraction(2) ** f, types.ofm
        ), (s, f, old)


@pytest.mark.parametrize("name", TYPE_SETS)
def test_formula_equals_exact_fractions(name):
    check_formula(random.Random(1), TYPE_SETS[name], fewer(12_000))


@pytest.mark.parametrize(("bias_bits", "ofm_bits", "dot_log2"), [(3, 3, 4), (4, 3, 2)])
def test_formula_is_exact_for_every_value_of_small_types(bias_bits, ofm_bits, dot_log2):
    bits = RoundingBits(
        bias=bias_bits,
        ofm=ofm_bits,
        term=ofm_bits + 2,
        left=ofm_bits + 1,
        right=max(dot_log2, bias_bits) + 2,
    )
    shifts = [-40, *range(-13, 12), 40]
    sums = range(-(1 << dot_log2), (1 << dot_log2) + 1)
    for f, b, bias in itertools.product(
        shifts, shifts, range(-(1 << bias_bits - 1), 1 << bias_bits - 1)
    ):
        base, addend = bias_terms(bits, f, b, bias)
        for s in sums:
            assert rounded(bits, s + base, f, addend) == exact_bias(bits, s, f, b, bias), (
                s,
                f,
                b,
                bias,
            )
    for f, old, s in itertools.product(
        shifts, range(-(1 << ofm_bits - 1), 1 << ofm_bits - 1), sums
    ):
        assert rounded(bits, s + plain_base(bits, f), f, old) == exact_bias(bits, s, f, 0, old), (
            s,
            f,
            old,
        )


@pytest.mark.long
def test_formula_campaign():
    rng = random.Random(int(os.environ.get("QUINTET_SEED", "0")))
    end = time.monotonic() + 60 * float(os.environ.get("QUINTET_MINUTES", "1"))
    while time.monotonic() < end:
        check_formula(rng, rng.choice(list(TYPE_SETS.values())), 10_000)


@pytest.mark.parametrize("name", TYPE_SETS)
def test_rounder_follows_the_formula(name):
    types, rng = type_set(name), random.Random(2)
    bits = RoundingBits.of(name)
    dut = Rounder(bits=bits)
    cases = []
    for _ in range(fewer(1500, 600)):
        s, f, b, bias = case(rng, types)
        base, addend = bias_terms(bits, f, b, bias)
        cases.append((s + base, max(-bits.right, min(bits.left, f)), addend))
        cases.append(
            (
                extreme(rng, bits.accumulator),
                rng.randint(-bits.right, bits.left),
                extreme(rng, bits.ofm),
            )
        )

    async def drive(ctx):
        results = []
        for k in range(len(cases) + Rounder.LATENCY):

            def at(stage, k=k):
                return cases[max(0, min(k - stage, len(cases) - 1))]

            ctx.set(dut.total, at(0)[0])
            places = bits.left - at(0)[1]
            ctx.set(dut.coarse, places >> 4)
            ctx.set(
                dut.excess,
                sum(1 << i for i in range(bits.accumulator) if i + at(0)[1] >= bits.term - 1),
            )
            ctx.set(dut.middle, (bits.left - at(1)[1]) >> 2 & 3)
            ctx.set(dut.fine, (bits.left - at(2)[1]) & 3)
            ctx.set(dut.addend, at(Rounder.ADDEND)[2])
            if k >= Rounder.LATENCY:
                results.append(ctx.get(dut.result))
            await ctx.tick()
        for (total, f, addend), result in zip(cases, results, strict=True):
            assert result == rounded(bits, total, f, addend), (total, f, addend)

    simulate(dut, drive)


@pytest.mark.parametrize(
    ("name", "po", "swap_stage"),
    [("8-8-16-16", 8, 10), ("8-8-16-16", 1, 6), ("8-8-32-32", 4, 8), ("16-16-32-32", 16, 12)],
)
def test_terms_follow_the_formula(name, po, swap_stage):
    types, rng = type_set(name), random.Random(3)
    params = SPACE.resolve("sim", {"types": name, "po": po, "ofm_lines": 512})
    dut = BiasTerms(params=params, swap_stage=swap_stage)
    bits = RoundingBits.of(name)
    biases = [[extreme(rng, types.bias) for _ in range(64)] for _ in range(2)]
    # Every choice of the plan: both shifts at, next to and far from every limit.
    edges = sorted(
        {
            sign * (limit + d)
            for limit in (0, types.bias, bits.right, bits.left, 126)
            for d in (-1, 0, 1, 2)
            for sign in (1, -1)
            if limit + d >= 0
        }
        - {128}
    )
    pairs = [(f, b) for f in edges for b in edges]
    number = 8 if po == 1 else 30
    commands = rng.sample(pairs, number) + [case(rng, types)[1:3] for _ in range(number)]
    groups = [rng.randrange(4) if po > 1 else 5 for _ in commands]
    groups = [min(g, 6 - (po.bit_length() - 1)) for g in groups]

    async def memory(ctx):
        addresses = [0, 0]
        while True:
            *_, address = await ctx.tick().sample(dut.address)
            addresses = [*addresses[1:], address]
            ctx.set(dut.data, biases[addresses[0] >> 6][addresses[0] & 63])

    async def ask(ctx):
        for (f, b), g in zip(commands, groups, strict=True):
            ctx.set(
                dut.command.payload, {"ifm_shift": f, "bias_shift": b, "copy": f & 1, "groups": g}
            )
            ctx.set(dut.command.valid, 1)
            await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)

    async def take(ctx):
        for (f, b), g in zip(commands, groups, strict=True):
            for group in range(1 << g):
                waited = 0
                while not ctx.get(dut.ready):
                    await ctx.tick()
                    waited += 1
                    assert waited < 60
                ctx.set(dut.take, 1)
                await ctx.tick()
                ctx.set(dut.take, 0)
                for _ in range(swap_stage - 1):
                    await ctx.tick()
                got = [(ctx.get(dut.base[k]), ctx.get(dut.addend[k])) for k in range(po)]
                assert got == [
                    bias_terms(bits, f, b, biases[f & 1][group * po + k]) for k in range(po)
                ], (f, b, group)
                ctx.set(dut.swapped, 1)
                await ctx.tick()
                ctx.set(dut.swapped, 0)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(memory, background=True)
    sim.add_testbench(ask)
    sim.add_testbench(take)
    sim.run()
