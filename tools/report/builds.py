# SPDX-License-Identifier: BSD-2-Clause
"""Report pages of bitstreams: one build, and a matrix of builds."""

import re
from collections.abc import Mapping
from typing import Any

from ..build.logs import TITLES
from . import charts, sections
from .page import Page, Wrong, chart, facts, table, text
from .roofline import describe

__all__ = ["build_page", "matrix_page"]

#: Rows of a bar chart, at most; the table has all.
_MOST_BARS = 80
#: Endings that yosys and nextpnr add to the name of a signal for the cells around it.
_CELL = re.compile(
    r"(_(SB_|TRELLIS_|LUT4|PFUMX|L6MUX|CCU2C|DP16KD|MULT18X18D|COMB|FF).*|_LC|_DFF|(\.\d+)*_RAM)$"
)


def build_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of a build's report."""
    clocks, isa = data.get("clocks") or {}, data.get("isa") or "no core"
    page = Page(
        f"{isa} on {data['board']}",
        "a bitstream" if clocks else "a design that was not placed: the FPGA is too small",
    )
    page.add(
        "The build",
        facts(
            [
                ("board", data["board"]),
                ("core", isa),
                ("preset", data.get("preset")),
                ("seed", data["seed"]),
                ("asked", _mhz(data.get("clock_asked_mhz"))),
                ("reached", _mhz(data.get("clock_reached_mhz"))),
                ("took", f"{data['seconds']:,.0f} s" if data.get("seconds") is not None else None),
                ("bitstream", data.get("bitstream")),
            ]
        ),
    )
    page.add(
        "Clocks",
        _clocks(clocks),
        text(_path(data["critical_path"])) if data.get("critical_path") else "",
    )
    page.add(
        "Paths between clocks",
        table(
            ("from", "to", ">longest, ns", ">allowed, ns", ">margin, ns", ""),
            [
                (
                    one["from"],
                    one["to"],
                    f"{one['delay_ns']:.2f}",
                    "unknown" if one.get("limit_ns") is None else f"{one['limit_ns']:.2f}",
                    ""
                    if one.get("limit_ns") is None
                    else f"{one['limit_ns'] - one['delay_ns']:.2f}",
                    "" if one["met"] else Wrong("too long"),
                )
                for one in data.get("crossings") or ()
            ],
        ),
    )
    page.add("Memory chip", _sdram(data.get("sdram") or {}))
    page.add("Area", *_utilisation(data))
    page.add("Area by unit", *_units(data.get("area") or []))
    page.add("Roofline", *_roof(data, isa))
    page.add("Parameters", sections.parameters(data.get("params")))
    return page


def _mhz(value):
    return None if value is None else f"{value:.2f} MHz"


def _clocks(clocks):
    return table(
        ("clock", ">asked, MHz", ">reached, MHz", ">margin", ""),
        [
            (
                name,
                f"{one['asked_mhz']:.2f}",
                f"{one['reached_mhz']:.2f}",
                f"{100 * (one['reached_mhz'] / one['asked_mhz'] - 1):+.1f} %"
                if one["asked_mhz"]
                else "",
                "" if one["reached_mhz"] >= one["asked_mhz"] else Wrong("not reached"),
            )
            for name, one in clocks.items()
        ],
    )


def _path(path):
    """Describes the longest path."""
    whole = path["logic_ns"] + path["routing_ns"]
    steps = f"through {path['steps']} cells of logic, " if path.get("steps") else ""
    ends = [_CELL.sub("", path[end]).removeprefix("soc.") for end in ("from", "to")]
    return (
        f"The longest path leaves {ends[0]} and ends in {ends[1]}: {steps}{whole:.2f} ns in "
        f"all, {path['logic_ns']:.2f} ns in cells and {path['routing_ns']:.2f} ns on wires "
        f"({100 * path['routing_ns'] / whole if whole else 0:.0f} %)."
    )


def _sdram(chip):
    """Timing margins of the memory chip's lines, in nanoseconds."""
    kinds = [
        (f"{kind} {time}", chip.get(f"{kind}_{time}_ns"))
        for kind in ("write", "read")
        for time in ("setup", "hold")
    ]
    rows = [
        (what, f"{value:.2f}" if value >= 0 else Wrong(f"{value:.2f}"))
        for what, value in kinds
        if type(value) in (int, float)
    ]
    phase = chip.get("phase_degrees")
    return (
        table(("margin", ">ns"), rows)
        + (
            text(f"Its clock stands {phase:.1f} degrees behind.", "soft")
            if type(phase) in (int, float)
            else ""
        )
        if rows
        else ""
    )


