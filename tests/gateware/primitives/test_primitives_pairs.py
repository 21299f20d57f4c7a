# SPDX-License-Identifier: BSD-2-Clause
"""Sums of pairs of products: against Python, and the cell against its twin by CXXRTL."""

import json
import random

import pytest
from amaranth import Signal

from quintet.gateware.primitives.pairs import PairSums
from quintet.tools.build.bitstream import synthesise
from tests.support.cells import ice40_cell, run_pair
from tests.support.simulating import simulate

MAIN = r"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {
    cxxrtl_design::p_top top;
    std::mt19937 random(1);
    int since = -1;
    for (int cycle = 0; cycle < 100000; cycle++) {
        unsigned r = random();
        bool load = r % 4 == 0;
        unsigned corner = r >> 8 & 15;
        top.p_load.set<bool>(load);
        top.p_a.set<unsigned>(corner < 4 ? 0x8080 : corner == 4 ? 0x7f80 : random() & 0xffff);
        top.p_b.set<unsigned>((r >> 16 & 3) == 0   ? 0x8080
                              : (r >> 16 & 3) == 1 ? 0x7f7f
                                                   : random() & 0xffff);
        top.p_clk.set<bool>(false);
        top.step();
        if (since > 3 && top.p_cell__s.get<unsigned>() != top.p_twin__s.get<unsigned>()) {
            std::printf("cycle %d: %x, twin %x\n", cycle, top.p_cell__s.get<unsigned>(),
                        top.p_twin__s.get<unsigned>());
            return 1;
        }
        top.p_clk.set<bool>(true);
        top.step();
        since += since >= 0 || load;
    }
    return since > 3 ? 0 : 2;
}
"""


@pytest.mark.parametrize(
    ("kind", "cells"), [("dsp", ("SB_MAC16",)), ("lut", ("SB_LUT4", "SB_CARRY"))]
)
def test_cells_equal_the_twin(tmp_path, kind, cells):
    def add(m, family, name, inputs):
        part = m.submodules[name] = PairSums(pairs=1, kind=kind, family=family)
        s = Signal(17, name=f"{name}_s")
        m.d.comb += [part.load.eq(inputs["load"]), s.eq(part.s[0])]
        m.d.comb += [part.a[k].eq(inputs["a"].word_select(k, 8)) for k in range(2)]
        m.d.comb += [part.b[k].eq(inputs["b"].word_select(k, 8)) for k in range(2)]
        return s

    run_pair(
        tmp_path,
        cell="\n".join(map(ice40_cell, cells)),
        inputs={"load": 1, "a": 16, "b": 16},
        add=add,
        main=MAIN,
    )


def test_sums():
    part = PairSums(pairs=2)
    rng = random.Random(1)

    def some():
        return [rng.choice((-128, 127, rng.randrange(-128, 128))) for _ in range(4)]

    async def bench(ctx):
        for _ in range(60):
            a, expected = some(), []
            ctx.set(part.load, 1)
            for k in range(4):
                ctx.set(part.a[k], a[k])
            await ctx.tick()
            ctx.set(part.load, 0)
            for k, value in enumerate(some()):
                ctx.set(part.a[k], value)
            for number in range(5):
                b = some()
                expected.append(
                    [a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1] for i in range(2)]
                )
                for k in range(4):
                    ctx.set(part.b[k], b[k])
                if number >= 2:
                    assert [ctx.get(part.s[i]) for i in range(2)] == expected[number - 2]
                await ctx.tick()

    simulate(part, bench)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"family": "ecp5"},
            r"Pairs of products in one DSP need family 'ice40' \(or None\), not 'ecp5'",
        ),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PairSums(**{"pairs": 1} | changes)


def test_synthesis_leaves_the_cell_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    synthesise(PairSums(pairs=1, family="ice40"), "ice40", "area")
    modules = json.loads((tmp_path / "area" / "top.json").read_text())["modules"].values()
    cells = [
        cell
        for module in modules
        for cell in module["cells"].values()
        if cell["type"] == "SB_MAC16"
    ]
    assert len(cells) == 1
    values, pins = cells[0]["parameters"], cells[0]["connections"]
    names = (
        "A_REG",
        "B_REG",
        "C_REG",
        "TOP_8x8_MULT_REG",
        "BOT_8x8_MULT_REG",
        "TOPADDSUB_UPPERINPUT",
    )
    assert "".join(values[name][-1] for name in names) == "100111"
    assert (
        values["TOPOUTPUT_SELECT"][-2:] == "01"
        and pins["C"] == pins["O"][:16]
        and pins["CE"] == ["1"]
    )


def test_products_in_logic_take_a_cell_a_bit(tmp_path, monkeypatch):
    """Beside 71 of each product stand the kept operands and the sum: 8 and 17 cells a pair, and
    some of a bit alone."""
    monkeypatch.chdir(tmp_path)
    cells = synthesise(PairSums(pairs=2, kind="lut", family="ice40"), "ice40", "area")
    assert cells["ICESTORM_LC"] <= 360 and "SB_MAC16" not in cells
