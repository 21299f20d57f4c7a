# SPDX-License-Identifier: BSD-2-Clause
"""Registers of a compiled design: their addresses, and all names that the gateware has for each."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Register", "read_registers", "register_table", "unmangle", "write_registers"]

_WIRE = re.compile(r"^\t(?:/\*output\*/ )?wire<(\d+)> (([pi])_\w+);", re.M)
_SLICE = re.compile(r"(.+)\[(\d+)(?::(\d+))?\]")
# Only names are left: bits of the same number are the same signal.
_SCRIPT = (
    "read_rtlil design.il; hierarchy -top top; proc; flatten; delete c:*; write_json names.json"
)


@dataclass(frozen=True)
class Register:
    """A register of a compiled design. ``number``: its index in the library's table; ``name``,
    ``width``; ``low``: number of its lowest bit in the signal of that name; ``aliases``: for each
    bit, (name, bit, width of the signal) of all equivalent signals."""

    number: int
    name: str
    width: int
    low: int
    aliases: tuple[tuple[tuple[str, int, int], ...], ...]


def unmangle(name: str) -> str:
    """Signal name of a C++ name by ``write_cxxrtl``, given without its first two characters."""
    found, at = [], 0
    while at < len(name):
        if name[at] != "_":
            found.append(name[at])
            at += 1
        else:
            end = name.index("_", at + 1)
            found.append(chr(int(name[at + 1 : end], 16)) if end > at + 1 else "_")
            at = end + 1
    return "".join(found)


def register_table(header: str) -> str:
    """Generates ``register_table.hpp`` from a design's ``design.h``: a function that returns the
    addresses of all registers, in declaration order."""
    places = "".join(
        f"\tat[{number}] = d.{name}.curr.data;\n"
        for number, (_, name, _) in enumerate(_WIRE.findall(header))
    )
    return (
        f"#pragma once\nstatic void quintet_places(quintet::Design &d, uint32_t **at) {{\n"
        f"{places}}}\n"
    )


def write_registers(
    rtlil_text: str, header: str, folder: Path, run: Callable[[str], object]
) -> None:
    """Writes ``registers.json``: name, width, lowest bit and aliases of all registers, in the order
    of :func:`register_table`; ``run(script)`` runs a yosys script in ``folder``."""
    (folder / "design.il").write_text(rtlil_text)
    run(_SCRIPT)
    nets = json.loads((folder / "names.json").read_text())["modules"]["top"]["netnames"]
    for name in ("design.il", "names.json"):
        (folder / name).unlink()
    bits: dict[tuple[str, int], int | str] = {}
    names: dict[int | str | None, list[tuple[str, int, int]]] = {}
    for name, net in nets.items():
        if net["hide_name"]:
            continue
        for index, bit in enumerate(net["bits"], net.get("offset", 0)):
            bits[name, index] = bit
            names.setdefault(bit, []).append((name, index, len(net["bits"])))
    rows = []
    for width, mangled, kind in _WIRE.findall(header):
        name, low = unmangle(mangled[2:]), 0
        if (part := _SLICE.fullmatch(name)) is not None:
            name, low = part[1], int(part[3] or part[2])
        # Names that yosys made belong to no signal of the design.
        own = [(name, low + k) for k in range(int(width))] if kind == "p" else []
        rows.append(
            [
                name,
                int(width),
                low,
                [names.get(bits.get(bit), []) for bit in own] or [[] for _ in range(int(width))],
            ]
        )
    (folder / "registers.json").write_text(json.dumps(rows))


def read_registers(path: Path) -> list[Register]:
    """Reads the :class:`Register` list of a file that :func:`write_registers` wrote."""
    return [
        Register(number, name, width, low, tuple(tuple(map(tuple, each)) for each in aliases))
        for number, (name, width, low, aliases) in enumerate(json.loads(path.read_text()))
    ]
