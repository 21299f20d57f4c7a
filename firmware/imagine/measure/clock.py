# SPDX-License-Identifier: BSD-2-Clause
"""Clock of the core's array side, placed and routed alone between shift registers, without a
SoC."""

import json
import re
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from amaranth import Cat, ClockDomain, Module, ResetSignal, Signal
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....gateware.cores.imagine.engine.core import ArrayEngine
from ....gateware.cores.imagine.engine.dispatch import Dispatch
from ....gateware.cores.imagine.engine.mapping import Mapping
from ....gateware.processes import run_child
from ....tools.build.toolchain import find_tool, tool_environment

__all__ = ["Harness", "place_and_route"]

#: Bits of the results that one register of the tree of parities takes.
_PARITY = 4


class Harness(wiring.Component):
    """:class:`Dispatch` with a shift register at every input and a registered parity tree at the
    outputs.

    Members
    -------
    clk, rst, d : In(1); q : Out(1)
    """

    def __init__(self, *, mapping: Mapping, family: str | None) -> None:
        self.dispatch = Dispatch(mapping=mapping, family=family)
        super().__init__({"clk": In(1), "rst": In(1), "d": In(1), "q": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        reset = Signal()
        m.d.comb += [domain.clk.eq(self.clk), ResetSignal().eq(reset)]
        early = ClockDomain("early", reset_less=True)
        m.domains.early = early
        m.d.comb += early.clk.eq(self.clk)
        m.d.early += reset.eq(self.rst)
        m.submodules.dispatch = dispatch = self.dispatch
        inputs = [
            dispatch.words.payload,
            dispatch.words.valid,
            dispatch.items.ready,
            dispatch.space,
            dispatch.run,
            dispatch.stop,
            dispatch.allowance,
        ]
        count = sum(len(Cat(v)) for v in inputs)
        chain = Signal(count, reset_less=True)
        m.d.sync += chain.eq(Cat(self.d, chain[:-1]))
        at = 0
        for value in inputs:
            width = len(Cat(value))
            m.d.comb += Cat(value).eq(chain[at : at + width])
            at += width
        bits = Cat(
            dispatch.words.ready,
            dispatch.items.payload,
            dispatch.items.valid,
            dispatch.code,
            dispatch.count,
            dispatch.detail,
            dispatch.active,
            dispatch.event,
            dispatch.swept,
        )
        level = 0
        held = Signal(len(bits), name="seen", reset_less=True)
        m.d.sync += held.eq(bits)
        while len(held) > 1:
            parts = [held[k : k + _PARITY].xor() for k in range(0, len(held), _PARITY)]
            held = Signal(len(parts), name=f"parity_{level}", reset_less=True)
            m.d.sync += held.eq(Cat(parts))
            level += 1
        m.d.comb += self.q.eq(held)
        return m


def place_and_route(
    folder: str | Path,
    seed: int,
    asked: float,
    router: str = "router1",
    mapping: Mapping | None = None,
) -> tuple[float, dict[str, int], list[Any]]:
    """Synthesises (once per folder), places and routes eight blocks on an LFE5U-25F of speed 6. The
    default is router1, whose detours are shorter than router2's.

    Returns
    -------
    (MHz reached, cells by nextpnr's names, the longest path's steps)
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mapping = mapping or Mapping(4, 2, 16, 1024, "tdp")
    if not (folder / "clock.json").is_file():
        harness = Harness(mapping=mapping, family="ecp5")
        (folder / "clock.il").write_text(rtlil.convert(harness, name="clock"))
        apart = "\n".join(
            f"setattr -mod -set keep_hierarchy 1 *.{name}"
            for name in ArrayEngine.synth_apart["ecp5"]
        )
        (folder / "clock.ys").write_text(
            f"read_rtlil clock.il\nsetparam -set COLLISION_X_MASK 1'1 t:$memrd_v2 "
            f"r:MEMID=*_disjoint %i\n{apart}\n"
            "synth_ecp5 -top clock\nsetattr -mod -unset keep_hierarchy *\nflatten\nopt_clean "
            "-purge\nwrite_json clock.json\n"
        )
        _run(folder, [find_tool("yosys"), "-q", "-l", "clock.rpt", "clock.ys"])
    _run(
        folder,
        [
            find_tool("nextpnr-ecp5"),
            "--25k",
            "--package",
            "CABGA381",
            "--speed",
            "6",
            "--json",
            "clock.json",
            "--lpf-allow-unconstrained",
            "--freq",
            str(asked),
            "--seed",
            str(seed),
            "--router",
            router,
            "--placer-heap-timingweight",
            "50",
            "--timing-allow-fail",
            "--report",
            f"report-{seed}.json",
            "--log",
            f"clock-{seed}.tim",
            "-q",
        ],
    )
    reached = re.findall(
        r"Max frequency for clock\s+'[^']+':\s+([\d.]+) MHz",
        (folder / f"clock-{seed}.tim").read_text(),
    )
    report = json.loads((folder / f"report-{seed}.json").read_text())
    inner = [
        p["path"]
        for p in report["critical_paths"]
        if p["from"].startswith("posedge") and p["to"].startswith("posedge")
    ]
    return (
        float(reached[-1]),
        {k: v["used"] for k, v in report["utilization"].items() if v["used"]},
        inner[0],
    )


def _run(folder, command):
    run_child(command, cwd=folder, env=tool_environment("ecp5"), stdout=DEVNULL).check_returncode()
