# SPDX-License-Identifier: BSD-2-Clause
"""Block RAMs in all shapes and multipliers of all kinds beside their twins: the cells' models and
the twins, compiled by CXXRTL."""

import re

import pytest
from amaranth import Cat, Signal, Value

from quintet.gateware.primitives.bram import BlockRAM, best_shape
from quintet.gateware.primitives.dsp import MultiplierArray
from quintet.gateware.primitives.dualram import DualPortRAM
from quintet.gateware.primitives.multipliers import PipelinedMultipliers
from quintet.gateware.primitives.packed import PackedProducts
from tests.support.cells import dp16kd, ice40_cell, mult18x18d, run_pair

#: A register by instance, as of a read address.
TRELLIS_FF = """
module TRELLIS_FF(input CLK, LSR, DI, output reg Q);
parameter GSR = "", CEMUX = "", CLKMUX = "", LSRMUX = "", REGSET = "";
initial Q = 0;
always @(posedge CLK) Q <= DI;
endmodule
"""
# Addresses meet often, at both ends of the memories. `apart`: of a cell that gives what stood there
# before, no read may meet a write.
MAIN = r"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {
    cxxrtl_design::p_top top;
    std::mt19937_64 random(1);
    unsigned before = 0, seen = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        uint64_t r = random();
        auto address = [&] {
            uint64_t a = random(), end = a >> 8 & 3;
            return unsigned(a & 15 ? (a & 16 ? end : 0x3fff - end) : a >> 8 & 0x3fff);
        };
        unsigned at = address(), from = address();
        bool write = r & 1;
        if (APART && ((at & 0xff) == (from & 0xff) || (at & 0xff) == (before & 0xff)))
            write = false;
        before = from;
        top.p_write.set<bool>(write);
        top.p_at.set<unsigned>(at);
        top.p_from.set<unsigned>(from);
        // Extreme operands too.
        auto data = [&](unsigned k) {
            uint64_t extreme = r >> k & 8 ? 0x8080808080808080u : 0x8000800080008000u;
            return r >> k & 7 ? random() : extreme;
        };
        top.p_data.set<uint64_t>(data(1));
        top.p_other.set<uint64_t>(data(5));
        top.p_clk.set<bool>(false);
        top.step();
        if (cycle > 8) {
            if (top.p_cell__o != top.p_twin__o) { std::printf("cycle %d\n", cycle); return 1; }
            seen += !(top.p_twin__o == decltype(top.p_twin__o)());
        }
        top.p_clk.set<bool>(true);
        top.step();
    }
    return seen > CYCLES / 2 ? 0 : 2;
}
"""
INPUTS = {"write": 1, "at": 14, "from": 14, "data": 64, "other": 64}


def _taken(target, source):
    """Statements that give the members of ``target`` (an array of them) their bits of ``source``,
    from the lowest on."""
    low = 0
    for each in target:
        yield each.eq(source[low : low + len(Value.cast(each))])
        low += len(Value.cast(each))


def _adder(rams, others):
    """``add`` of :func:`run_pair` for block RAMs of (width, depth, latency) and other primitives
    (make, inputs, outputs)."""

    def add(m, family, name, inputs):
        seen = []
        for n, (width, depth, latency) in enumerate(rams):
            ram = m.submodules[f"{name}_ram_{n}"] = BlockRAM(
                width=width, depth=depth, latency=latency, family=family
            )
            m.d.comb += [
                ram.write_en.eq(inputs["write"]),
                ram.write_addr.eq(inputs["at"]),
                ram.read_addr.eq(inputs["from"]),
                ram.write_data.eq(inputs["data"]),
            ]
            seen.append(ram.read_data)
        for n, (make, given, outputs) in enumerate(others):
            made = m.submodules[f"{name}_other_{n}"] = make(family)
            for member, source in given.items():
                target = getattr(made, member)
                m.d.comb += (
                    target.eq(inputs[source])
                    if isinstance(target, Signal)
                    else list(_taken(target, inputs[source]))
                )
            for member in outputs:
                target = getattr(made, member)
                seen += (
                    [target]
                    if isinstance(target, Signal)
                    else [Value.cast(each) for each in target]
                )
        o = Signal(sum(map(len, seen)), name=f"{name}_o")
        m.d.comb += o.eq(Cat(seen))
        return o

    return add


def _multipliers(lanes, width):
    return [
        (
            (
                lambda family, fabric=fabric: MultiplierArray(
                    lanes=lanes, width=width, fabric_register=fabric, family=family
                )
            ),
            {"a": "data", "b": "other"},
            ["p"],
        )
        for fabric in (False, True)
    ]


def _main(apart, cycles):
    return MAIN.replace("CYCLES", str(cycles)).replace("APART", str(int(apart)))


def test_ecp5(tmp_path):
    """DP16KD of every width, without and with its output register, of several blocks; MULT18X18D
    with two and three registers."""
    rams = [
        (36, 512, 2),
        (33, 512, 1),
        (36, 256, 3),
        (18, 1024, 1),
        (18, 1024, 2),
        (9, 2048, 2),
        (4, 4096, 2),
        (2, 8192, 2),
        (1, 16384, 1),
        (20, 2048, 3),
    ]
    shapes = {best_shape("ecp5", width, depth)[1] for width, depth, _ in rams}
    assert shapes == {36, 18, 9, 4, 2, 1}
    pipelined = [
        (
            (
                lambda family, a=a, b=b: PipelinedMultipliers(
                    lanes=2, a_width=a, b_width=b, family=family
                )
            ),
            {"a": "data", "b": "other"},
            ["p"],
        )
        for a, b in ((18, 18), (9, 14))
    ]
    packed = (
        (lambda family: PackedProducts(pairs=2, family=family)),
        {"a": "data", "b": "other", "c": "other"},
        ["upper", "lower", "carry"],
    )
    run_pair(
        tmp_path,
        cell=dp16kd() + mult18x18d() + TRELLIS_FF,
        inputs=INPUTS,
        family="ecp5",
        level="-O0",
        main=_main(False, 8000),
        add=_adder(rams, [*_multipliers(4, 8), *_multipliers(3, 16), *pipelined, packed]),
    )


@pytest.mark.parametrize(("width", "depth"), [(9, 2048), (4, 4096)])
def test_ecp5_narrow_dual_ports(tmp_path, width, depth):
    """Beside those of 16 bits (test_primitives_dualram.py): two writes never meet."""
    dual = (
        (lambda family: DualPortRAM(depth=depth, width=width, family=family)),
        {
            "a_addr": "at",
            "b_addr": "from",
            "a_write": "write",
            "b_write": "also",
            "a_write_data": "data",
            "b_write_data": "other",
        },
        ["a_data", "b_data"],
    )
    main = _main(False, 8000).replace(
        "top.p_data.set",
        "top.p_also.set<bool>((r >> 40 & 1) && !(write && (at & 0x7ff) == (from & 0x7ff)));\n"
        "        top.p_data.set",
    )
    run_pair(
        tmp_path,
        cell=dp16kd(),
        inputs={**INPUTS, "also": 1},
        family="ecp5",
        level="-O0",
        main=main,
        add=_adder([], [dual]),
    )


def test_ice40(tmp_path):
    """SB_RAM40_4K of every width, SB_MAC16 with one product and with two."""
    rams = [
        (16, 256, 1),
        (16, 256, 2),
        (16, 256, 3),
        (8, 512, 1),
        (4, 1024, 2),
        (2, 2048, 1),
        (2, 2048, 3),
        (12, 512, 2),
    ]
    assert {best_shape("ice40", width, depth)[1] for width, depth, _ in rams} == {16, 8, 4, 2}
    pipelined = [
        (
            (lambda family: PipelinedMultipliers(lanes=2, a_width=16, b_width=13, family=family)),
            {"a": "data", "b": "other"},
            ["p"],
        )
    ]
    ram = re.sub(r"if \(INIT_FILE.*?else", "", ice40_cell("SB_RAM40_4K"), count=1, flags=re.S)
    run_pair(
        tmp_path,
        cell=f"{ram}\n{ice40_cell('SB_MAC16')}",
        inputs=INPUTS,
        level="-O0",
        main=_main(True, 8000),
        add=_adder(rams, [*_multipliers(3, 8), *_multipliers(2, 16), *pipelined]),
    )
