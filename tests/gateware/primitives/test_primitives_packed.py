# SPDX-License-Identifier: BSD-2-Clause
"""Two products in one multiplier: the formula for all operands, sums of the parts, the twin, and
the cells asked for."""

import itertools
import random
import re

import numpy as np
import pytest
from amaranth import Module, Signal, signed
from amaranth.back import rtlil
from amaranth.lib import wiring

from quintet.gateware.primitives.packed import (
    UNPACK_LATENCY,
    PackedProducts,
    part_shapes,
    unpack,
    unpack_sums,
)
from tests.support.shares import fewer
from tests.support.simulating import simulate


def parts_of(a, b, c):
    """Both products from the multiplier and six bits of a*b, on numpy arrays."""
    product = a * ((b << 10) + c + 128)
    carry = ((((product >> 10) - ((a * b) & 63)) & 63) ^ 32) - 32
    return product >> 10, product & 1023, carry


def test_pairs_are_exact_for_all_operands():
    b, c = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128), indexing="ij")
    operand = (b << 10) + c + 128
    assert operand.min() >= -(1 << 17) and operand.max() < 1 << 17, "the operand has 18 bits"
    upper_shape, lower_shape, carry_shape, _ = part_shapes(1)
    for a in range(-128, 128):
        upper, lower, carry = parts_of(a, b, c)
        assert (
            upper.min() >= -(1 << upper_shape.width - 1)
            and upper.max() < 1 << upper_shape.width - 1
        )
        assert (
            lower.max() < 1 << lower_shape.width
            and abs(2 * carry + 1).max() < 1 << carry_shape.width
        )
        first, second = unpack(upper, lower, carry, a)
        assert (first == a * b).all() and (second == a * c).all()


class Sums(wiring.Component):
    """The first and second dot products of a vector of ``pairs`` elements, ``latency`` cycles
    later."""

    def __init__(self, pairs, **parameters):
        self.products = PackedProducts(pairs=pairs, **parameters)
        self.width = part_shapes(pairs)[0].width
        self.direct = self.products.direct
        self.latency = PackedProducts.LATENCY + 1 + UNPACK_LATENCY
        super().__init__(
            {name: wiring.In(signed(8)).array(pairs) for name in "abc"}
            | {name: wiring.Out(signed(self.width)) for name in ("first", "second")}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.products = products = self.products
        for name in "abc":
            for k, value in enumerate(getattr(self, name)):
                m.d.comb += getattr(products, name)[k].eq(value)
        shapes = part_shapes(products.pairs)
        totals = [
            Signal(shape, name=name)
            for shape, name in zip(shapes, ("upper", "lower", "carry", "plain"), strict=True)
        ]
        late = sum(self.a)
        for k in range(PackedProducts.LATENCY):
            held = Signal(shapes[-1], name=f"late_{k}")
            m.d.sync += held.eq(late)
            late = held
        m.d.sync += [
            total.eq(sum(values))
            for total, values in zip(
                totals, (products.upper, products.lower, products.carry, [late]), strict=True
            )
        ]
        if self.direct:
            # The sums of ``upper`` and ``lower`` wait for that of ``carry``.
            for k in range(2):
                held = Signal(shapes[k], name=f"held_{k}")
                m.d.sync += held.eq(totals[k])
                totals[k] = held
        first, second = unpack_sums(m, "pair", *totals, self.width)
        m.d.comb += [self.first.eq(first), self.second.eq(second)]
        return m


@pytest.mark.parametrize("direct", [False, True], ids=["registered", "direct"])
@pytest.mark.parametrize("limit", [None, 0, 2])
def test_sums_of_the_parts_are_the_dot_products(limit, direct):
    dut = Sums(4, dsp_limit=limit, direct=direct)
    rng = random.Random(1)
    corners = [[v] * 4 for v in itertools.product((-128, -1, 0, 127), repeat=3)]
    vectors = corners + [
        [[rng.randint(-128, 127) for _ in range(3)] for _ in range(4)] for _ in range(fewer(200))
    ]
    seen = []

    async def drive(ctx):
        for k in range(len(vectors) + dut.latency):
            for lane, values in enumerate(vectors[min(k, len(vectors) - 1)]):
                for name, value in zip("abc", values, strict=True):
                    ctx.set(getattr(dut, name)[lane], value)
            if k >= dut.latency:
                seen.append((ctx.get(dut.first), ctx.get(dut.second)))
            await ctx.tick()

    simulate(dut, drive)
    assert seen == [(sum(a * b for a, b, _ in v), sum(a * c for a, _, c in v)) for v in vectors]


@pytest.mark.parametrize(("limit", "number"), [(None, 6), (4, 4), (0, 0)])
def test_cells_of_the_ecp5(limit, number):
    dut = PackedProducts(pairs=6, dsp_limit=limit, family="ecp5")
    assert len(re.findall(r"cell \\MULT18X18D ", rtlil.convert(dut))) == number == dut.dsps


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"pairs": 2, "family": "ice40"},
            "Packed products need the 18-bit operands of family 'ecp5'; SB_MAC16 has 16",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PackedProducts(**arguments)
