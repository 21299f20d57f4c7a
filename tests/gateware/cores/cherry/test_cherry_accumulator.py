# SPDX-License-Identifier: BSD-2-Clause
"""Accumulator conversion against the golden model's numbers."""

import random

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from quintet.gateware.cores.cherry.engine.units.accumulator import from_accumulator, to_accumulator
from quintet.gateware.cores.cherry.model import arithmetic


def evaluate(function, frac, values, width):
    m = Module()
    given, result = Signal(width), Signal(26)
    m.d.comb += result.eq(function(given, frac))
    got = []

    async def bench(ctx):
        for value in values:
            ctx.set(given, int(value))
            await ctx.delay(1e-9)
            got.append(ctx.get(result))

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
    return np.array(got)


def wide_values(count):
    rnd = random.Random(7)
    for _ in range(count):
        exponent = rnd.choice((0, 1, 127, 253, 254, 255, rnd.randrange(256)))
        upper, lower = (
            rnd.choice((0, 1, 2, 510, 511, rnd.randrange(512))),
            rnd.choice((0, 1, 127, 128, 129, 255, rnd.randrange(256))),
        )
        yield rnd.randrange(2) << 25 | exponent << 17 | upper << 8 | lower


def test_from_accumulator_rounds_as_the_model():
    values = np.array(list(wide_values(4000)))
    assert (evaluate(from_accumulator, 17, values, 26) == arithmetic.narrow(values, 17)).all()


@pytest.mark.parametrize("frac", [9, 17])
def test_to_accumulator_and_back(frac):
    values = np.array(random.Random(frac).sample(range(1 << 18), 500))
    wide = evaluate(to_accumulator, frac, values, 18)
    assert (wide == arithmetic.widen(values, frac)).all()
    assert (evaluate(from_accumulator, frac, wide, frac + 9) == values).all()


def test_arguments():
    with pytest.raises(ValueError, match="Fraction bits must be 9 or 17, not 8"):
        from_accumulator(Signal(17), 8)
    with pytest.raises(ValueError, match="An element of ACC must have 26 bits, not 18"):
        from_accumulator(Signal(18), 17)
    with pytest.raises(
        ValueError, match="An element of INPUT, WEIGHTS or OUTPUT must have 18 bits, not 26"
    ):
        to_accumulator(Signal(26), 17)
