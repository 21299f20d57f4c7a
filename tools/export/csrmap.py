# SPDX-License-Identifier: BSD-2-Clause
"""Memory map of a SoC for other tools, generated from one list of registers: LiteX's csv and json,
SVD, a C header, Python constants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from ...gateware.bus.registers import SOC_REGISTERS
from ...gateware.info import (
    CONTROL_BASE,
    CONTROL_SIZE,
    INFO_BASE,
    MEMORY_BASE,
    RUN_LIST_BASE,
    SOC_BASE,
)
from ...gateware.isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from ...gateware.standalone.runlist import RUN_LIST_REGISTERS

if TYPE_CHECKING:
    from ...gateware.soc import SoC

__all__ = ["FORMATS", "MapRegister", "MemoryMap", "memory_map"]

_ACCESS = {"r": "ro", "w": "wo", "rw": "rw"}
_SVD_ACCESS = {"ro": "read-only", "wo": "write-only", "rw": "read-write"}


@dataclass(frozen=True)
class MapRegister:
    """A 32-bit register: name, byte address, ``"ro"``, ``"wo"`` or ``"rw"``, meaning."""

    name: str
    address: int
    access: str
    doc: str


@dataclass(frozen=True)
class MemoryMap:
    """A memory map: blocks of registers (name -> (base, size, registers)), memories (name -> (base,
    size)), constants (name -> value)."""

    name: str
    blocks: dict[str, tuple[int, int, tuple[MapRegister, ...]]]
    memories: dict[str, tuple[int, int]]
    constants: dict[str, Any]

    @property
    def registers(self) -> list[MapRegister]:
        """All registers in address order."""
        return [register for _, _, registers in self.blocks.values() for register in registers]

    # LiteX: a register of more than one word would be big-endian there, so each word of ours is one
    # of its own.

    def json(self) -> str:
        """Formats the map as LiteX's ``csr.json``."""
        return (
            json.dumps(
                {
                    "csr_bases": {name: base for name, (base, _, _) in self.blocks.items()},
                    "csr_registers": {
                        r.name: {"addr": r.address, "size": 1, "type": r.access}
                        for r in self.registers
                    },
                    "constants": {
                        name.lower(): value.lower() if isinstance(value, str) else value
                        for name, value in self.constants.items()
                    },
                    "memories": {
                        name: {"base": base, "size": size, "type": "cached"}
                        for name, (base, size) in self.memories.items()
                    },
                },
                indent=4,
            )
            + "\n"
        )

    def csv(self) -> str:
        """Formats the map as LiteX's ``csr.csv``."""
        lines = [f"# Memory map of {self.name}, made by quintet."]
        lines += [f"csr_base,{name},0x{base:08x},," for name, (base, _, _) in self.blocks.items()]
        lines += [f"csr_register,{r.name},0x{r.address:08x},1,{r.access}" for r in self.registers]
        lines += [
            f"constant,{name.lower()},{str(value).lower()},,"
            for name, value in self.constants.items()
        ]
        lines += [
            f"memory_region,{name},0x{base:08x},{size},cached"
            for name, (base, size) in self.memories.items()
        ]
        return "\n".join(lines) + "\n"

    def svd(self) -> str:
        """Formats the map as CMSIS-SVD, version 1.3."""
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<device schemaVersion="1.3" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" '
            'xs:noNamespaceSchemaLocation="CMSIS-SVD.xsd">',
            f"  <name>{escape(self.name)}</name>",
            "  <version>1.0</version>",
            f"  <description>{escape(self.name)}, made by quintet</description>",
            "  <addressUnitBits>8</addressUnitBits>",
            "  <width>32</width>",
            "  <size>32</size>",
            "  <peripherals>",
        ]
        for name, (base, size, registers) in self.blocks.items():
            lines += [
                "    <peripheral>",
                f"      <name>{name.upper()}</name>",
                f"      <baseAddress>0x{base:08X}</baseAddress>",
                f"      "
                f"<addressBlock><offset>0</offset><size>0x{size:X}</size>"
                "<usage>registers</usage></addressBlock>",
                "      <registers>",
            ]
            for r in registers:
                lines += [
                    "        <register>",
                    f"          <name>{r.name.upper()}</name>",
                    f"          <description>{escape(r.doc)}</description>",
                    f"          <addressOffset>0x{r.address - base:X}</addressOffset>",
                    f"          <access>{_SVD_ACCESS[r.access]}</access>",
                    "        </register>",
                ]
            lines += ["      </registers>", "    </peripheral>"]
        lines += ["  </peripherals>", "  <vendorExtensions>", "    <memoryRegions>"]
        lines += [
            (
                f'      <memoryRegion name={quoteattr(name.upper())} base="0x{base:08X}" '
                f'size="0x{size:08X}"/>'
            )
            for name, (base, size) in self.memories.items()
        ]
        return (
            "\n".join([*lines, "    </memoryRegions>", "  </vendorExtensions>", "</device>"]) + "\n"
        )

    def c_header(self) -> str:
        """Formats the map as a C header of addresses."""
        lines = [
            f"/* Memory map of {self.name}, made by quintet. */",
            "#ifndef QUINTET_CSR_H",
            "#define QUINTET_CSR_H",
            "",
        ]
        for name, (base, size, registers) in self.blocks.items():
            lines += [
                f"#define {name.upper()}_BASE 0x{base:08X}u",
                f"#define {name.upper()}_SIZE 0x{size:X}u",
            ]
            lines += [
                (
                    f"#define {r.name.upper()}_ADDR 0x{r.address:08X}u  /* {r.access}: "
                    f"{r.doc.replace('*/', '* /')} */"
                )
                for r in registers
            ]
            lines.append("")
        for name, (base, size) in self.memories.items():
            lines += [
                f"#define {name.upper()}_BASE 0x{base:08X}u",
                f"#define {name.upper()}_SIZE 0x{size:X}u",
            ]
        for name, value in self.constants.items():
            text = f'"{value}"' if isinstance(value, str) else f"{value}u"
            lines.append(f"#define {name.upper()} {text}")
        return "\n".join([*lines, "", "#endif"]) + "\n"

    def python(self) -> str:
        """Formats the map as a Python module of constants."""
        lines = [f'"""Memory map of {self.name}, made by quintet."""']
        for name, (base, size, registers) in self.blocks.items():
            lines += [f"{name.upper()}_BASE, {name.upper()}_SIZE = 0x{base:08X}, 0x{size:X}"]
            lines += [
                f"{r.name.upper()} = 0x{r.address:08X}  # {r.access}: {r.doc}" for r in registers
            ]
        lines += [
            f"{name.upper()}_BASE, {name.upper()}_SIZE = 0x{base:08X}, 0x{size:X}"
            for name, (base, size) in self.memories.items()
        ]
        lines += [f"{name.upper()} = {value!r}" for name, value in self.constants.items()]
        return "\n".join(lines) + "\n"


