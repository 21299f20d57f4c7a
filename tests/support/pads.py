# SPDX-License-Identifier: BSD-2-Clause
"""Levels of a design's pads before the first clock, by its netlist after synthesis."""
import json
import subprocess

from quintet.tools.build.toolchain import find_tool


def netlist(board, design, folder):
    """The top module of ``design`` on ``board``'s platform, as yosys's JSON has it; ``folder`` is the working directory."""
    platform = board.platform_class()()
    type(platform).required_tools = ()
    platform.prepare(design, "top", do_build=False).extract(folder)
    subprocess.run([find_tool("yosys"), "-q", "top.ys"], cwd=folder, check=True, capture_output=True)
    return json.loads((folder / "top.json").read_text())["modules"]["top"]


def start_levels(module, family):
    """Pad -> its level before the first clock: ``"0"``, ``"1"``, ``"z"`` where it is released, ``"up"`` where it is then pulled up; ``"i"`` for inputs."""
    cells = list(module["cells"].values())
    drivers = {bit: cell for cell in cells for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output" for bit in bits}

    def state(bit):
        if bit in ("0", "1"):
            return bit
        cell = drivers[bit]
        assert cell["type"] == "TRELLIS_FF" and cell["attributes"]["syn_useioff"], "a pad's level comes from the register in its I/O cell"
        assert cell["parameters"]["GSR"] == "ENABLED"
        return {"SET": "1", "RESET": "0"}[cell["parameters"]["REGSET"]]

    def level(cell):
        c, p = cell["connections"], cell["parameters"]
        if family == "ecp5":
            if p["DIR"] == "INPUT":
                return "i"
            return "z" if "T" in c and state(c["T"][0]) == "1" else state(c["I"][0])
        kind = int(p["PIN_TYPE"], 2) >> 2
        if kind >> 2 == 0b11:
            # The enable's register starts low.
            return "up" if int(p.get("PULLUP", "0"), 2) else "z"
        if kind == 0:
            return "i"
        assert kind == 0b1010 and c["OUTPUT_ENABLE"] == ["1"], f"drives before the first clock: {cell}"
        return state(c["D_OUT_0"][0])
    pads = {c["connections"]["B" if family == "ecp5" else "PACKAGE_PIN"][0]: c for c in cells if c["type"] in ("TRELLIS_IO", "SB_IO")}
    found = {}
    for name, port in module["ports"].items():
        for n, bit in enumerate(port["bits"]):
            if bit in pads:
                found[f"{name.removesuffix('__io')}{n if len(port['bits']) > 1 else ''}"] = level(pads[bit])
    return found
