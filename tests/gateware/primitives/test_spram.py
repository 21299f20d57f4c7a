# SPDX-License-Identifier: BSD-2-Clause
"""The SPRAM's twin against yosys' simulation model of the cell, both compiled by CXXRTL."""

import re

import pytest
from amaranth import Signal

from quintet.gateware.primitives.spram import SPRAM
from tests.support.cells import ice40_cell, run_pair

MAIN = r"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {
    cxxrtl_design::p_top top;
    std::mt19937 random(1);
    bool comparable = false;
    unsigned compared = 0;
    for (int cycle = 0; cycle < 200000; cycle++) {
        unsigned r = random();
        bool enable = r % 4, write = r / 4 % 2;
        top.p_address.set<unsigned>((random() & 0x3f) | ((r >> 20 & 1) ? 0x3fc0 : 0));
        top.p_enable.set<bool>(enable);
        top.p_write.set<bool>(write);
        top.p_mask.set<unsigned>(r >> 8 & 15);
        top.p_data.set<unsigned>(random() & 0xffff);
        top.p_clk.set<bool>(false);
        top.step();
        if (comparable) {
            compared++;
            if (top.p_cell__read.get<unsigned>() != top.p_twin__read.get<unsigned>()) {
                std::printf("cycle %d: %x, twin %x\n", cycle, top.p_cell__read.get<unsigned>(),
                            top.p_twin__read.get<unsigned>());
                return 1;
            }
        }
        if (enable) comparable = !write;  // the cell's output is undefined after a write
        top.p_clk.set<bool>(true);
        top.step();
    }
    return compared > 50000 ? 0 : 2;
}
"""


def test_twin(tmp_path):
    # Power-off is never used. Its loop would be unrolled, and as an asynchronous reset it makes
    # registers of the memory.
    cell = re.sub(
        r"always @\(negedge POWEROFF\) begin.*?\n\tend\n",
        "",
        ice40_cell("SB_SPRAM256KA"),
        count=1,
        flags=re.S,
    )
    cell = cell.replace(", posedge off", "")

    def add(m, family, name, inputs):
        ram = m.submodules[name] = SPRAM(family=family)
        read = Signal(16, name=f"{name}_read")
        m.d.comb += [
            ram.address.eq(inputs["address"]),
            ram.enable.eq(inputs["enable"]),
            ram.write.eq(inputs["write"]),
            ram.mask.eq(inputs["mask"]),
            ram.write_data.eq(inputs["data"]),
            read.eq(ram.read_data),
        ]
        return read

    run_pair(
        tmp_path,
        cell=cell,
        inputs={"address": 14, "enable": 1, "write": 1, "mask": 4, "data": 16},
        add=add,
        main=MAIN,
        passes="",
    )


def test_family():
    with pytest.raises(ValueError, match="Family must be 'ice40' or None for an SPRAM, not 'ecp5'"):
        SPRAM(family="ecp5")