#: Suffix of a file -> the method that makes its text.
FORMATS = {
    ".csv": MemoryMap.csv,
    ".json": MemoryMap.json,
    ".svd": MemoryMap.svd,
    ".h": MemoryMap.c_header,
    ".py": MemoryMap.python,
}


def _words(prefix, base, name, offset, access, doc, width=32, count=1):
    """Words of a register: the entries of an array; for 64 bits, the low word followed by the high
    word."""
    for k in range(count):
        entry = f"{prefix}_{name}" + (f"{k}" if count > 1 else "")
        at = base + offset + k * width // 8
        yield MapRegister(entry, at, access, doc)
        if width == 64:
            yield MapRegister(f"{entry}_high", at + 4, access, f"{doc}, bits 63 to 32")


def memory_map(soc: SoC) -> MemoryMap:
    """Builds the :class:`MemoryMap` of a SoC (``gateware/soc.py``)."""
    blocks = {}
    if soc.package is not None:
        isa = soc.package.isa.ISA
        registers = [
            w
            for r in (*COMMON_REGISTERS, *isa.registers)
            for w in _words(
                "core", CONTROL_BASE, r.name, r.offset, _ACCESS[r.access], r.doc, r.width, r.count
            )
        ]
        registers += [
            w
            for c in (*COMMON_COUNTERS, *isa.counters)
            for w in _words("core", CONTROL_BASE, f"cnt_{c.name}", c.offset, "ro", c.doc, 64)
        ]
        blocks["core"] = (
            CONTROL_BASE,
            CONTROL_SIZE,
            tuple(sorted(registers, key=lambda r: r.address)),
        )
    blocks["soc"] = (
        SOC_BASE,
        0x100,
        tuple(
            MapRegister(name, SOC_BASE + offset, _ACCESS[access], doc)
            for name, (offset, access, doc) in SOC_REGISTERS.items()
        ),
    )
    if soc.run_list:
        blocks["list"] = (
            RUN_LIST_BASE,
            0x10,
            tuple(
                MapRegister(name, RUN_LIST_BASE + offset, _ACCESS[access], doc)
                for name, (offset, access, doc) in RUN_LIST_REGISTERS.items()
            ),
        )
    constants: dict[str, Any] = {
        "CONFIG_CLOCK_FREQUENCY": soc.clock_hz,
        "CONFIG_CSR_DATA_WIDTH": 32,
        "CONFIG_CSR_ALIGNMENT": 32,
        "CONFIG_BUS_DATA_WIDTH": 32,
        "CONFIG_BUS_ADDRESS_WIDTH": 32,
        "QUINTET_BOARD": soc.board_name,
    }
    if soc.package is not None:
        constants |= {"QUINTET_CORE": soc.package.name, "QUINTET_PRESET": soc.preset}
    info = max(1 << 10, 1 << (len(soc.info) - 1).bit_length())
    name = (
        f"{soc.board_name}, {soc.package.name} {soc.preset}"
        if soc.package is not None
        else soc.board_name
    )
    return MemoryMap(
        name,
        blocks,
        {"main_ram": (MEMORY_BASE, soc.backing.size), "info_rom": (INFO_BASE, info)},
        constants,
    )
