# SPDX-License-Identifier: BSD-2-Clause
"""Levels of a design's pads before the first clock, from its netlist after synthesis."""

import json
import subprocess

from quintet.tools.build.toolchain import find_tool


def netlist(board, design, folder):
    """Top module of ``design`` on ``board``'s platform, from yosys's JSON; ``folder`` is the
    working directory."""
    platform = board.platform_class()()
    type(platform).required_tools = ()
    platform.prepare(design, "top", do_build=False).extract(folder)
    subprocess.run(
        [find_tool("yosys"), "-q", "top.ys"], cwd=folder, check=True, capture_output=True
    )
    return json.loads((folder / "top.json").read_text())["modules"]["top"]


def start_levels(module, family):
    """Levels of the pads before the first clock: pad -> ``"0"``, ``"1"``, ``"z"`` if released,
    ``"up"`` if released with a pull-up; ``"i"`` for inputs."""
    cells = list(module["cells"].values())
    drivers = {
        bit: cell
        for cell in cells
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
        for bit in bits
    }

    def state(bit):
        if bit in ("0", "1"):
            return bit
        cell = drivers[bit]
        if cell["type"] == "ODDRX1F":
            return "0"
        assert cell["type"] == "TRELLIS_FF" and cell["attributes"]["syn_useioff"], (
            "a pad's level comes from the register in its I/O cell"
        )
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
        assert kind == 0b1010 and c["OUTPUT_ENABLE"] == ["1"], (
            f"drives before the first clock: {cell}"
        )
        return state(c["D_OUT_0"][0])

    pads = {
        c["connections"]["B" if family == "ecp5" else "PACKAGE_PIN"][0]: c
        for c in cells
        if c["type"] in ("TRELLIS_IO", "SB_IO")
    }
    found = {}
    for name, port in module["ports"].items():
        for n, bit in enumerate(port["bits"]):
            if bit in pads:
                found[f"{name.removesuffix('__io')}{n if len(port['bits']) > 1 else ''}"] = level(
                    pads[bit]
                )
    return found


