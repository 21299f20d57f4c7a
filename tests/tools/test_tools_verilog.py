# SPDX-License-Identifier: BSD-2-Clause
"""Verilog that a stranger can use: every port named in front, with the fields of packed ones, and nothing of this machine."""
import re
from pathlib import Path

from quintet.tools.build import verilog_core
from quintet.tools.verilog_ports import port_comment

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
    text = verilog_core("opentpu", "sim")
    header, module = text.split("\n\n", 1)
    assert header.startswith("// quintet_opentpu\n") and " n=4 " in header
    listed = set(re.findall(r"^//   (?:input|output) +\d+  (\w+)", header, re.M))
    declared = set(re.findall(r"\w+", module[module.index("(", module.index("module quintet_opentpu")):module.index(");")]))
    assert listed - {"rst"} <= declared <= listed
    assert str(ROOT) not in text and "\\src" not in text and "(* src" not in text
    assert text == verilog_core("opentpu", "sim")
    # The names of the design's own signals survive.
    assert re.search(r"\bstall_operand\b|\bprogram_address\b|\bweight", module)
