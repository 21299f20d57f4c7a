# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of an exported core for other tool flows: a FuseSoC core file, an IP-XACT component,
and a register map in SystemRDL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from ...gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS

if TYPE_CHECKING:
    from .verilog import CoreExport

__all__ = [
    "CoreRegister",
    "core_registers",
    "fusesoc",
    "ipxact",
    "package_files",
    "systemrdl",
]

#: Vendor and library of a core in FuseSoC's and IP-XACT's names.
VENDOR, LIBRARY = "quintet", "cores"
#: Bytes of the register block.
BLOCK = 4096


@dataclass(frozen=True)
class CoreRegister:
    """A register of the register block: ``count`` entries of ``width`` bits from ``offset``;
    ``access`` is "r", "w" or "rw"."""

    name: str
    offset: int
    access: str
    width: int
    count: int
    reset: int
    doc: str


def core_registers(export: CoreExport) -> list[CoreRegister]:
    """All registers and counters of a core, by offset; those that the build lacks are omitted."""
    isa, params = export.package.isa.ISA, export.params
    found = [
        CoreRegister(r.name, r.offset, r.access, r.width, r.count, r.reset, r.doc)
        for r in (*COMMON_REGISTERS, *isa.registers)
        if r.only_if is None or params[r.only_if]
    ]
    found += [
        CoreRegister(f"cnt_{c.name}", c.offset, "r", 64, 1, 0, c.doc)
        for c in (*COMMON_COUNTERS, *isa.counters)
    ]
    return sorted(found, key=lambda register: register.offset)


def _version(export):
    return ".".join(str(part) for part in export.package.isa.ISA.version)


def _title(export):
    return f"{export.package.isa.ISA.title} accelerator core, preset {export.preset}"


def systemrdl(export: CoreExport) -> str:
    """The register block as a SystemRDL 2.0 address map."""

    def text(words):
        return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [
        f"// Registers of {export.name}. Made by quintet.",
        f"addrmap {export.name} {{",
        f"    name = {text(_title(export))};",
        "    littleendian; lsb0;",
        "    default accesswidth = 32;",
    ]
    for r in core_registers(export):
        hardware = {"r": "w", "w": "r", "rw": "r"}[r.access]
        array = f"[{r.count}]" if r.count > 1 else ""
        step = f" += {r.width // 8}" if r.count > 1 else ""
        lines += [
            "    reg {",
            f"        desc = {text(r.doc or r.name)};",
            f"        regwidth = {r.width};",
            f"        field {{ sw = {r.access}; hw = {hardware}; }} value[{r.width - 1}:0];",
            f"    }} {r.name}{array} @ {r.offset:#x}{step};",
        ]
    return "\n".join([*lines, "};"]) + "\n"


