# SPDX-License-Identifier: BSD-2-Clause
"""Multiplexer: its LUTs beside the behavioural model, and how many they are."""

import pytest
from amaranth import Signal
from amaranth.back import rtlil
from amaranth.sim import Simulator

from quintet.gateware.primitives.multiplexer import Multiplexer
from tests.support.cells import random_inputs, run_pair

#: A LUT by Lattice's ECP5 data sheet: input A is the lowest bit of an entry's number.
LUT4 = """
module LUT4(input A, B, C, D, output Z);
parameter [15:0] INIT = 0;
assign Z = INIT[{D, C, B, A}];
endmodule
"""


@pytest.mark.parametrize("inputs", [2, 4, 8, 16])
def test_selected_element_leaves(inputs):
    dut = Multiplexer(width=5, inputs=inputs)
    elements = [(7 * k + 3) % 32 for k in range(inputs)]

    async def testbench(ctx):
        for k, element in enumerate(elements):
            ctx.set(dut.i[k], element)
        for k, element in enumerate(elements):
            ctx.set(dut.select, k)
            assert ctx.get(dut.o) == element

    sim = Simulator(dut)
    sim.add_testbench(testbench)
    sim.run()


@pytest.mark.parametrize("inputs", [4, 8, 16])
def test_luts_equal_the_behavioural_model(tmp_path, inputs):
    def add(m, family, name, given):
        mux = m.submodules[name] = Multiplexer(width=3, inputs=inputs, family=family)
        o = Signal(3, name=f"{name}_o")
        m.d.comb += [
            mux.i.as_value().eq(given["i"]),
            mux.select.eq(given["select"]),
            o.eq(mux.o),
        ]
        return o

    widths = {"i": 48, "select": 4}
    run_pair(
        tmp_path,
        cell=LUT4,
        inputs=widths,
        family="ecp5",
        level="-O0",
        main=random_inputs(widths),
        add=add,
    )


@pytest.mark.parametrize(("inputs", "luts"), [(2, 0), (4, 2), (8, 4), (16, 10)])
def test_luts_of_a_bit(inputs, luts):
    text = rtlil.convert(Multiplexer(width=6, inputs=inputs, family="ecp5"), name="top")
    assert text.count("cell \\LUT4") == 6 * luts
    assert "LUT4" not in rtlil.convert(
        Multiplexer(width=6, inputs=inputs, family="ice40"), name="top"
    )
