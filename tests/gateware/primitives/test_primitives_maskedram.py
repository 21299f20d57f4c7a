# SPDX-License-Identifier: BSD-2-Clause
"""Masked RAM: latency of the behavioural model, which an ECP5's blocks equal."""

import random
import re

import pytest
from amaranth import Signal
from amaranth.back import rtlil

from quintet.gateware.primitives.maskedram import MaskedRAM, banks_of
from tests.support.cells import dp16kd, run_pair
from tests.support.simulating import simulate


@pytest.mark.parametrize(
    ("width", "depth", "banks"),
    [
        (2, 16384, [16384]),
        (2, 12288, [8192, 4096]),
        (2, 20480, [16384, 4096]),
        (2, 14336, [8192, 4096, 2048]),
        (2, 4097, [4096, 1024]),
        (2, 40000, [16384, 16384, 4096, 2048, 1024, 1024]),
        (2, 12, [1024]),
        (3, 4097, [4096, 2048]),  # three bytes are no pairs
    ],
)
def test_banks(width, depth, banks):
    assert banks_of(depth, width) == banks
    text = rtlil.convert(MaskedRAM(width=width, depth=depth, family="ecp5"))
    assert len(re.findall(r"cell \\DP16KD ", text)) == width * sum(banks) // 2048
    # One copy of the address for every eight blocks or fewer, by instance.
    bits = {16384: 14, 8192: 13, 4096: 12, 2048: 11, 1024: 10}
    copies = sum(-(-width * words // 2048 // 8) * bits[words] for words in banks)
    assert len(re.findall(r"cell \\TRELLIS_FF ", text)) == copies


@pytest.mark.parametrize("depth, latency", [(2048, 3), (2050, 4)])
def test_model_reads_what_was_written(depth, latency):
    dut = MaskedRAM(width=3, depth=depth)
    assert dut.latency == latency
    rng = random.Random(depth)

    async def drive(ctx):
        contents, expected = {}, []
        for cycle in range(600):
            if cycle >= latency:
                assert ctx.get(dut.read_data) == expected[cycle - latency], cycle
            at = rng.choice((0, depth - 5)) + rng.randrange(5)
            value, mask = rng.getrandbits(24), rng.choice((0, rng.randrange(8)))
            ctx.set(dut.address, at)
            ctx.set(dut.mask, mask)
            ctx.set(dut.write_data, value)
            before = contents.get(at, 0)
            # Bytes that the cycle writes are undefined: the complement.
            ones = sum(0xFF << 8 * k for k in range(3) if mask >> k & 1)
            expected.append(before ^ ones)
            contents[at] = before & ~ones | value & ones
            await ctx.tick()

    simulate(dut, drive)


MAIN = r"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {
    cxxrtl_design::p_top top;
    std::mt19937 random(1);
    for (int cycle = 0; cycle < 100000; cycle++) {
        // A few addresses on both sides of the banks' borders, and beyond the last one.
        unsigned r = random();
        unsigned base[7] = {0, 2047, 4094, 4096, 6142, 6143, 8190};
        unsigned at = (base[r % 7] * DEPTH / 6144 + (r >> 8 & 1)) & 0x3FFF;
        top.p_at.set<unsigned>(at);
        top.p_mask.set<unsigned>(r & 0x400 && at < DEPTH ? r >> 16 & MASK : 0);
        top.p_data.set<unsigned>(random() & DATA);
        top.p_clk.set<bool>(false);
        top.step();
        if (top.p_cell__o != top.p_twin__o) {
            std::printf("cycle %d\n", cycle);
            return 1;
        }
        top.p_clk.set<bool>(true);
        top.step();
    }
    return 0;
}
"""


@pytest.mark.parametrize("width, depth", [(2, 6144), (1, 16384), (2, 3072), (4, 5120)])
def test_blocks_equal_the_model(tmp_path, width, depth):
    def add(m, family, name, inputs):
        ram = m.submodules[f"{name}_ram"] = MaskedRAM(width=width, depth=depth, family=family)
        o = Signal(8 * width, name=f"{name}_o")
        m.d.comb += [
            ram.address.eq(inputs["at"]),
            ram.mask.eq(inputs["mask"]),
            ram.write_data.eq(inputs["data"]),
            o.eq(ram.read_data),
        ]
        return o

    flip_flop = """
module TRELLIS_FF(input CLK, CE, LSR, DI, output reg Q);
parameter GSR = "", CEMUX = "", CLKMUX = "", LSRMUX = "", REGSET = "";
initial Q = 0;
always @(posedge CLK) Q <= DI;
endmodule
"""
    run_pair(
        tmp_path,
        cell=dp16kd() + flip_flop,
        inputs={"at": 14, "mask": width, "data": 8 * width},
        add=add,
        main=MAIN.replace("DEPTH", str(depth))
        .replace("MASK", str((1 << width) - 1))
        .replace("DATA", str((1 << 8 * width) - 1)),
        family="ecp5",
    )