class PadSimulation:
    """Simulation of a netlist with one clock: LUTs, flip-flops and I/O cells by the chips'
    libraries, two-state.

    Double-rate cells of an ECP5 are as in the vendor's simulation models: three stages out, and in,
    the levels at a rising edge and at the falling edge behind it, at the next rising edge.
    :attr:`outside` holds a level for each pad, or a pair of them, one for the end of each half.

    Parameters
    ----------
    module : dict, as of :func:`netlist`
    family : "ecp5" or "ice40"
    """

    def __init__(self, module, family):
        self.ports, self._names = module["ports"], module["netnames"]
        cells = list(module["cells"].values())
        self._luts, self._flops, self.pads, self.outside = {}, [], {}, {}
        self._state = {}  # net -> level of what registers drive
        # pad -> levels of its output registers: data, data of the second half, enable
        self._pad_state = {}
        # Of double-rate cells: net of the output -> inputs and stages; inputs and the last level at
        # a rising edge.
        self._double_outputs, self._double_inputs = {}, []
        for cell in cells:
            c, p, kind = cell["connections"], cell["parameters"], cell["type"]
            if kind in ("LUT4", "SB_LUT4"):
                pins, out, init = (
                    ("ABCD", "Z", "INIT")
                    if kind == "LUT4"
                    else (("I0", "I1", "I2", "I3"), "O", "LUT_INIT")
                )
                self._luts[c[out][0]] = int(p[init], 2), [c[pin][0] for pin in pins]
            elif kind in ("TRELLIS_FF", "SB_DFF"):
                assert (
                    kind == "SB_DFF" or c.get("LSR", ["0"]) == ["0"] and c.get("CE", ["1"]) == ["1"]
                ), "a reset or an enable"
                self._flops.append((c["DI" if kind == "TRELLIS_FF" else "D"][0], c["Q"][0]))
                self._state[c["Q"][0]] = int(p.get("REGSET") == "SET")
            elif kind in ("TRELLIS_IO", "SB_IO"):
                pad = c["B" if kind == "TRELLIS_IO" else "PACKAGE_PIN"][0]
                self.pads[pad] = cell
                self.outside[pad], self._pad_state[pad] = 0, (0, 0, 0)
                if kind == "SB_IO" and "D_IN_0" in c:
                    self._state[c["D_IN_0"][0]] = 0
            elif kind == "ODDRX1F":
                assert c["RST"] == ["0"]
                self._double_outputs[c["Q"][0]] = [c["D0"][0], c["D1"][0]], [(0, 0)] * 3
            elif kind == "IDDRX1F":
                assert c["RST"] == ["0"]
                outputs = c["Q0"][0], c["Q1"][0]
                self._double_inputs.append([c["D"][0], outputs, 0])
                self._state |= dict.fromkeys(outputs, 0)
            else:
                assert kind in ("SB_GB", "SB_GB_IO", "DCCA", "$scopeinfo"), (
                    f"a cell that is not known: {kind}"
                )

    def bits(self, name):
        """Nets of a port or a signal of the design."""
        return (self.ports.get(name) or self._names[name])["bits"]

    def net(self, bit):
        """Present level of a net."""
        if bit in ("0", "1", "x"):
            return int(bit == "1")
        if bit in self._state:
            return self._state[bit]
        if bit in self._luts:
            init, pins = self._luts[bit]
            return init >> sum(self.net(pin) << n for n, pin in enumerate(pins)) & 1
        pad = next(pad for pad, cell in self.pads.items() if cell["connections"].get("O") == [bit])
        return self.pad(pad)[0]

    def number(self, name):
        """Present value of a signal of the design."""
        return sum(self.net(bit) << n for n, bit in enumerate(self.bits(name)))

    def pad(self, pad, half=0):
        """State of a pad in a half of the cycle, ``(level, whether the FPGA drives it)``;
        :attr:`outside` drives pads that the FPGA does not."""
        cell = self.pads[pad]
        c, p = cell["connections"], cell["parameters"]
        if cell["type"] == "TRELLIS_IO":
            drives = p["DIR"] != "INPUT" and not ("T" in c and self.net(c["T"][0]))
            if drives and c["I"][0] in self._double_outputs:
                return self._double_outputs[c["I"][0]][1][-1][half], drives
            outside = self.outside[pad]
            if isinstance(outside, tuple):
                outside = outside[half]
            return (self.net(c["I"][0]) if drives else outside), drives
        kind, (first, second, enable) = int(p["PIN_TYPE"], 2) >> 2, self._pad_state[pad]
        if kind == 0b1010:
            return self.net(c["D_OUT_0"][0]), bool(self.net(c["OUTPUT_ENABLE"][0]))
        assert kind in (0b1101, 0b1100, 0)
        drives = bool(kind and enable)
        return (second if kind == 0b1100 and half else first) if drives else self.outside[
            pad
        ], drives

    def clock(self):
        """Simulates a rising edge, and the falling one after it."""
        state = {q: self.net(d) for d, q in self._flops}
        for each in self._double_inputs:
            bit, outputs, rising = each
            pad = next(
                pad for pad, cell in self.pads.items() if cell["connections"].get("O") == [bit]
            )
            state |= zip(outputs, (rising, self.pad(pad, 0)[0]), strict=True)
            each[2] = self.pad(pad, 1)[0]
        outputs = {
            q: (inputs, [tuple(map(self.net, inputs)), *stages[:-1]])
            for q, (inputs, stages) in self._double_outputs.items()
        }
        pads = {}
        for pad, cell in self.pads.items():
            c = cell["connections"]
            if cell["type"] == "SB_IO" and int(cell["parameters"]["PIN_TYPE"], 2) >> 4 == 0b11:
                pads[pad] = (
                    self.net(c["D_OUT_0"][0]),
                    self._pad_state[pad][1],
                    self.net(c["OUTPUT_ENABLE"][0]),
                )
                if c.get("D_IN_0"):
                    state[c["D_IN_0"][0]] = self.pad(pad, 1)[0]
        self._state |= state
        self._double_outputs = outputs
        self._pad_state |= pads
        for pad, (first, _, enable) in pads.items():
            c = self.pads[pad]["connections"]
            if int(self.pads[pad]["parameters"]["PIN_TYPE"], 2) >> 2 == 0b1100:
                self._pad_state[pad] = first, self.net(c["D_OUT_1"][0]), enable
