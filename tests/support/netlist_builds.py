# SPDX-License-Identifier: BSD-2-Clause
"""Build folders that end with synthesis, sufficient for a check of the netlist, without place and
route."""

import json

from quintet.tools.build import bitstream
from quintet.tools.build.logs import TOP
from quintet.tools.build.toolchain import find_tool, run_tool
from quintet.tools.netlist.ecp5 import read_ecp5
from quintet.tools.netlist.ice40 import read_ice40
from quintet.tools.netlist.simulation import NetlistSimulation

__all__ = ["Pins", "synthesised"]


def synthesised(folder, board, isa=None, preset=None, sdram_rate=None, **options):
    """Synthesises a SoC as a build does into ``folder`` (below the working directory), with the
    report that a finished one would have; returns ``folder``. ``options``: ``run_list``,
    ``boot``."""
    from quintet.boards import open_board
    from quintet.gateware.cores import open_core

    board = open_board(board).with_sdram_rate(sdram_rate)
    soc, top = bitstream.prepare(board, open_core(isa) if isa else None, preset, **options)
    bitstream.build_plan(board, soc, top).extract(folder)
    run_tool(folder, [find_tool("yosys"), "-q", "-l", f"{TOP}.rpt", f"{TOP}.ys"])
    report = {
        "board": board.name,
        "isa": isa,
        "link": soc.link["kind"],
        "preset": soc.preset,
        "params": soc.params,
        "clock_asked_mhz": round(soc.clocking.asked_hz / 1e6, 3),
        "clock_real_mhz": round(soc.clock_hz / 1e6, 6),
        "memory": soc.memory_info,
        "bitstream": None,
        **options,
    }
    if soc.clocking.sdram is not None:
        report["sdram"] = soc.clocking.sdram.report
    (folder / "report.json").write_text(json.dumps(report))
    return folder


class Pins:
    """Netlist of a small component with access by its ports: synthesised, packed, read and
    simulated.

    Parameters
    ----------
    folder : Path, below the working directory
    component : Amaranth component whose main clock is ``clk``
    family : ``"ecp5"`` or ``"ice40"``
    sites : dict, bit of a port as nextpnr writes it -> pin of an ECP5 in CABGA756; only such pads
        can have double-rate cells
    """

    def __init__(self, folder, component, family, sites=None):
        bitstream.synthesise(component, family, folder, name=TOP)
        path = folder / f"{TOP}.json"
        if family == "ecp5":
            path = folder / f"{TOP}.packed.json"
            (folder / f"{TOP}.lpf").write_text(
                "".join(
                    f'LOCATE COMP "{bit}" SITE "{site}";\n' for bit, site in (sites or {}).items()
                )
            )
            run_tool(
                folder,
                [
                    find_tool("nextpnr-ecp5"),
                    "--85k",
                    "--package",
                    "CABGA756",
                    "--json",
                    f"{TOP}.json",
                    "--lpf",
                    f"{TOP}.lpf",
                    "--lpf-allow-unconstrained",
                    "--pack-only",
                    "--write",
                    path.name,
                ],
            )
        self.netlist = (read_ecp5 if family == "ecp5" else read_ice40)(path)
        self.simulation = NetlistSimulation(self.netlist)
        self.simulation.finish()

    def set(self, name, value):
        for bit, pad in enumerate(self.netlist.pads[name]):
            if pad is not None and pad.sees > 1:
                self.simulation.set(pad.sees, value >> bit & 1)

    def get(self, name):
        return sum(
            self.simulation.get(pad.drives) << bit
            for bit, pad in enumerate(self.netlist.pads[name])
        )

    def tick(self):
        """Simulates a rising clock edge, and the falling one after it."""
        self.set("clk", 1)
        self.set("clk", 0)
