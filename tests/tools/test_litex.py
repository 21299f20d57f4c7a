# SPDX-License-Identifier: BSD-2-Clause
"""``quintet.integration.litex``: a core in a LiteX SoC, and the SoC's Verilog."""

import re
import shutil
from pathlib import Path

import pytest

litex = pytest.importorskip("litex", reason="no LiteX here")

from litex.build.generic_platform import Pins  # noqa: E402
from litex.build.lattice import LatticePlatform  # noqa: E402
from litex.soc.integration.builder import Builder  # noqa: E402
from litex.soc.integration.soc_core import SoCMini  # noqa: E402
from litex.soc.interconnect import wishbone  # noqa: E402
from migen import Record  # noqa: E402
from migen.genlib.io import CRG  # noqa: E402

from quintet.integration import litex as module  # noqa: E402
from quintet.integration.litex import QuintetCore  # noqa: E402
from quintet.tools.jobs.job import Job  # noqa: E402
from quintet.tools.jobs.runner import run_job  # noqa: E402
from quintet.tools.targets.model import ModelTarget  # noqa: E402
from tests.support.installed import run  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

PINS = [
    ("sys_clk", 0, Pins("G2")),
    ("sys_rst", 0, Pins("R1")),
]
SIZE, ORIGIN = 0x10000, 0x4000_0000


def ulx3s():
    return LatticePlatform("LFE5U-25F-6BG381C", PINS, toolchain="trellis")


@pytest.fixture
def no_verilog(monkeypatch):
    """Verilog of the core is of no interest, and takes time."""
    monkeypatch.setattr(module, "convert", lambda component, name: f"module {name}(); endmodule")


def make(monkeypatch, folder, contents=(), **options):
    """A LiteX SoC without CPU, with memory, a host's Wishbone bus on pins and an OpenTPU, and the
    text of its Verilog."""
    monkeypatch.chdir(folder)
    bus = {
        "bus_data_width": options.pop("width", 32),
        "bus_bursting": options.pop("bursting", False),
    }
    platform = ulx3s()
    memory = {"integrated_main_ram_size": SIZE, "integrated_main_ram_init": list(contents)}
    soc = SoCMini(platform, 1_000_000, **memory, **bus)
    host = wishbone.Interface(data_width=32, address_width=32)
    platform.add_extension(host.get_ios("host"))
    soc.comb += host.connect_to_pads(platform.request("host"), mode="slave")
    soc.bus.add_master("host", host)
    soc.crg = CRG(platform.request("sys_clk"), platform.request("sys_rst"))
    soc.irq.enable()
    options = {"preset": "sim", "origin": 0x8000_0000, **options}
    soc.quintet = QuintetCore(soc, "opentpu", **options)
    builder = Builder(soc, output_dir="out", compile_software=False, compile_gateware=False)
    builder.build(build_name="soc", run=False)
    return soc, (folder / "out/gateware/soc.v").read_text()


def connections(text):
    """Ports of the core that are connected in the SoC's Verilog."""
    return set(re.findall(r"^\s*\.(\w+)\s*\(", text[text.index("quintet_opentpu qu") :], re.M))


def test_core_on_the_bus(monkeypatch, tmp_path):
    soc, text = make(monkeypatch, tmp_path, bursting=True)
    assert "quintet_opentpu quintet_opentpu" in text
    connected = connections(text)
    assert {"clk", "rst", "memory__adr", "memory__err", "memory__cti", "interrupt"} <= connected
    core = soc.quintet.core
    assert (core.memory_size, core.bus_bytes) == (SIZE, 4)
    source = tmp_path / "build/quintet_opentpu.v"
    assert any(str(source) == str(path) for path, *_ in soc.platform.sources)
    declared = source.read_text()
    head = declared[declared.index("module quintet_opentpu(") :]
    for port in connected - {"clk", "rst"}:
        assert re.search(rf"^  (in|out)put .*\b{port};", head, re.M), port
    # What software finds: the region, the registers' offsets, the interrupt.
    assert soc.bus.regions["quintet"].size == 4096
    assert soc.constants["QUINTET_PROGRAM_ADDRESS_OFFSET"] == 0x20
    assert soc.irq.locs["quintet"] is not None and "quintet" in soc.csr.locs


