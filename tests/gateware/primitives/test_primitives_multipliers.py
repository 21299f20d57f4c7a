# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers with three registers: products and latency of twin and logic, cells of the
families."""

import random

import pytest
from amaranth.back import rtlil

from quintet.gateware.primitives.multipliers import PipelinedMultipliers
from tests.support.simulating import simulate


@pytest.mark.parametrize(
    ("a_width", "b_width", "kind", "family"),
    [
        (18, 18, "dsp", None),
        (16, 8, "dsp", None),
        (8, 8, "lut", "ice40"),
        (16, 8, "lut", "ice40"),
        (12, 12, "lut", "ecp5"),
    ],
)
def test_products(a_width, b_width, kind, family):
    dut = PipelinedMultipliers(lanes=2, a_width=a_width, b_width=b_width, kind=kind, family=family)
    rng = random.Random(a_width)

    async def drive(ctx):
        expected = []
        for cycle in range(120):
            if cycle >= dut.LATENCY:
                assert [ctx.get(dut.p[lane]) for lane in range(2)] == expected[cycle - dut.LATENCY]
            pairs = []
            for lane in range(2):
                a = rng.choice(
                    (
                        -(1 << a_width - 1),
                        (1 << a_width - 1) - 1,
                        rng.randrange(-(1 << a_width - 1), 1 << a_width - 1),
                    )
                )
                b = rng.choice(
                    (
                        -(1 << b_width - 1),
                        (1 << b_width - 1) - 1,
                        rng.randrange(-(1 << b_width - 1), 1 << b_width - 1),
                    )
                )
                ctx.set(dut.a[lane], a)
                ctx.set(dut.b[lane], b)
                pairs.append(a * b)
            expected.append(pairs)
            await ctx.tick()

    simulate(dut, drive)


def test_cells():
    text = rtlil.convert(PipelinedMultipliers(lanes=3, a_width=18, b_width=8, family="ecp5"))
    assert text.count("cell \\MULT18X18D ") == 3
    for register in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT"):
        assert text.count(f'parameter \\REG_{register}_CLK "CLK0"') == 3
    assert (
        rtlil.convert(PipelinedMultipliers(lanes=3, a_width=16, b_width=8, family="ice40")).count(
            "cell \\SB_MAC16 "
        )
        == 3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lanes": 1, "a_width": 19, "b_width": 8},
            "Width of operand a must be an integer from 2 to 18, not 19",
        ),
        (
            {"lanes": 1, "a_width": 8, "b_width": 17, "family": "ice40"},
            "Width of operand b must be an integer from 2 to 16, not 17",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PipelinedMultipliers(**arguments)
