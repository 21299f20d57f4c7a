# SPDX-License-Identifier: BSD-2-Clause
"""Adders with a function in front: their carry cells beside the behavioural model, and how many
they are."""

import random

import pytest
from amaranth import Signal
from amaranth.back import rtlil
from amaranth.sim import Simulator

from quintet.gateware.primitives.adders import FunctionAdder
from tests.support.cells import random_inputs, run_pair

#: A carry cell by Lattice's ECP5 library guide, of two halves with a LUT each.
CCU2C = """
module CCU2C(input CIN, A0, B0, C0, D0, A1, B1, C1, D1, output S0, S1, COUT);
parameter [15:0] INIT0 = 0, INIT1 = 0;
parameter INJECT1_0 = "YES", INJECT1_1 = "YES";
wire propagate0 = INIT0[{D0, C0, B0, A0}], propagate1 = INIT1[{D1, C1, B1, A1}];
wire generate0 = INIT0[{2'b00, B0, A0}], generate1 = INIT1[{2'b00, B1, A1}];
wire middle = propagate0 ? CIN : generate0;
assign S0 = propagate0 ^ CIN, S1 = propagate1 ^ middle;
assign COUT = propagate1 ? middle : generate1;
endmodule
"""
FUNCTIONS = {
    "and": lambda b, c, d: b & c,
    "or": lambda b, c, d: b | c,
    "xor": lambda b, c, d: b ^ c,
    "mux": lambda b, c, d: b & c | ~b & d,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sum_with_the_function_of_the_second_operand(function):
    dut, rng = FunctionAdder(width=9, function=function), random.Random(1)

    async def testbench(ctx):
        for _ in range(200):
            a, b, c, d = (rng.getrandbits(9) for _ in range(4))
            carry = rng.getrandbits(1)
            for name, value in zip("abcd", (a, b, c, d), strict=True):
                if hasattr(dut, name):
                    ctx.set(getattr(dut, name), value)
            ctx.set(dut.carry, carry)
            assert ctx.get(dut.total) == (a + FUNCTIONS[function](b, c, d) + carry) % 512

    sim = Simulator(dut)
    sim.add_testbench(testbench)
    sim.run()


@pytest.mark.parametrize("width", [10, 11])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_cells_equal_the_behavioural_model(tmp_path, function, width):
    def add(m, family, name, given):
        adder = m.submodules[name] = FunctionAdder(width=width, function=function, family=family)
        o = Signal(width, name=f"{name}_o")
        bits = given["i"]
        for number, operand in enumerate("abcd"):
            if hasattr(adder, operand):
                m.d.comb += getattr(adder, operand).eq(bits[number * width :][:width])
        m.d.comb += [adder.carry.eq(bits[-1]), o.eq(adder.total)]
        return o

    inputs = {"i": 4 * width + 1}
    run_pair(
        tmp_path,
        cell=CCU2C,
        inputs=inputs,
        family="ecp5",
        level="-O0",
        main=random_inputs(inputs),
        add=add,
    )


@pytest.mark.parametrize(("width", "cells"), [(4, 3), (5, 3), (16, 9), (36, 19)])
def test_cells_of_an_adder(width, cells):
    text = rtlil.convert(FunctionAdder(width=width, function="mux", family="ecp5"), name="top")
    assert text.count("cell \\CCU2C") == cells
    assert text.count("attribute \\quintet_first") == text.count("attribute \\quintet_last") == 1


def test_bad_adder():
    with pytest.raises(ValueError, match="one of and, or, xor, mux, not 'nand'"):
        FunctionAdder(width=4, function="nand")