BENCH = """
`timescale 1ns/1ps
module tb;
  reg clk = 0, rst = 1;
  always #5 clk = ~clk;
  reg [29:0] adr = 0;
  reg [31:0] dat_w = 0;
  reg cyc = 0, we = 0;
  wire [31:0] dat_r;
  wire ack;
  soc dut(.sys_clk(clk), .sys_rst(rst), .host_adr(adr), .host_dat_w(dat_w), .host_dat_r(dat_r),
    .host_sel(4'hf), .host_cyc(cyc), .host_stb(cyc), .host_we(we), .host_ack(ack),
    .host_cti(3'd0), .host_bte(2'd0));
  reg [31:0] value;
  task access(input [31:0] address, input write, input [31:0] data);
    begin
      @(posedge clk);
      adr <= address[31:2]; dat_w <= data; we <= write; cyc <= 1;
      @(posedge clk);
      while (!ack) @(posedge clk);
      value = dat_r;
      cyc <= 0;
    end
  endtask
  initial begin
    repeat (20) @(posedge clk);
    rst <= 0;
    value = 1;
    while (value[0]) access(32'h80000014, 0, 0);
%s
    $finish;
  end
endmodule
"""


def test_a_run_in_a_litex_soc(monkeypatch, tmp_path):
    """A job whose operands lie in the SoC's memory: the host starts the core over the SoC's bus and
    reads the golden model's results."""
    if not shutil.which("iverilog"):
        pytest.skip("no Icarus Verilog here")
    job = Job.load(str(ROOT / "firmware/opentpu/programs/small.toml"))
    model = ModelTarget(isa="opentpu", preset="sim", overrides={}, memory_size=SIZE)
    result = run_job(job, model)
    image = bytearray(SIZE)
    for part in result.image.parts:
        image[part.at : part.at + len(part.data)] = part.data
    words = [int.from_bytes(image[at : at + 4], "little") for at in range(0, SIZE, 4)]
    make(monkeypatch, tmp_path, words, bursting=True)
    steps = []
    for name, value in result.image.registers.items():
        kind, offset = model.registers.find(name)
        steps += [
            f"    access(32'h{0x8000_0000 + offset + at:x}, 1, {value >> 8 * at & 0xFFFF_FFFF});"
            for at in range(0, kind.width // 8, 4)
        ]
    steps.append("    access(32'h80000010, 1, 1); value = 1;")
    steps.append("    while (value[0]) access(32'h80000014, 0, 0);")
    (save,) = job.saves
    for at in range(save.at, save.at + save.size, 4):
        steps.append(f'    access(32\'h{ORIGIN + at:x}, 0, 0); $display("word %h", value);')
    folder = tmp_path / "out/gateware"
    (folder / "tb.v").write_text(BENCH % "\n".join(steps))
    source = tmp_path / "build/quintet_opentpu.v"
    run("iverilog", "-g2005", "-o", "tb", "tb.v", "soc.v", source, cwd=folder)
    printed = re.findall(r"^word (\w{8})$", run("vvp", "tb", cwd=folder), re.M)
    found = b"".join(int(word, 16).to_bytes(4, "little") for word in printed)
    assert found == bytes(result.raw[save.name])


@pytest.mark.usefixtures("no_verilog")
def test_core_on_a_wide_bus_without_bursts(monkeypatch, tmp_path):
    soc, text = make(monkeypatch, tmp_path, width=64)
    assert soc.quintet.core.bus_bytes == 8 and "memory__cti" not in connections(text)


@pytest.mark.usefixtures("no_verilog")
def test_core_on_a_port_of_litedram(monkeypatch, tmp_path):
    port = Record(
        [
            ("cmd", [("valid", 1), ("ready", 1), ("last", 1), ("we", 1), ("addr", 24)]),
            ("wdata", [("valid", 1), ("ready", 1), ("data", 128), ("we", 16)]),
            ("rdata", [("valid", 1), ("ready", 1), ("data", 128)]),
        ],
        name="port",
    )
    port.data_width, port.address_width = 128, 24
    soc, text = make(monkeypatch, tmp_path, port=port)
    assert (soc.quintet.core.memory_size, soc.quintet.core.bus_bytes) == (16 << 24, 16)
    assert "quintet" not in soc.bus.masters and ".memory__wdata_data" in text


@pytest.mark.usefixtures("no_verilog")
def test_second_clock(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    soc = SoCMini(ulx3s(), 1_000_000, integrated_main_ram_size=SIZE)
    core = QuintetCore(soc, "imagine", preset="up5k", second_clock="fast")
    (instance,) = core._fragment.specials
    assert {"array_clk", "array_rst"} <= {item.name for item in instance.items}


def test_a_soc_without_the_region(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    soc = SoCMini(ulx3s(), 1_000_000)
    with pytest.raises(ValueError, match="region = 'main_ram': expected one of"):
        QuintetCore(soc, "opentpu", preset="sim")
