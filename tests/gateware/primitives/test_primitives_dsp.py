# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers: products, the twins' latency, and the cells that the wrappers ask for."""

import itertools
import random
import re

import pytest
from amaranth.back import rtlil

from quintet.gateware.primitives.dsp import MultiplierArray
from tests.support.simulating import simulate


def products(dut, operands):
    """Outputs of ``dut`` for ``operands`` (rows of (a, b) a lane), one row a cycle."""
    results = []

    async def drive(ctx):
        for k in range(len(operands) + dut.latency):
            for lane, (a, b) in enumerate(operands[min(k, len(operands) - 1)]):
                ctx.set(dut.a[lane], a)
                ctx.set(dut.b[lane], b)
            if k >= dut.latency:
                results.append([ctx.get(p) for p in dut.p])
            await ctx.tick()

    simulate(dut, drive)
    return results


@pytest.mark.parametrize(
    ("kind", "limit", "fabric"), [("dsp", None, False), ("dsp", 1, True), ("lut", None, False)]
)
def test_twins_multiply_with_the_stated_latency(kind, limit, fabric):
    dut = MultiplierArray(lanes=4, kind=kind, dsp_limit=limit, fabric_register=fabric)
    assert dut.latency == 2 + fabric
    rng = random.Random(1)
    corners = list(itertools.product((-128, -1, 0, 1, 127), repeat=3))
    operands = []
    for a, b, c in corners + [[rng.randint(-128, 127) for _ in range(3)] for _ in range(200)]:
        d = rng.randint(-128, 127)
        operands.append([(a, b), (a, c), (d, b), (d, a)])
    assert products(dut, operands) == [[a * b for a, b in row] for row in operands]


@pytest.mark.parametrize(("kind", "family"), [("dsp", None), ("lut", None), ("lut", "ecp5")])
def test_operands_of_16_bits(kind, family):
    dut = MultiplierArray(lanes=2, kind=kind, width=16, family=family)
    rng = random.Random(2)
    values = [-32768, -32767, -1, 0, 1, 255, 256, 32767] + [
        rng.randint(-32768, 32767) for _ in range(8)
    ]
    operands = [[(a, b), (b, -1 - a)] for a in values for b in values]
    assert products(dut, operands) == [[a * b for a, b in row] for row in operands]


def test_multipliers_of_logic_are_exact():
    # The chips' multipliers of logic are sums of partial products: simulated here as such.
    dut = MultiplierArray(lanes=1, kind="lut", family="ecp5")
    values = (-128, -127, -65, -64, -2, -1, 0, 1, 2, 63, 64, 85, 126, 127)
    operands = [[(a, b)] for a in values for b in values]
    assert products(dut, operands) == [[row[0][0] * row[0][1]] for row in operands]


def cells(dut):
    return re.findall(r"cell \\(MULT18X18D|SB_MAC16) ", rtlil.convert(dut))


@pytest.mark.parametrize(
    ("family", "kind", "limit", "lanes", "cell", "number"),
    [
        ("ecp5", "dsp", None, 6, "MULT18X18D", 6),
        ("ecp5", "dsp", 4, 6, "MULT18X18D", 4),
        ("ice40", "dsp", None, 6, "SB_MAC16", 3),
        ("ice40", "dsp", 1, 6, "SB_MAC16", 1),
        ("ecp5", "lut", None, 6, "", 0),
    ],
)
def test_cells_of_the_chips(family, kind, limit, lanes, cell, number):
    dut = MultiplierArray(lanes=lanes, kind=kind, dsp_limit=limit, family=family)
    assert cells(dut) == [cell] * number and dut.dsps == number


@pytest.mark.parametrize(("family", "cell"), [("ecp5", "MULT18X18D"), ("ice40", "SB_MAC16")])
def test_one_cell_for_a_product_of_16_bits(family, cell):
    dut = MultiplierArray(lanes=3, width=16, family=family)
    assert cells(dut) == [cell] * 3 and dut.dsps == 3
