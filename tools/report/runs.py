# SPDX-License-Identifier: BSD-2-Clause
"""Report page of a job's run."""

from collections.abc import Mapping
from typing import Any

from ..jobs.report import time_text
from ..targets.ceilings import moved
from . import sections
from .page import Page, facts, text
from .roofline import Point

__all__ = ["run_page"]


def _point(name, kind, counters, ceilings):
    return Point(
        name,
        kind,
        counters.get("operations", 0),
        counters.get("cycles", 0),
        moved(counters, ceilings),
    )


def run_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of the output of ``quintet run --json``."""
    counters, ceilings = data["counters"], data.get("ceilings") or {}
    cycles, clock = counters.get("cycles"), ceilings.get("clock_hz") or data.get("clock_hz")
    timed = data.get("time_hz")
    page = Page(f"{data['isa']} on {data['target']}", f"a run that ended {data['status']}")
    page.add(
        "The run",
        _fault(data),
        *(text(note, "warning") for note in data.get("notes") or ()),
        facts(
            [
                ("end", data["status"]),
                ("core", data["isa"]),
                ("preset", data.get("preset")),
                ("board", data.get("board")),
                ("clock", f"{clock / 1e6:g} MHz" if clock else None),
                ("cycles", f"{cycles:,}" if cycles else None),
                ("time", time_text(cycles / timed) if cycles and timed else None),
                ("clock for times", data.get("clock_note") or None),
                *(
                    (f"right in {name}", f"{one['correct']:,} of {one['images']:,}")
                    for name, one in (data.get("recognised") or {}).items()
                ),
            ]
        ),
        ""
        if cycles
        else text(
            "This target counted no cycles: a golden model has none. On a virtual board or a "
            "board the page has a roofline and classes of cycles.",
            "soft",
        ),
    )
    roof, point = (
        sections.roof_of(data["isa"], ceilings),
        _point("the job", "job", counters, ceilings),
    )
    runs = data.get("runs") or []
    several = (
        [
            _point(f"{number}: {run['program']}", "program", run["counters"], ceilings)
            for number, run in enumerate(runs)
        ]
        if len(runs) > 1
        else []
    )
    page.add(
        "Roofline",
        sections.roofline(
            [(roof, [point, *several])],
            "Operations are the counter's: multiplications, or operations on elements.",
        )
        if cycles
        else "",
    )
    rows = sections.in_classes("the job", counters)
    for number, run in enumerate(runs if several else ()):
        rows += sections.in_classes(f"{number}: {run['program']}", run["counters"])
    page.add("Where the cycles went", sections.classes(rows))
    page.add(
        "Utilisation",
        sections.utilisation(
            roof,
            point if cycles else None,
            counters["work"] / cycles if cycles and "work" in counters else None,
        ),
    )
    page.add("Main memory", sections.memory(data.get("places"), data.get("memory_size")))
    page.add("Counters", sections.counters_table(counters))
    page.add("The build", sections.parameters(data.get("params")))
    return page


def _fault(data):
    fault = data.get("fault")
    if not fault:
        return ""
    place = (
        f", {fault['file']} line {fault['line']}"
        if fault.get("file") and fault.get("line") is not None
        else ""
    )
    return text(f"Core fault {fault['name']} at pc {fault['pc']:#x}{place}.", "warning")
