# SPDX-License-Identifier: BSD-2-Clause
"""Sections that pages of runs, networks and builds share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..jobs.report import STALLS
from . import charts
from .page import chart, table, text
from .roofline import Point, Roof, above, describe, roof_lines, uncounted

__all__ = [
    "classes",
    "counters_table",
    "in_classes",
    "memory",
    "parameters",
    "roof_of",
    "roofline",
    "size_text",
    "utilisation",
]

_MEANINGS = {"work": "the compute unit worked", **dict(STALLS)}
#: Most points of a roofline that the picture names; tooltips show the names of the others.
_NAMED = 12


def size_text(size: float) -> str:
    """Formats a size in bytes with its unit: ``1.5 MiB``."""
    for scale, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= scale:
            return f"{size / scale:,.4g} {unit}"
    return f"{size:,} bytes"


def roof_of(name: str, ceilings: Mapping[str, Any] | None) -> Roof | None:
    """The :class:`~.roofline.Roof` of a build's ``ceilings``, or ``None`` if they are unknown."""
    return (
        None
        if not ceilings or not ceilings.get("macs")
        else Roof(
            name,
            ceilings["macs"],
            ceilings.get("bytes") or None,
            ceilings.get("uncounted") or "",
            ceilings.get("on_chip_bytes"),
        )
    )


def roofline(pairs: Iterable[tuple[Roof | None, Iterable[Point]]], said: str = "") -> str:
    """Section with a roofline chart of pairs (Roof, its points) and sentences on the first point of
    each; ``said`` comes first."""
    shown = [
        (roof, [point for point in points if point.shown])
        for roof, points in pairs
        if roof is not None
    ]
    if not shown:
        return text("What bounds this build is not known: the result has no ceilings.", "soft")
    one = len(shown) == 1
    words = (
        describe(shown[0][0], next(iter(shown[0][1]), None))
        if one
        else "What each build can do at most, and what it did."
    )
    rows: list[dict[str, Any]] = [
        {
            "build": roof.name,
            "name": point.name,
            "kind": point.kind,
            "x": point.intensity,
            "y": point.rate,
            "macs": f"{point.macs:,.0f}",
            "cycles": f"{point.cycles:,.0f}",
            "bytes": f"{point.bytes:,.0f}",
            "rate": f"{point.rate:,.3g}",
            "intensity": f"{point.intensity:,.3g}",
            "share": f"{100 * point.share(roof):.0f} %",
        }
        for roof, points in shown
        for point in reversed(points)
    ]
    rows = [
        {
            **row,
            "label": (row["name"].split(" + ")[-1] if one else row["build"])
            if len(rows) <= _NAMED
            else "",
        }
        for row in rows
    ]
    lines = roof_lines(
        [roof for roof, _ in shown], [point for _, points in shown for point in points]
    )
    high = " ".join(filter(None, (above(roof, points) for roof, points in shown)))
    return (
        text(said)
        + text(words)
        + text(high, "soft")
        + chart(charts.roofline(lines, rows, f"Roofline: {words}"))
        + ("" if one else _roofs(shown))
    )


def _both(value, on_chip):
    """A figure of main memory, and that of its part on chip if there is one."""
    said = "" if value is None else f"{value:,.3g}"
    return said if on_chip is None else f"{said}, on chip {on_chip:,.3g}"


def _roofs(pairs):
    """Table of several roofs and the first point of each."""
    rows = []
    for roof, points in pairs:
        point = points[0] if points else None
        did = (
            ("", "", "")
            if point is None
            else (
                f"{point.rate:,.3g}",
                f"{point.intensity:,.3g}",
                f"{100 * point.share(roof):.0f} %",
            )
        )
        rows.append(
            (
                roof.name,
                f"{roof.macs:,.4g}",
                _both(roof.bytes, roof.on_chip),
                _both(roof.ridge, roof.near_ridge),
                *did,
                "" if point is None else roof.bound(point),
            )
        )
    said = "".join(
        text(f"{roof.name}: {uncounted(roof)}", "soft") for roof, _ in pairs if roof.uncounted
    )
    return said + table(
        (
            "build",
            ">MACs a cycle, at most",
            ">bytes a cycle, at most",
            ">balanced at MACs a byte",
            ">did MACs a cycle",
            ">at MACs a byte",
            ">of what is possible there",
            "bound by",
        ),
        rows,
    )


