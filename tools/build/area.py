# SPDX-License-Identifier: BSD-2-Clause
"""Cells of a build by unit. Synthesis by yosys flattens the design, but names each cell after the
module that it comes from."""

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["area", "unit_of"]

#: Cell of a netlist -> what it counts as, and how often; others are wires, pads and what is packed
#: with these.
_CELLS = {
    "LUT4": ("luts", 1),
    "CCU2C": ("luts", 2),
    "TRELLIS_DPR16X4": ("luts", 6),
    "TRELLIS_FF": ("ffs", 1),
    "MULT18X18D": ("dsps", 1),
    "DP16KD": ("brams", 1),
    "PDPW16KD": ("brams", 1),
    "SB_LUT4": ("luts", 1),
    "SB_MAC16": ("dsps", 1),
    "SB_RAM40_4K": ("brams", 1),
    "SB_SPRAM256KA": ("sprams", 1),
}
_NAME, _TYPE = re.compile(r'^        "(.+)": \{$'), re.compile(r'^          "type": "(.+)",?$')
#: What yosys leaves where a module was.
_SCOPE = "$scopeinfo"


def unit_of(name: str) -> str:
    """Unit to which a module path belongs: units of the engine and of the core are separate; the
    rest of the SoC is divided by its submodules."""
    parts = name.removeprefix("soc.").split(".")
    depth = 3 if parts[:2] == ["core", "engine"] else 2 if parts[0] == "core" else 1
    return ".".join(parts[:depth])


def _kind(cell):
    return ("ffs", 1) if cell.startswith("SB_DFF") else _CELLS.get(cell)


def area(path: str | Path) -> list[dict[str, Any]]:
    """Rows of ``unit``, ``luts``, ``ffs``, ``dsps``, ``brams``, ``sprams`` (logic cells and the
    others, before packing), largest first; empty without a netlist. A cell counts for the module at
    the start of its name, which may be a neighbour of the module that it came from.

    Parameters
    ----------
    path : the netlist that yosys wrote as JSON; it is read line by line,
        since those of large designs have some hundred megabytes
    """
    if not Path(path).is_file():
        return []
    name, cells, scopes = None, [], set()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if found := _NAME.match(line):
                name = found[1]
            elif (found := _TYPE.match(line)) and name is not None:
                if found[1] == _SCOPE:
                    scopes.add(json.loads(f'"{name}"'))
                elif (kind := _kind(found[1])) is not None:
                    cells.append((json.loads(f'"{name}"'), *kind))
    totals: dict[str, dict[str, int]] = {}
    for cell, kind, count in cells:
        row = totals.setdefault(
            unit_of(_scope(cell, scopes)),
            dict.fromkeys(("luts", "ffs", "dsps", "brams", "sprams"), 0),
        )
        row[kind] += count
    return sorted(
        ({"unit": unit, **row} for unit, row in totals.items()),
        key=lambda row: (-row["luts"], -row["ffs"], row["unit"]),
    )


def _scope(cell, scopes):
    """The longest module path that is a prefix of the name ``cell``."""
    parts = cell.split(".")
    for length in range(len(parts), 0, -1):
        if (path := ".".join(parts[:length])) in scopes:
            return path
    return "others"