def _utilisation(data):
    available = data.get("available") or {}
    rows = [
        (title, data[name], available.get(name) or 0)
        for name, title in TITLES.items()
        if data.get(name) is not None
    ]
    drawn = [
        {"name": title, "value": used / of, "shown": f"{used:,} of {of:,}"}
        for title, used, of in rows
        if of
    ]
    yield (
        chart(charts.bars(drawn, "of the FPGA", "Share of the FPGA's resources", ".0%"))
        if drawn
        else ""
    )
    yield table(
        ("resource", ">used", ">of", ">share"),
        [
            (
                title,
                f"{used:,}",
                f"{of:,}" if of else "",
                ""
                if not of
                else Wrong(f"{100 * used / of:.0f} %")
                if used > of
                else f"{100 * used / of:.0f} %",
            )
            for title, used, of in rows
        ],
    )


def _units(rows):
    if not rows:
        return
    total = sum(row["luts"] for row in rows) or 1
    drawn = [
        {
            "name": row["unit"],
            "value": row["luts"],
            "shown": f"{row['luts']:,}, {100 * row['luts'] / total:.1f} %",
        }
        for row in rows
        if row["luts"]
    ][:_MOST_BARS]
    yield chart(charts.bars(drawn, "logic cells", "Logic cells of every unit")) if drawn else ""
    yield text(
        "By the netlist, before packing. A cell counts with the module that it is named after, "
        "which may be the neighbour of the one that it came from.",
        "soft",
    )
    names = [name for name in TITLES if any(row.get(name) for row in rows)]
    yield table(
        ("unit", *(f">{TITLES[name]}" for name in names)),
        [(row["unit"], *(f"{row.get(name, 0):,}" for name in names)) for row in rows],
    )


def _roof(data, isa):
    roof = sections.roof_of(isa, data.get("ceilings"))
    if roof is None:
        return
    asked, reached = data["ceilings"].get("clock_hz"), data.get("clock_reached_mhz")
    # The ceilings' clock is the one requested; a core's own runs with the main one.
    clock = (
        asked * min(1, reached / data["clock_asked_mhz"])
        if asked and reached and data.get("clock_asked_mhz")
        else asked
    )
    if clock:
        moved = f", {roof.bytes * clock / 1e6:,.4g} MB/s" if roof.bytes else ""
        yield text(
            f"At {clock / 1e6:.4g} MHz that is {roof.macs * clock / 1e9:,.4g} thousand million "
            f"MACs a second{moved}."
        )
    yield sections.roofline([(roof, [])], "") if roof.bytes else text(describe(roof))


def matrix_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of a matrix of builds."""
    cells = data["cells"]
    states: dict[str, int] = {}
    for cell in cells:
        state = cell["state"].partition(":")[0]
        states[state] = states.get(state, 0) + 1
    page = Page(
        "matrix of builds",
        f"{len(cells):,} builds of {len({cell['board'] for cell in cells}):,} boards and "
        f"{len({cell['isa'] for cell in cells}):,} cores",
    )
    page.add(
        "All builds",
        facts([(state, f"{count:,}") for state, count in sorted(states.items())]),
        table(
            (
                "board",
                "core",
                "preset",
                ">seed",
                ">asked, MHz",
                ">reached, MHz",
                ">logic cells",
                ">flip-flops",
                ">DSPs",
                ">block RAMs",
                ">seconds",
                "state",
            ),
            [_row(cell) for cell in cells],
        ),
    )
    clocked = [cell for cell in cells if cell.get("clock_reached_mhz")]
    drawn = [
        {
            "name": _name(cell),
            "value": cell["clock_reached_mhz"],
            "mark": cell.get("clock_asked_mhz"),
            "shown": f"{cell['clock_reached_mhz']:.1f} MHz",
        }
        for cell in clocked
    ]
    page.add(
        "Clocks",
        chart(
            charts.bars(drawn[:_MOST_BARS], "MHz reached", "Clock of every build", mark="MHz asked")
        )
        if drawn
        else "",
        _cut(drawn),
    )
    full = [
        {
            "name": _name(cell),
            "value": cell["luts"] / cell["available"]["luts"],
            "shown": f"{cell['luts']:,} of {cell['available']['luts']:,}",
        }
        for cell in cells
        if cell.get("luts") and (cell.get("available") or {}).get("luts")
    ]
    page.add(
        "Share of the FPGA's logic cells",
        chart(
            charts.bars(
                full[:_MOST_BARS], "of the FPGA", "Share of the logic cells of every build", ".0%"
            )
        )
        if full
        else "",
        _cut(full),
    )
    return page


def _cut(rows):
    return (
        text(f"The first {_MOST_BARS} of {len(rows):,}.", "soft") if len(rows) > _MOST_BARS else ""
    )


def _name(cell):
    return f"{cell['board']} {cell['isa']} {cell['preset']} {cell['seed']}"


def _row(cell):
    def shown(name, form):
        return "" if cell.get(name) is None else format(cell[name], form)

    state = cell["state"] if cell["state"] == "built" else Wrong(cell["state"])
    return (
        cell["board"],
        cell["isa"],
        cell["preset"],
        cell["seed"],
        shown("clock_asked_mhz", ".1f"),
        shown("clock_reached_mhz", ".1f"),
        shown("luts", ","),
        shown("ffs", ","),
        shown("dsps", ","),
        shown("brams", ","),
        shown("seconds", ",.0f"),
        state,
    )