def in_classes(name: str, counters: Mapping[str, float]) -> list[dict[str, Any]]:
    """Rows of :func:`~.charts.classes`: the cycles of ``name`` by class; empty if they were not
    counted."""
    found = {key: counters[key] for key in charts.CLASSES if counters.get(key, 0) > 0}
    total = sum(found.values())
    return (
        [
            {"name": name, "class": charts.CLASSES[key], "cycles": cycles, "share": cycles / total}
            for key, cycles in found.items()
        ]
        if "work" in counters
        else []
    )


def classes(rows: Sequence[Mapping[str, Any]]) -> str:
    """Section with bars of cycles by class, from rows of :func:`in_classes`, and an explanation of
    the classes."""
    if not rows:
        return ""
    known = "; ".join(f"{shown}: {_MEANINGS[key]}" for key, shown in charts.CLASSES.items())
    return chart(charts.classes(rows, "Cycles by class")) + text(
        f"Every cycle is in one class. {known}.", "soft"
    )


def counters_table(counters: Mapping[str, float], meanings: Mapping[str, str] | None = None) -> str:
    """Table of counters and their shares of the cycles."""
    cycles, meanings = counters.get("cycles"), meanings or {}
    rows = [
        (
            name,
            f"{value:,.0f}",
            f"{100 * value / cycles:.1f} %"
            if cycles and (name == "work" or name.startswith("stall_"))
            else "",
            meanings.get(name, _MEANINGS.get(name, "")),
        )
        for name, value in counters.items()
    ]
    return table(("counter", ">value", ">of the cycles", "meaning"), rows)


def memory(
    places: Sequence[Mapping[str, Any]] | None, size: float | None, used: float | None = None
) -> str:
    """Section with the map of main memory and its table."""
    if not places:
        return ""
    end = max(place["at"] + place["bytes"] for place in places)
    used = max(end, used or 0)
    said = (
        f"{size_text(used)} of {size_text(size)} ({100 * used / size:.2g} %)"
        if size
        else f"{size_text(used)}"
    )
    rows = [
        (
            place["what"],
            place["kind"],
            f"{place['at']:#x}",
            f"{place['at'] + max(place['bytes'], 1) - 1:#x}",
            f"{place['bytes']:,}",
        )
        for place in places
    ]
    return (
        text(f"In use: {said}.")
        + chart(charts.memory_map(places, "What lies where in main memory"))
        + table(("what", "kind", ">from", ">to", ">bytes"), rows)
    )


def utilisation(
    roof: Roof | None,
    point: Point | None,
    work: float | None = None,
    more: Iterable[tuple[str, str, str, float]] = (),
) -> str:
    """Section on the utilisation of a build's peaks: bars and a table. ``work``: share of cycles in
    which the compute unit works; ``more``: further rows (what, done, of, share)."""
    rows = []
    if roof is not None and point is not None and point.cycles:
        rows.append(
            (
                "MACs a cycle",
                f"{point.macs / point.cycles:,.3g}",
                f"{roof.macs:,.4g}",
                point.macs / point.cycles / roof.macs,
            )
        )
        if roof.bytes:
            rows.append(
                (
                    "bytes a cycle",
                    f"{point.bytes / point.cycles:,.3g}",
                    f"{roof.bytes:,.3g}",
                    point.bytes / point.cycles / roof.bytes,
                )
            )
    if work is not None:
        rows.append(("cycles at work", "", "", work))
    rows += more
    if not rows:
        return ""
    bars = [
        {"name": name, "value": share, "shown": f"{100 * share:.1f} %"} for name, *_, share in rows
    ]
    return chart(charts.bars(bars, "of what there is", "Utilisation", ".0%")) + table(
        ("what", ">done", ">of", ">share"),
        [(name, done, of, f"{100 * share:.1f} %") for name, done, of, share in rows],
    )


def parameters(params: Mapping[str, Any] | None) -> str:
    """Table of the build's parameters."""
    return table(
        ("parameter", ">value"),
        [
            (name, str(value).lower() if isinstance(value, bool) else value)
            for name, value in (params or {}).items()
        ],
    )
