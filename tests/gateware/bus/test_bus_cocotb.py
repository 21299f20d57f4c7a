# SPDX-License-Identifier: BSD-2-Clause
"""AXI4 master and AXI4-Lite slave, as Verilog in Icarus, against cocotbext-axi."""

import shutil
import xml.etree.ElementTree as ElementTree

import pytest

from quintet.gateware.bus.axilite import AXI4LiteFront
from quintet.gateware.bus.masters.axi4 import AXI4Master
from quintet.gateware.verilog import convert

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("iverilog"), reason="no Icarus here"),
]
DESIGNS = {
    "axi4_master": lambda: AXI4Master(beat_bytes=4, base=0),
    "axi4_lite_slave": lambda: AXI4LiteFront(addr_width=8),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_against_cocotbext_axi(name, tmp_path):
    pytest.importorskip("cocotbext.axi", reason="no cocotbext-axi here")
    from cocotb_tools.runner import get_runner

    source = tmp_path / "dut.v"
    source.write_text("`timescale 1ns/1ps\n" + convert(DESIGNS[name](), name="dut"))
    runner = get_runner("icarus")
    runner.build(sources=[source], hdl_toplevel="dut", build_dir=tmp_path)
    results = runner.test(
        hdl_toplevel="dut",
        test_module="tests.support.buses.cocotb_bench",
        testcase=name,
        build_dir=tmp_path,
        extra_env={"SEED": "1", "COUNT": "2000"},
    )
    cases = ElementTree.parse(results).findall(".//testcase")
    assert [case.get("name") for case in cases if case.find("skipped") is None] == [name]
    assert not [case for case in cases if case.find("failure") is not None]
