# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of an exported core for other flows: FuseSoC, IP-XACT, SystemRDL."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
import yaml

from quintet.gateware.core import Core
from quintet.tools.export.core_package import core_registers, fusesoc, ipxact, systemrdl
from quintet.tools.export.verilog import core_component
from quintet.tools.export.verilog_ports import port_comment

NAMESPACE = {"ipxact": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
BUSES = {
    "shell": {},
    "wishbone": {"bus": "wishbone", "bus_width": 128},
    "axi4": {"bus": "axi4", "registers": "axi4-lite", "bus_width": 64},
    "native": {"bus": "native"},
}


@pytest.fixture(scope="module", params=BUSES)
def export(request):
    return core_component("opentpu", "sim", **BUSES[request.param])


def words_of_the_map():
    """(offset, width, access) of each register by name, as amaranth-soc's map has them."""
    found = {}
    for resource in Core("opentpu", preset="sim").memory_map.all_resources():
        found[str(resource.path[0][0])] = (resource.start, 8 * (resource.end - resource.start))
    return found


def test_fusesoc(export):
    text = fusesoc(export, "core.v", "core_tb.v")
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text)
    assert core["name"] == "quintet:cores:opentpu:1.0"
    assert core["filesets"]["rtl"]["files"] == ["core.v"]
    assert core["targets"]["default"]["toplevel"] == "quintet_opentpu"
    assert core["targets"]["sim"]["filesets"] == ["rtl", "bench"]
    assert "bench" not in fusesoc(export, "core.v")


def test_ipxact_has_the_ports_of_the_module(export):
    root = ElementTree.fromstring(ipxact(export, "core.v"))
    found = {}
    for port in root.findall("ipxact:model/ipxact:ports/ipxact:port", NAMESPACE):
        left = port.find(".//ipxact:left", NAMESPACE)
        direction = port.findtext("ipxact:wire/ipxact:direction", namespaces=NAMESPACE)
        name = port.findtext("ipxact:name", namespaces=NAMESPACE)
        found[name] = (direction, 1 if left is None else int(left.text) + 1)
    comment = port_comment(export.component, export.name, domain=export.second_clock)
    rows = re.findall(r"^//   (input|output) +(\d+)  (\w+)", comment, re.M)
    assert found == {name: (way.removesuffix("put"), int(bits)) for way, bits, name in rows}
    mapped = [
        element.text for element in root.findall(".//ipxact:physicalPort/ipxact:name", NAMESPACE)
    ]
    assert len(mapped) == len(set(mapped)) and set(mapped) <= set(found)
    assert sum(name.startswith(("bus__", "registers__")) for name in mapped) > 5
    assert any(name.startswith("memory__") for name in mapped) == (export.bus is not None)


def test_ipxact_has_the_registers(export):
    root = ElementTree.fromstring(ipxact(export, "core.v"))
    found = {}
    for register in root.findall(".//ipxact:register", NAMESPACE):
        name, offset, size, count = (
            register.findtext(f"ipxact:{tag}", namespaces=NAMESPACE)
            for tag in ("name", "addressOffset", "size", "dim")
        )
        for k in range(int(count or 1)):
            at = int(offset, 0) + k * int(size) // 8
            found[name + (str(k) if count else "")] = (at, int(size))
    assert found == words_of_the_map()


def test_systemrdl_is_read_by_its_compiler(export, tmp_path):
    systemrdl_compiler = pytest.importorskip("systemrdl", reason="no systemrdl-compiler here")
    path = tmp_path / "core.rdl"
    path.write_text(systemrdl(export))
    compiler = systemrdl_compiler.RDLCompiler()
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    found = {}
    for node in top.registers(unroll=True):
        name = node.get_path_segment(array_suffix="{index:d}")
        found[name] = (node.absolute_address, 8 * node.size)
        (field,) = node.fields()
        assert field.is_sw_readable or field.is_sw_writable
    assert top.inst_name == "quintet_opentpu" and found == words_of_the_map()


def test_registers_that_a_build_lacks_are_left_out():
    with_all = {r.name for r in core_registers(core_component("opentpu", "sim"))}
    lacking = core_component("opentpu", "sim", {"ext_norm": False})
    assert {r.name for r in core_registers(lacking)} < with_all