def fusesoc(export: CoreExport, verilog: str, bench: str | None = None) -> str:
    """The FuseSoC core file (CAPI 2) of a Verilog file in the same folder and its test bench."""
    lines = [
        "CAPI=2:",
        "",
        f"name: {VENDOR}:{LIBRARY}:{export.package.name}:{_version(export)}",
        f"description: {_title(export)}",
        "",
        "filesets:",
        "  rtl:",
        "    files:",
        f"      - {verilog}",
        "    file_type: verilogSource-2005",
    ]
    if bench is not None:
        lines += [
            "  bench:",
            "    files:",
            f"      - {bench}",
            "    file_type: verilogSource-2005",
        ]
    lines += [
        "",
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        "    toplevel: " + export.name,
    ]
    if bench is not None:
        lines += [
            "  sim:",
            "    filesets: [rtl, bench]",
            f"    toplevel: {export.name}_tb",
            "    default_tool: icarus",
            "    tools:",
            "      icarus:",
            "        iverilog_options: [-g2005]",
        ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _BusType:
    """Bus definition of IP-XACT: vendor, library, name, version, and logical port names that differ
    from the module's names in upper case."""

    vendor: str
    library: str
    name: str
    version: str
    logical: dict[str, str]

    def reference(self, suffix=""):
        """Attributes of an XML reference to the bus definition."""
        return (
            f'vendor="{self.vendor}" library="{self.library}" name="{self.name}{suffix}" '
            f'version="{self.version}"'
        )


_WISHBONE = _BusType(
    "opencores.org",
    "interface",
    "wishbone",
    "B4",
    {"dat_w": "dat_mosi", "dat_r": "dat_miso"}
    | {name: name for name in ("adr", "sel", "cyc", "stb", "we", "ack", "err", "cti", "bte")},
)
_BUS_TYPES = {
    "wishbone": _WISHBONE,
    "axi4": _BusType("amba.com", "AMBA4", "AXI4", "r0p0_0", {}),
    "axi4-lite": _BusType("amba.com", "AMBA4", "AXI4-Lite", "r0p0_0", {}),
    "native": _BusType("enjoy-digital.fr", "litedram", "native", "1.0", {}),
}


def _ports(export) -> Iterator[tuple[str, str, int]]:
    """Name, direction and width of every port of the module."""
    from amaranth.hdl import Shape
    from amaranth.lib.wiring import In

    component = export.component
    yield from (("clk", "in", 1), ("rst", "in", 1))
    if export.second_clock is not None:
        name = export.second_clock.name
        yield from ((f"{name}_clk", "in", 1), (f"{name}_rst", "in", 1))
    for path, member, _ in component.signature.flatten(component):
        width = Shape.cast(member.shape).width
        if width:
            direction = "in" if member.flow == In else "out"
            yield "__".join(map(str, path)), direction, width


def _bus_interface(export, prefix, kind, role):
    bus = _BUS_TYPES[kind]
    lines = [
        "    <ipxact:busInterface>",
        f"      <ipxact:name>{prefix}</ipxact:name>",
        f"      <ipxact:busType {bus.reference()}/>",
        "      <ipxact:abstractionTypes>",
        "        <ipxact:abstractionType>",
        f"          <ipxact:abstractionRef {bus.reference('_rtl')}/>",
        "          <ipxact:portMaps>",
    ]
    for name, _, _ in _ports(export):
        if not name.startswith(f"{prefix}__"):
            continue
        own = name[len(prefix) + 2 :]
        lines += [
            "            <ipxact:portMap>",
            "              <ipxact:logicalPort>",
            f"                <ipxact:name>{bus.logical.get(own, own.upper())}</ipxact:name>",
            "              </ipxact:logicalPort>",
            "              <ipxact:physicalPort>",
            f"                <ipxact:name>{name}</ipxact:name>",
            "              </ipxact:physicalPort>",
            "            </ipxact:portMap>",
        ]
    lines += [
        "          </ipxact:portMaps>",
        "        </ipxact:abstractionType>",
        "      </ipxact:abstractionTypes>",
        *role,
        "    </ipxact:busInterface>",
    ]
    return lines


def _memory_map(export):
    lines = [
        "  <ipxact:memoryMaps>",
        "    <ipxact:memoryMap>",
        "      <ipxact:name>registers</ipxact:name>",
        "      <ipxact:addressBlock>",
        "        <ipxact:name>control_block</ipxact:name>",
        "        <ipxact:baseAddress>0x0</ipxact:baseAddress>",
        f"        <ipxact:range>{BLOCK:#x}</ipxact:range>",
        "        <ipxact:width>32</ipxact:width>",
        "        <ipxact:usage>register</ipxact:usage>",
    ]
    access = {"r": "read-only", "w": "write-only", "rw": "read-write"}
    for r in core_registers(export):
        lines += [
            "        <ipxact:register>",
            f"          <ipxact:name>{r.name}</ipxact:name>",
            f"          <ipxact:description>{escape(r.doc or r.name)}</ipxact:description>",
            *([f"          <ipxact:dim>{r.count}</ipxact:dim>"] if r.count > 1 else []),
            f"          <ipxact:addressOffset>{r.offset:#x}</ipxact:addressOffset>",
            f"          <ipxact:size>{r.width}</ipxact:size>",
            f"          <ipxact:access>{access[r.access]}</ipxact:access>",
            "          <ipxact:field>",
            "            <ipxact:name>value</ipxact:name>",
            "            <ipxact:bitOffset>0</ipxact:bitOffset>",
            f"            <ipxact:bitWidth>{r.width}</ipxact:bitWidth>",
            "          </ipxact:field>",
            "        </ipxact:register>",
        ]
    return [
        *lines,
        "      </ipxact:addressBlock>",
        "      <ipxact:addressUnitBits>8</ipxact:addressUnitBits>",
        "    </ipxact:memoryMap>",
        "  </ipxact:memoryMaps>",
    ]


def _model(export):
    lines = [
        "  <ipxact:model>",
        "    <ipxact:views>",
        "      <ipxact:view>",
        "        <ipxact:name>rtl</ipxact:name>",
        "        <ipxact:componentInstantiationRef>verilog</ipxact:componentInstantiationRef>",
        "      </ipxact:view>",
        "    </ipxact:views>",
        "    <ipxact:instantiations>",
        "      <ipxact:componentInstantiation>",
        "        <ipxact:name>verilog</ipxact:name>",
        "        <ipxact:language>verilog</ipxact:language>",
        f"        <ipxact:moduleName>{export.name}</ipxact:moduleName>",
        "        <ipxact:fileSetRef><ipxact:localName>rtl</ipxact:localName></ipxact:fileSetRef>",
        "      </ipxact:componentInstantiation>",
        "    </ipxact:instantiations>",
        "    <ipxact:ports>",
    ]
    for name, direction, width in _ports(export):
        lines += [
            "      <ipxact:port>",
            f"        <ipxact:name>{name}</ipxact:name>",
            "        <ipxact:wire>",
            f"          <ipxact:direction>{direction}</ipxact:direction>",
        ]
        if width > 1:
            lines += [
                "          <ipxact:vectors><ipxact:vector>",
                f"            <ipxact:left>{width - 1}</ipxact:left>",
                "            <ipxact:right>0</ipxact:right>",
                "          </ipxact:vector></ipxact:vectors>",
            ]
        lines += ["        </ipxact:wire>", "      </ipxact:port>"]
    return [*lines, "    </ipxact:ports>", "  </ipxact:model>"]


def ipxact(export: CoreExport, verilog: str) -> str:
    """The IP-XACT component (IEEE 1685-2014) of a Verilog file in the same folder: bus interfaces,
    registers, ports."""
    slave = [
        "      <ipxact:slave>",
        '        <ipxact:memoryMapRef memoryMapRef="registers"/>',
        "      </ipxact:slave>",
    ]
    master = [
        "      <ipxact:master>",
        '        <ipxact:addressSpaceRef addressSpaceRef="memory"/>',
        "      </ipxact:master>",
    ]
    registers = "bus" if export.bus is None else "registers"
    interfaces = _bus_interface(export, registers, export.registers, slave)
    spaces = []
    if export.bus in _BUS_TYPES:
        interfaces += _bus_interface(export, "memory", export.bus, master)
        spaces = [
            "  <ipxact:addressSpaces>",
            "    <ipxact:addressSpace>",
            "      <ipxact:name>memory</ipxact:name>",
            "      <ipxact:range>0x100000000</ipxact:range>",
            f"      <ipxact:width>{8 * export.bus_bytes}</ipxact:width>",
            "      <ipxact:addressUnitBits>8</ipxact:addressUnitBits>",
            "    </ipxact:addressSpace>",
            "  </ipxact:addressSpaces>",
        ]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<ipxact:component xmlns:ipxact="http://www.accellera.org/XMLSchema/IPXACT/1685-2014">',
        f"  <ipxact:vendor>{VENDOR}</ipxact:vendor>",
        f"  <ipxact:library>{LIBRARY}</ipxact:library>",
        f"  <ipxact:name>{export.name}</ipxact:name>",
        f"  <ipxact:version>{_version(export)}</ipxact:version>",
        "  <ipxact:busInterfaces>",
        *interfaces,
        "  </ipxact:busInterfaces>",
        *spaces,
        *_memory_map(export),
        *_model(export),
        "  <ipxact:fileSets>",
        "    <ipxact:fileSet>",
        "      <ipxact:name>rtl</ipxact:name>",
        "      <ipxact:file>",
        f"        <ipxact:name>{escape(verilog)}</ipxact:name>",
        "        <ipxact:fileType>verilogSource-2005</ipxact:fileType>",
        "      </ipxact:file>",
        "    </ipxact:fileSet>",
        "  </ipxact:fileSets>",
        f"  <ipxact:description>{escape(_title(export))}</ipxact:description>",
        "</ipxact:component>",
    ]
    return "\n".join(lines) + "\n"


def package_files(
    export: CoreExport, verilog: str | Path, bench: str | Path | None = None
) -> dict[str, str]:
    """Files that describe the Verilog file ``verilog`` and are stored beside it: path -> text."""
    path = Path(verilog)
    beside = None if bench is None else Path(bench).name
    return {
        str(path.with_suffix(".core")): fusesoc(export, path.name, beside),
        str(path.with_suffix(".xml")): ipxact(export, path.name),
        str(path.with_suffix(".rdl")): systemrdl(export),
    }
