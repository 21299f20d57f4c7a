# SPDX-License-Identifier: BSD-2-Clause
"""Multipliers that keep a weight: against Python, and the cell against its twin by CXXRTL."""

import json
import random

import pytest
from amaranth import Signal

from quintet.gateware.primitives.dsp import MultiplierArray
from quintet.gateware.primitives.held import HeldMultipliers
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
    bool loaded = false;
    for (int cycle = 0; cycle < 100000; cycle++) {
        unsigned r = random();
        bool load = r % 4 == 0;
        unsigned corner = r >> 8 & 15;
        top.p_load.set<bool>(load);
        top.p_weight.set<unsigned>(corner == 0 ? 0x8080 : corner == 1 ? 0x7f80 : random() & 0xffff);
        top.p_a.set<unsigned>(corner == 2 ? 0x80 : random() & 0xff);
        top.p_clk.set<bool>(false);
        top.step();
        if (loaded && top.p_cell__p.get<unsigned>() != top.p_twin__p.get<unsigned>()) {
            std::printf("cycle %d: %x, twin %x\n", cycle, top.p_cell__p.get<unsigned>(),
                        top.p_twin__p.get<unsigned>());
            return 1;
        }
        top.p_clk.set<bool>(true);
        top.step();
        if (cycle > 20 && load) loaded = true;
    }
    return loaded ? 0 : 2;
}
"""


@pytest.mark.parametrize(
    "registered, kind, cells",
    [
        (False, "dsp", ("SB_MAC16",)),
        (True, "dsp", ("SB_MAC16",)),
        (False, "rows", ("SB_LUT4", "SB_CARRY")),
    ],
)
def test_cells_equal_the_twin(tmp_path, registered, kind, cells):
    def add(m, family, name, inputs):
        part = m.submodules[name] = HeldMultipliers(
            lanes=2, registered=registered, kind=kind, family=family
        )
        p = Signal(32, name=f"{name}_p")
        m.d.comb += [
            part.load.eq(inputs["load"]),
            part.a.eq(inputs["a"]),
            p[:16].eq(part.p[0]),
            p[16:].eq(part.p[1]),
        ]
        m.d.comb += [
            part.weight[lane].eq(inputs["weight"].word_select(lane, 8)) for lane in range(2)
        ]
        return p

    run_pair(
        tmp_path,
        cell="\n".join(map(ice40_cell, cells)),
        inputs={"load": 1, "weight": 16, "a": 8},
        add=add,
        main=MAIN,
    )


@pytest.mark.parametrize(
    ("kind", "family"), [("dsp", None), ("lut", None), ("lut", "ice40"), ("rows", None)]
)
@pytest.mark.parametrize("registered", [False, True])
def test_products(kind, family, registered):
    part = HeldMultipliers(lanes=4, registered=registered, kind=kind, family=family)
    rng = random.Random(kind)

    async def bench(ctx):
        for _ in range(60):
            weights = [rng.choice((-128, 127, rng.randrange(-128, 128))) for _ in range(4)]
            ctx.set(part.load, 1)
            for lane, weight in enumerate(weights):
                ctx.set(part.weight[lane], weight)
            await ctx.tick()
            ctx.set(part.load, 0)
            for lane in range(4):
                ctx.set(part.weight[lane], 1)
            for _ in range(4):
                a = rng.choice((-128, 127, rng.randrange(-128, 128)))
                ctx.set(part.a, a)
                if registered:
                    await ctx.tick()
                assert [ctx.get(part.p[lane]) for lane in range(4)] == [
                    a * weight for weight in weights
                ]
                await ctx.tick()

    simulate(part, bench)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": 3}, "Number of lanes must be a positive even number, not 3"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        HeldMultipliers(**{"lanes": 2, "registered": True} | changes)


@pytest.mark.parametrize(
    ("part", "registers"),
    [
        (HeldMultipliers(lanes=2, registered=True, family="ice40"), "101"),
        (HeldMultipliers(lanes=2, registered=False, family="ice40"), "100"),
        (MultiplierArray(lanes=2, family="ice40"), "111"),
    ],
)
def test_synthesis_leaves_the_cell_as_it_is(tmp_path, monkeypatch, part, registers):
    """`synth_ice40 -dsp` would take its clock and registers."""
    monkeypatch.chdir(tmp_path)
    synthesise(part, "ice40", "area")
    modules = json.loads((tmp_path / "area" / "top.json").read_text())["modules"].values()
    cells = [
        cell
        for module in modules
        for cell in module["cells"].values()
        if cell["type"] == "SB_MAC16"
    ]
    assert len(cells) == 1
    values, pins = cells[0]["parameters"], cells[0]["connections"]
    assert "".join(values[name][-1] for name in ("A_REG", "B_REG", "TOP_8x8_MULT_REG")) == registers
    assert values["MODE_8x8"][-1] == "1" and pins["CLK"] != ["0"] and pins["CE"] == ["1"]
