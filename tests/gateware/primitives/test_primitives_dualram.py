# SPDX-License-Identifier: BSD-2-Clause
"""True dual-port block RAM, block RAM in halves, registers that are kept: twins, and what is
instantiated."""

import random
import re

import pytest
from amaranth import Cat, Signal
from amaranth.back import rtlil

from quintet.gateware.primitives.dualram import DualPortRAM, HalvesRAM
from quintet.gateware.primitives.kept import KeptRegister
from tests.support.cells import dp16kd, run_pair
from tests.support.simulating import simulate


@pytest.mark.parametrize("width", [4, 9, 16, 18])
def test_dual_port_twin(width):
    dut = DualPortRAM(depth=16, width=width)
    ones = (1 << width) - 1
    rng = random.Random(1)

    async def drive(ctx):
        contents, expected = [0] * 16, []
        for cycle in range(600):
            if cycle >= 2:
                assert (ctx.get(dut.a_data), ctx.get(dut.b_data)) == expected[cycle - 2]
            a, b = rng.randrange(16), rng.randrange(16)
            write_a, write_b = rng.random() < 0.4, rng.random() < 0.4 and a != b
            values = rng.getrandbits(width), rng.getrandbits(width)
            for port, addr, write, value in (
                ("a", a, write_a, values[0]),
                ("b", b, write_b, values[1]),
            ):
                ctx.set(getattr(dut, f"{port}_addr"), addr)
                ctx.set(getattr(dut, f"{port}_write"), write)
                ctx.set(getattr(dut, f"{port}_write_data"), value)
            # What is undefined is the complement: of a port that writes, and of one that reads
            # where the other writes.
            expected.append(
                (
                    contents[a] ^ (ones if write_a or write_b and a == b else 0),
                    contents[b] ^ (ones if write_b or write_a and a == b else 0),
                )
            )
            if write_a:
                contents[a] = values[0]
            if write_b:
                contents[b] = values[1]
            await ctx.tick()

    simulate(dut, drive)


def test_halves_are_written_apart():
    dut = HalvesRAM(depth=8)
    rng = random.Random(2)

    async def drive(ctx):
        contents, expected = [[0, 0] for _ in range(8)], []
        for cycle in range(400):
            if cycle >= 2:
                assert ctx.get(dut.read_data) == expected[cycle - 2]
            at, read, enable, value = (
                rng.randrange(8),
                rng.randrange(8),
                rng.randrange(4),
                rng.getrandbits(32),
            )
            for name, given in (
                ("write_addr", at),
                ("read_addr", read),
                ("write_en", enable),
                ("write_data", value),
            ):
                ctx.set(getattr(dut, name), given)
            expected.append(
                sum(
                    (contents[read][h] ^ (0xFFFF if at == read and enable >> h & 1 else 0))
                    << 16 * h
                    for h in range(2)
                )
            )
            for h in range(2):
                if enable >> h & 1:
                    contents[at][h] = value >> 16 * h & 0xFFFF
            await ctx.tick()

    simulate(dut, drive)


