# SPDX-License-Identifier: BSD-2-Clause
"""Digest of a netlist's structure: its cells and their connections, independent of all names.

Two netlists of one digest are the same circuit for synthesis: a refactoring that moves logic
between modules, or gives it other names, keeps it.
"""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

from tests.support.formal import find_tool

__all__ = ["shape_digest"]

#: Without enables and resets that yosys finds, whose conditions it writes in the order of names.
_OPT = "opt -full -nodffe -nosdff"
_FLAT = (
    f"hierarchy -auto-top; proc; flatten; memory_collect; opt_clean -purge; {_OPT}; simplemap "
    f"t:$mux t:$*dff*; {_OPT}; opt_clean -purge; "
    "select A:top; write_json -selected flat.json"
)
#: Cells whose operands may change places.
_COMMUTATIVE = (
    "$add",
    "$and",
    "$eq",
    "$logic_and",
    "$logic_or",
    "$mul",
    "$ne",
    "$or",
    "$xnor",
    "$xor",
)
#: Cells whose operand's bits may; yosys has them in the order of their names.
_REDUCING = ("$reduce_and", "$reduce_bool", "$reduce_or", "$reduce_xnor", "$reduce_xor")


def shape_digest(text):
    """Hexadecimal digest of the structure of RTLIL ``text``: flattened and optimised by yosys,
    without names except those of the top level's ports."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "design.il").write_text(text)
        # The families' cells stay as they are; their libraries say which pins drive.
        read = (
            "read_verilog -lib +/ice40/cells_sim.v +/ecp5/cells_sim.v +/ecp5/cells_bb.v; "
            "read_rtlil design.il"
        )
        subprocess.run([find_tool("yosys"), "-q", "-p", f"{read}; {_FLAT}"], cwd=folder, check=True)
        modules = json.loads((Path(folder) / "flat.json").read_text())["modules"]
    (top,) = (
        module
        for module in modules.values()
        if module.get("cells") is not None and int(module["attributes"].get("top", "0"), 2)
    )
    return _digest(top)


def _hash(*what):
    return hashlib.blake2b(repr(what).encode(), digest_size=16).hexdigest()


def _digest(top):
    """Refines colours of cells by those of their drivers until no more cells are distinguished
    (after Weisfeiler and Leman)."""
    initial, drivers, cells = {}, {}, top["cells"]
    for net in top["netnames"].values():
        initial |= {
            bit: value
            for bit, value in zip(
                net["bits"], reversed(net["attributes"].get("init", "")), strict=False
            )
            if value in "01"
        }
    for name, port in top["ports"].items():
        if port["direction"] != "output":
            drivers |= {bit: ("port", name, k) for k, bit in enumerate(port["bits"])}
    inputs, fixed = {}, {}
    for name, cell in cells.items():
        driven = {
            port for port, direction in cell["port_directions"].items() if direction == "output"
        }
        drivers |= {
            bit: (name, port, k)
            for port in driven
            for k, bit in enumerate(cell["connections"][port])
        }
        inputs[name] = {
            port: bits for port, bits in sorted(cell["connections"].items()) if port not in driven
        }
        starts = [
            [initial.get(bit, "x") for bit in bits]
            for port, bits in sorted(cell["connections"].items())
            if port in driven
        ]
        fixed[name] = _hash(
            cell["type"],
            [item for item in sorted(cell["parameters"].items()) if item[0] != "MEMID"],
            starts,
        )
    colours = dict(fixed)

    def source(bit):
        name, *place = drivers.get(bit, (bit if isinstance(bit, str) else "nothing",))
        return colours.get(name, name), *place

    def colour(name):
        seen, kind = (
            {port: [source(bit) for bit in bits] for port, bits in inputs[name].items()},
            cells[name]["type"],
        )
        if kind in _COMMUTATIVE:
            seen = sorted(map(repr, seen.values()))
        elif kind in _REDUCING:
            seen = sorted(map(repr, seen["A"]))
        return _hash(fixed[name], seen)

    told = 0
    while told < (told := len({*colours.values()})):
        colours = {name: colour(name) for name in cells}
    results = {
        name: [source(bit) for bit in port["bits"]]
        for name, port in sorted(top["ports"].items())
        if port["direction"] == "output"
    }
    return _hash(sorted(colours.values()), results)
