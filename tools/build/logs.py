# SPDX-License-Identifier: BSD-2-Clause
"""Parser of the logs of yosys and nextpnr: clocks, cells, the longest path, and the reason for a
failure."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import QuintetError
from .crossings import crossings

__all__ = [
    "BuildError",
    "TooLargeError",
    "TITLES",
    "TOP",
    "figures",
    "last_word",
    "needed",
    "overused",
]

#: Name of the top module and of all files of a build.
TOP = "top"
#: Titles of the cells that the report counts.
TITLES = {
    "luts": "logic cells",
    "ffs": "flip-flops",
    "dsps": "DSPs",
    "brams": "block RAMs",
    "sprams": "single-port RAMs",
}
# Cells that the report counts, by nextpnr's names.
_CELLS = {
    "ecp5": {"luts": "TRELLIS_COMB", "ffs": "TRELLIS_FF", "dsps": "MULT18X18D", "brams": "DP16KD"},
    "ice40": {
        "luts": "ICESTORM_LC",
        "dsps": "ICESTORM_DSP",
        "brams": "ICESTORM_RAM",
        "sprams": "ICESTORM_SPRAM",
    },
}


class BuildError(QuintetError):
    """Error: a tool failed; the message is its last error line."""


class TooLargeError(BuildError):
    """Error: the design does not fit the FPGA; the message compares its demand with the FPGA's
    resources.

    Attributes
    ----------
    report : dict
        ``luts``, ``ffs``, ``dsps``, ``brams`` and what else the family has, as needed;
        ``available``, the same of the FPGA.
    """

    def __init__(self, figures: Mapping[str, Any]) -> None:
        self.report = figures
        lacks = [
            f"{figures[name]:,} of {there:,} {TITLES[name]}"
            for name, there in figures["available"].items()
            if there and figures[name] > there
        ]
        super().__init__(f"does not fit: needs {', '.join(lacks)}")


def overused(folder: Path) -> str:
    """Routing progress: overused wires in the last iteration of nextpnr's log."""
    log = folder / f"{TOP}.tim"
    found = (
        re.findall(r"iter=(\d+) wires=\d+ overused=(\d+)", log.read_text(errors="replace"))
        if log.is_file()
        else ()
    )
    return (
        f"; after {int(found[-1][0]):,} turns of routing {int(found[-1][1]):,} wires were overused"
        if found
        else ""
    )


def last_word(folder: Path) -> str:
    """The last error line of the newest log that contains any."""
    logs = [
        p
        for p in (folder / f"{TOP}.tim", folder / f"{TOP}.rpt", folder / "build.log")
        if p.is_file()
    ]
    for log in sorted(logs, key=lambda p: p.stat().st_mtime, reverse=True):
        lines = [
            line.strip() for line in log.read_text(errors="replace").splitlines() if "ERROR" in line
        ]
        if lines:
            return lines[-1]
    return "the tools did not say why"


def needed(family: str, folder: Path) -> dict[str, Any] | None:
    """Comparison of the netlist's cells with the FPGA's, from nextpnr's packer; ``None`` if they
    fit."""
    log = folder / f"{TOP}.tim"
    text = log.read_text(errors="replace") if log.is_file() else ""
    used = {
        name: (int(needs), int(has))
        for name, needs, has in re.findall(r"Info:\s+(\w+):\s+(\d+)/\s*(\d+)", text)
    }
    found = {name: used.get(cell, (0, 0)) for name, cell in _CELLS[family].items()}
    if family == "ice40":
        found["ffs"] = _ice40_flip_flops(text), 0
    if all(needs <= has for name, (needs, has) in found.items() if has):
        return None
    return {
        **{name: needs for name, (needs, _) in found.items()},
        "available": {name: has for name, (_, has) in found.items()},
    }


def _ice40_flip_flops(log):
    """Number of logic cells that use their flip-flop, from nextpnr's packer; an iCE40 logic cell is
    a LUT and a flip-flop."""
    return sum(int(n) for n in re.findall(r"(\d+) LCs used as (?:LUT4 and DFF|DFF only)", log))


def _clocks(log):
    """Clock frequencies after routing, clock -> (requested, reached) in MHz: nextpnr's last report
    of each."""
    found = {}
    for name, reached, asked in re.findall(
        r"Max frequency for clock\s+'([^']+)':\s+([\d.]+) MHz \((?:PASS|FAIL) at ([\d.]+) MHz\)",
        log,
    ):
        found[name] = {"asked_mhz": float(asked), "reached_mhz": float(reached)}
    return found


def _critical_path(paths):
    """The longest path between registers: its ends, nanoseconds of logic and of routing, and its
    number of logic cells."""
    inner = [p for p in paths if p["from"].startswith("posedge") and p["to"].startswith("posedge")]
    if not inner:
        return None
    steps = max(inner, key=lambda p: sum(step["delay"] for step in p["path"]))["path"]
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    return {
        "from": steps[0]["from"]["cell"],
        "to": steps[-1]["to"]["cell"],
        "routing_ns": round(routing, 2),
        "logic_ns": round(sum(step["delay"] for step in steps) - routing, 2),
        "steps": sum(step["type"] == "logic" for step in steps),
    }


def _names(clocks, ours):
    """Maps clock nets to clock names. A netlist names a clock after any module that uses it, so
    clocks are identified by their requested frequency. If several are equal, the slowest is taken,
    since the memory chip's clock of the same frequency drives little logic."""
    names, rest = {}, dict(clocks)
    for name, hz in ours.items():
        if rest:
            found = min(
                rest,
                key=lambda n: (
                    round(abs(rest[n]["asked_mhz"] - hz / 1e6) / (hz / 1e6), 2),
                    rest[n]["reached_mhz"],
                ),
            )
            names[found] = name
            del rest[found]
    return {**names, **{net: net.removeprefix("$glbnet$") for net in rest}}


def figures(
    family: str, folder: Path, clock_hz: float, domains: Mapping[str, float]
) -> dict[str, Any]:
    """Figures of a finished build for the report: clocks, cells, the longest path; ``domains``:
    further clocks -> Hz."""
    try:
        report = json.loads((folder / f"{TOP}.report.json").read_text())
    except (OSError, ValueError):
        raise BuildError(f"nextpnr wrote no report; see {folder}") from None
    used = report["utilization"]
    log = (folder / f"{TOP}.tim").read_text(errors="replace")
    clocks = _clocks(log)
    if not clocks:
        raise BuildError(f"nextpnr reported no clock; see {folder / f'{TOP}.tim'}")
    names = _names(clocks, {"main": clock_hz, **domains})
    clocks = {name: clocks[net] for net, name in names.items()}
    main = clocks["main"]
    cells = {name: used.get(cell, {}).get("used", 0) for name, cell in _CELLS[family].items()}
    available = {
        name: used.get(cell, {}).get("available", 0) for name, cell in _CELLS[family].items()
    }
    if family == "ice40":
        cells["ffs"] = _ice40_flip_flops(log)
    return {
        "clock_reached_mhz": main["reached_mhz"],
        "clock_met": main["reached_mhz"] >= clock_hz / 1e6
        and all(clocks[name]["reached_mhz"] >= clocks[name]["asked_mhz"] for name in domains),
        "clocks": clocks,
        "crossings": crossings(
            log, {net.removeprefix("$glbnet$"): name for net, name in names.items()}
        ),
        "critical_path": _critical_path(report["critical_paths"]),
        **{name: cells.get(name, 0) for name in ("luts", "ffs", "dsps", "brams")},
        **{name: value for name, value in cells.items() if name == "sprams"},
        "available": available,
    }