MAIN = r"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {
    cxxrtl_design::p_top top;
    std::mt19937 random(1);
    for (int cycle = 0; cycle < 200000; cycle++) {
        // Few addresses, so that ports meet; no two writes to one.
        unsigned a = random() & 15, b = random() & 15, r = random();
        bool wa = r & 1, wb = (r >> 1 & 1) && a != b;
        top.p_a.set<unsigned>(a << 6);
        top.p_b.set<unsigned>(b << 6);
        top.p_wa.set<bool>(wa);
        top.p_wb.set<bool>(wb);
        top.p_write.set<unsigned>(r >> 2 & 3);
        top.p_at.set<unsigned>(a << 5);
        top.p_from.set<unsigned>(b << 5);
        top.p_data.set<unsigned>(random());
        top.p_clk.set<bool>(false);
        top.step();
        if (top.p_cell__o != top.p_twin__o) {
            std::printf("cycle %d\\n", cycle);
            return 1;
        }
        top.p_clk.set<bool>(true);
        top.step();
    }
    return 0;
}
"""


def test_cells_equal_twins(tmp_path):
    def add(m, family, name, inputs):
        dual = m.submodules[f"{name}_dual"] = DualPortRAM(depth=1024, family=family)
        halves = m.submodules[f"{name}_halves"] = HalvesRAM(depth=512, family=family)
        o = Signal(64, name=f"{name}_o")
        m.d.comb += [
            dual.a_addr.eq(inputs["a"]),
            dual.b_addr.eq(inputs["b"]),
            dual.a_write.eq(inputs["wa"]),
            dual.b_write.eq(inputs["wb"]),
            dual.a_write_data.eq(inputs["data"][:16]),
            dual.b_write_data.eq(inputs["data"][16:]),
            halves.write_addr.eq(inputs["at"]),
            halves.read_addr.eq(inputs["from"]),
            halves.write_en.eq(inputs["write"]),
            halves.write_data.eq(inputs["data"]),
            o.eq(Cat(dual.a_data, dual.b_data, halves.read_data)),
        ]
        return o

    run_pair(
        tmp_path,
        cell=dp16kd(),
        inputs={"a": 10, "b": 10, "wa": 1, "wb": 1, "at": 9, "from": 9, "write": 2, "data": 32},
        add=add,
        main=MAIN,
        family="ecp5",
    )


def test_cells():
    text = rtlil.convert(DualPortRAM(depth=1024, family="ecp5"))
    assert len(re.findall(r"cell \\DP16KD ", text)) == 1
    assert "parameter signed \\DATA_WIDTH_A 18" in text or "parameter \\DATA_WIDTH_A 18" in text
    # The word is where the width has it: address from bit 3 or 4 on, and all data bits.
    for width, depth, bits, low in ((9, 2048, 9, 3), (18, 1024, 18, 4)):
        text = rtlil.convert(DualPortRAM(depth=depth, width=width, family="ecp5"))
        assert (
            re.search(rf"\\DATA_WIDTH_B {bits}\b", text)
            and f"connect \\DOB{width - 1} " in text
            and f"connect \\DOB{width} " not in text
        )
        assert re.search(rf"connect \\ADA{low} \\a_addr \[0\]", text) and re.search(
            r"connect \\ADB13 \\b_addr \[\d+\]", text
        )
        assert re.search(rf"connect \\DIA{width - 1} \\a_write_data \[{width - 1}\]", text)
    text = rtlil.convert(HalvesRAM(depth=512, family="ecp5"))
    assert (
        len(re.findall(r"cell \\DP16KD ", text)) == 1 and 'parameter \\REGMODE_B "OUTREG"' in text
    )
    assert (
        len(re.findall(r"cell \\SB_RAM40_4K ", rtlil.convert(HalvesRAM(depth=256, family="ice40"))))
        == 2
    )
    assert (
        len(re.findall(r"cell \\TRELLIS_FF ", rtlil.convert(KeptRegister(width=5, family="ecp5"))))
        == 5
    )
    assert (
        len(re.findall(r"cell \\SB_DFF ", rtlil.convert(KeptRegister(width=5, family="ice40"))))
        == 5
    )


def test_kept_register_is_one_cycle():
    dut = KeptRegister(width=4)

    async def drive(ctx):
        for value in (3, 9, 0, 15):
            ctx.set(dut.d, value)
            await ctx.tick()
            assert ctx.get(dut.q) == value

    simulate(dut, drive)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (
            DualPortRAM,
            {"depth": 4096, "width": 9},
            "Depth must be a power of two from 2 to 2048, not 4096",
        ),
        (
            DualPortRAM,
            {"depth": 64, "family": "ice40"},
            "Family must be 'ecp5' or None for a true dual-port block RAM, not 'ice40'",
        ),
    ],
)
def test_refused(make, arguments, message):
    with pytest.raises(ValueError) as error:
        make(**arguments)
    assert str(error.value) == message
