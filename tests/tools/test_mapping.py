# SPDX-License-Identifier: BSD-2-Clause
"""Carry chains of an ECP5: what yosys' model of the cells makes of our mapping equals the sums,
proved; no chain begins or ends in a net."""

import json
import re
import subprocess

import pytest

from quintet.tools.build.mapping import FILES, mapped, steps
from quintet.tools.build.toolchain import find_tool

#: Adders of an even and an odd number of bits, with carries known and not, signed, short and long,
#: and comparisons, whose carries are read.
VERILOG = """
module top(input [16:0] a, b, input ci, s, input [3:0] short,
           output [16:0] same, output [15:0] even_add, even_sub, even_ci, even_signed,
           output [6:0] odd_add, odd_sub, odd_either, odd_ci,
           output [5:0] step, output [4:0] least, output [4:0] many, output [7:0] negative,
           output [7:0] comparisons, output [3:0] none, output middle,
           output [5:0] x0, x1, x2, x3, x4, x5, y0, y1, y2, y3, y4, y5,
           output [5:0] co0, co1, co2, co3, co4, co5, output [6:0] x6, y6, co6);
assign same = a + b;
assign even_add = a[15:0] + b[15:0], even_sub = a[15:0] - b[15:0];
assign even_ci = a[15:0] + b[15:0] + ci;
assign even_signed = $signed(a[8:0]) + $signed(b[11:0]);
assign odd_add = a[6:0] + b[6:0], odd_sub = a[6:0] - b[6:0];
assign odd_either = s ? a[6:0] - b[6:0] : a[6:0] + b[6:0], odd_ci = a[6:0] + b[6:0] + ci;
assign step = a[5:0] + 1, least = a[4:0] - b[4:0], many = a[4:0] + b[4:0] + short;
assign negative = -a[7:0], none = short + a[3:0];
assign comparisons = {a[15:0] < b[15:0], a[6:0] <= b[6:0],
                      $signed(a[7:0]) > $signed(b[7:0]), $signed(a[4:0]) >= $signed(b[4:0]),
                      a[9:0] < 10'd700, a[10:0] > 11'd41, a[8:0] < 9'd12, a[7:0] >= b[7:0]};
assign middle = a[6:0] + b[6:0] > 7'd90;
// Every carry out, for each value of CI and BI.
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu0(.A(a[5:0]), .B(b[5:0]), .CI(1'b0), .BI(1'b0), .X(x0), .Y(y0), .CO(co0));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu1(.A(a[5:0]), .B(b[5:0]), .CI(1'b1), .BI(1'b0), .X(x1), .Y(y1), .CO(co1));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu2(.A(a[5:0]), .B(b[5:0]), .CI(1'b0), .BI(1'b1), .X(x2), .Y(y2), .CO(co2));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu3(.A(a[5:0]), .B(b[5:0]), .CI(1'b1), .BI(1'b1), .X(x3), .Y(y3), .CO(co3));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu4(.A(a[5:0]), .B(b[5:0]), .CI(ci), .BI(s), .X(x4), .Y(y4), .CO(co4));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(6), .B_WIDTH(6), .Y_WIDTH(6))
  alu5(.A(a[5:0]), .B(b[5:0]), .CI(1'b1), .BI(s), .X(x5), .Y(y5), .CO(co5));
\\$alu #(.A_SIGNED(0), .B_SIGNED(0), .A_WIDTH(7), .B_WIDTH(7), .Y_WIDTH(7))
  alu6(.A(a[6:0]), .B(b[6:0]), .CI(ci), .BI(s), .X(x6), .Y(y6), .CO(co6));
endmodule
"""
#: The same twice: as it was written, and out of the cells.
PROOF = """
design -stash mapped
read_verilog -icells top.v
prep -top top
design -stash written
design -copy-from written -as gold top
design -copy-from mapped -as gate top
techmap -autoproc -map +/ecp5/cells_sim.v gate/t:CCU2C gate/t:LUT4
proc gate
techmap gate gold
opt_clean gate
select -assert-none gate/t:CCU2C gate/t:LUT4
miter -equiv -flatten -make_outputs gold gate miter
sat -verify -prove trigger 0 miter
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapping")
    for name, text in FILES["ecp5"].items():
        (folder / name).write_text(text)
    (folder / "top.v").write_text(VERILOG)
    script = [
        "read_verilog -icells top.v",
        f"synth_ecp5 {mapped('ecp5', '-nowidelut')} -top top",
        *steps("ecp5", "-nowidelut", "top"),
        "write_json top.json",
    ]
    (folder / "top.ys").write_text("\n".join(script) + PROOF)
    done = subprocess.run(
        [find_tool("yosys"), "-q", "-l", "top.rpt", "top.ys"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return folder, done


def test_equals_the_sums(folder):
    _, done = folder
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_at_the_ends_of_chains(folder):
    cells = json.loads((folder[0] / "top.json").read_text())["modules"]["top"]["cells"]
    chains = {name: cell["connections"] for name, cell in cells.items() if cell["type"] == "CCU2C"}
    assert len(chains) > 60 and {cell["type"] for cell in cells.values()} == {"CCU2C", "LUT4"}
    # nextpnr looks for both pins, and takes "x" for no net.
    into, out = (
        [pins[pin][0] for pins in chains.values() if pins[pin] != ["x"]] for pin in ("CIN", "COUT")
    )
    assert into and sorted(into) == sorted(out)  # each carry goes from one cell to one other
    assert len(into) < len(chains)
    read = [
        bit
        for cell in cells.values()
        for pin, bits in cell["connections"].items()
        if pin not in ("CIN", "COUT", "S0", "S1", "Z")
        for bit in bits
    ]
    assert not set(into) & set(read)


@pytest.mark.parametrize("width, combs", [(16, 19), (17, 20)])
def test_nextpnr_adds_no_cells(tmp_path, width, combs):
    """16 bits take eight cells of two and a LUT, 17 bits nine cells; both constants take one, of
    nextpnr's."""
    for name, text in FILES["ecp5"].items():
        (tmp_path / name).write_text(text)
    (tmp_path / "top.v").write_text(
        f"module top(input [{width - 1}:0] a, b, output [{width - 1}:0] y); assign y = a - b; "
        f"endmodule\n"
    )
    (tmp_path / "top.ys").write_text(
        "\n".join(
            [
                "read_verilog top.v",
                f"synth_ecp5 {mapped('ecp5', '')} -top top",
                *steps("ecp5", "", "top"),
                "write_json top.json",
                "",
            ]
        )
    )
    subprocess.run([find_tool("yosys"), "-q", "top.ys"], cwd=tmp_path, check=True)
    packed = subprocess.run(
        [
            find_tool("nextpnr-ecp5"),
            "--25k",
            "--package",
            "CABGA381",
            "--json",
            "top.json",
            "--lpf-allow-unconstrained",
            "--pack-only",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert packed.returncode == 0, packed.stderr
    assert int(re.search(r"TRELLIS_COMB:\s+(\d+)/", packed.stderr + packed.stdout)[1]) == combs


def test_other_families_are_left_alone():
    assert (
        mapped("ice40", "-x") == "-x" and steps("ice40", "", "top") == [] and FILES["ice40"] == {}
    )
