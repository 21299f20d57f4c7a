# SPDX-License-Identifier: BSD-2-Clause
"""The table unit and the divider alone, over all their inputs of few bits and the corners of
many."""

import random

import pytest
from amaranth import Module

from quintet.gateware.cores.pim.engine.vector.activation import Activation
from quintet.gateware.cores.pim.engine.vector.divider import AverageDivider
from quintet.gateware.primitives.multipliers import PipelinedMultipliers
from tests.gateware.cores.pim.oracle.vector import average, sigm, tanh
from tests.support.shares import fewer
from tests.support.simulating import simulate


def outputs(values, fi, fo, sigmoid, bits):
    """Outputs of the activation unit for ``values``, not saturated."""
    dut = Module()
    dut.submodules.table = table = Activation(bits=bits)
    dut.submodules.multiplier = multiplier = PipelinedMultipliers(lanes=1, a_width=12, b_width=12)
    dut.d.comb += [
        multiplier.a[0].eq(table.slope),
        multiplier.b[0].eq(table.fraction),
        table.product.eq(multiplier.p[0]),
    ]
    got = []

    async def drive(ctx):
        ctx.set(table.fi, fi)
        ctx.set(table.fo, fo)
        ctx.set(table.sigmoid, sigmoid)
        await ctx.tick().repeat(3)
        for k in range(len(values) + Activation.LATENCY):
            if k >= Activation.LATENCY:
                got.append(ctx.get(table.y))
            ctx.set(table.x, values[min(k, len(values) - 1)])
            await ctx.tick()

    simulate(dut, drive)
    return got


@pytest.mark.parametrize("sigmoid", [0, 1], ids=["tanh", "sigm"])
@pytest.mark.parametrize(
    ("fi", "fo", "bits"),
    [(4, 7, 8), (0, 31, 32), (31, 0, 32), (16, 16, 32), (0, 0, 8), (31, 31, 32), (12, 15, 16)],
)
def test_table_unit(fi, fo, bits, sigmoid):
    rng = random.Random(f"{fi} {fo} {bits}")
    half = 1 << bits - 1
    values = (
        list(range(-half, half))
        if bits == 8
        else sorted(
            {
                -half,
                half - 1,
                -1,
                0,
                1,
                *(
                    sign * (1 << k) + d
                    for k in range(bits - 1)
                    for d in (-1, 0, 1)
                    for sign in (-1, 1)
                ),
                *(rng.randrange(-half, half) >> rng.randrange(bits) for _ in range(fewer(400))),
            }
        )
    )
    rule = sigm if sigmoid else tanh
    assert outputs(values, fi, fo, sigmoid, bits) == [rule(x, fi, fo, 64) for x in values]


@pytest.mark.long
@pytest.mark.parametrize("sigmoid", [0, 1], ids=["tanh", "sigm"])
def test_all_inputs_of_16_bits(sigmoid):
    values = list(range(-32768, 32768))
    assert outputs(values, 12, 15, sigmoid, 16) == [
        (sigm if sigmoid else tanh)(x, 12, 15, 64) for x in values
    ]


@pytest.mark.parametrize(("bits", "short"), [(8, 0), (16, 0), (32, 0), (32, 1)])
def test_divider(bits, short):
    rng = random.Random(bits)
    half = 1 << (16 if short else bits) - 1
    dut = AverageDivider(bits=bits)
    cases = [
        (1, -half),
        (1, half - 1),
        (2, 3),
        (2, -3),
        (2047, -half * 2047),
        (2047, (half - 1) * 2047),
        (3, 0),
        (4, -2),
        (4, 2),
        (4, -6),
    ]
    for _ in range(40):
        count = rng.choice((1, 2, 3, 7, 8, 1024, rng.randrange(1, 2048)))
        cases.append((count, rng.randrange(-half * count, (half - 1) * count + 1)))

    async def drive(ctx):
        for count, total in cases:
            ctx.set(dut.total, total)
            ctx.set(dut.count, count)
            ctx.set(dut.short, short)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles = 1
            while not ctx.get(dut.done):
                await ctx.tick()
                cycles += 1
            assert cycles == (16 if short else bits) + 2
            assert ctx.get(dut.quotient) == average([total] + [0] * (count - 1), 64), (count, total)

    simulate(dut, drive)
