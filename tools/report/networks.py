# SPDX-License-Identifier: BSD-2-Clause
"""Report pages of networks: a compiled network, an inference run, and a comparison of cores."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..targets.ceilings import moved
from . import charts, sections
from .page import Page, chart, facts, items, table, text
from .roofline import Point, merged_layers

__all__ = ["compare_page", "infer_page", "plan_page"]


def _clock_text(hz):
    return f"{hz / 1e6:g} MHz" if hz else None


def _layers(rows):
    """Bar chart and table of the layers' cycles."""
    rows = [row for row in rows if row["where"] != "host"]
    if not rows:
        return ""
    measured, snr = (
        any(row.get("measured") is not None for row in rows),
        any("snr" in row for row in rows),
    )
    drawn = [
        {
            "name": f"{number}: {row['layer']}",
            "value": max(0, row.get("measured") or 0) if measured else row["cycles"],
            "mark": row["cycles"],
            "shown": _number(row.get("measured")) or "with the next"
            if measured
            else f"{row['cycles']:,.0f}",
        }
        for number, row in enumerate(rows, 1)
    ]
    columns = (
        "layer",
        "what",
        ">MACs",
        ">cycles, estimated",
        *((">measured",) if measured else ()),
        ">MACs a cycle",
        ">bytes moved",
        *((">SNR, dB",) if snr else ()),
    )
    lines = [
        (
            row["layer"],
            row["kind"],
            f"{row['macs']:,.0f}",
            f"{row['cycles']:,.0f}",
            *((_number(row.get("measured")),) if measured else ()),
            _rate(row, measured),
            f"{row['bytes']:,.0f}",
            *(("" if row.get("snr") is None else f"{row['snr']:.1f}",) if snr else ()),
        )
        for row in rows
    ]
    said = (
        (
            "Cycles counted by the target, a stroke where the compiler had expected them; a layer "
            "without any was measured together with a later one."
        )
        if measured
        else "Cycles that the compiler expects."
    )
    said += " SNR is against the network in floating point." if snr else ""
    picture = charts.bars(
        drawn,
        "cycles, measured" if measured else "cycles, estimated",
        "Cycles of every layer",
        mark="estimated" if measured else None,
    )
    return chart(picture) + text(said, "soft") + table(columns, lines)


def _number(value):
    return "" if value is None else f"{value:,.0f}"


def _rate(row, measured):
    cycles = row.get("measured") if measured else row["cycles"]
    return f"{row['macs'] / cycles:.1f}" if cycles and cycles > 0 else ""


def _host(rows):
    names = [row["layer"] for row in rows if row["where"] == "host"]
    return (
        text(
            f"The host computes {len(names):,} of the nodes: "
            f"{', '.join(names[:12])}{' ...' if len(names) > 12 else ''}.",
            "soft",
        )
        if names
        else ""
    )


def _layer_classes(rows):
    return [
        row
        for number, layer in enumerate((row for row in rows if row["where"] != "host"), 1)
        for row in sections.in_classes(f"{number}: {layer['layer']}", layer.get("counters") or {})
    ]


def _plan_facts(data, *more):
    return facts(
        [
            ("network", data["network"]),
            ("core", data["isa"]),
            ("preset", data.get("preset")),
            ("board", data.get("board")),
            ("clock", _clock_text(data.get("clock_hz"))),
            ("clock for times", data.get("clock_note") or None),
            *more,
        ]
    )


def plan_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of a compiled network: all cycles are estimates."""
    page = Page(
        f"{data['network']} for {data['isa']}",
        "a compiled network; cycles are the compiler's estimates",
    )
    cycles, clock, rows = data["cycles_estimated"], data.get("time_hz"), data["layers"]
    page.add(
        "The plan",
        _plan_facts(
            data,
            ("MACs of an input", f"{data['macs']:,.0f}"),
            ("cycles of an input, estimated", f"{cycles:,.0f}"),
            ("time of an input", f"{cycles / clock * 1e3:.3f} ms" if clock else None),
        ),
        _host(rows),
        items(data.get("notes") or ()),
    )
    roof = sections.roof_of(data["isa"], data.get("ceilings"))
    point = Point("an input", "network", data["macs"], cycles, sum(row["bytes"] for row in rows))
    page.add(
        "Roofline", sections.roofline([(roof, [point, *merged_layers(rows, data.get("ceilings"))])])
    )
    page.add("Layers", _layers(rows))
    page.add("Utilisation", sections.utilisation(roof, point))
    page.add(
        "Main memory",
        sections.memory(data.get("places"), data.get("memory_size"), data.get("memory_used")),
    )
    page.add("The build", sections.parameters(data.get("params")))
    return page


def infer_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of the output of ``quintet infer --json``; with ``--layers``
    it shows the layers, each as a point."""
    counters, inputs, rows = data["counters"], max(data["inputs"], 1), data.get("layers") or []
    cycles, clock, rates = (
        counters.get("cycles", 0) / inputs,
        data.get("time_hz"),
        data.get("inputs_per_second") or {},
    )
    page = Page(
        f"{data['network']} on {data['target']}",
        f"{data['inputs']:,} inputs through a compiled network",
    )
    page.add(
        "The run",
        _plan_facts(
            data,
            ("inputs", f"{data['inputs']:,}"),
            (
                "right",
                f"{data['correct']:,} of {data['inputs']:,}"
                if data.get("correct") is not None
                else None,
            ),
            ("MACs of an input", _number(data.get("macs"))),
            ("cycles of an input", f"{cycles:,.0f}" if cycles else None),
            ("time of an input", f"{cycles / clock * 1e3:.3f} ms" if cycles and clock else None),
            *(
                (f"inputs a second, {what}", f"{rates[key]:,.1f}" if rates.get(key) else None)
                for key, what in (
                    ("core", "by the core"),
                    ("line", "by the line's rate"),
                    ("link", "through the link"),
                )
            ),
            ("bytes written once", f"{data['constant_bytes']:,}"),
            ("bytes of an input", f"{data['input_bytes'] / inputs:,.0f}"),
            ("bytes of its results", f"{data['output_bytes'] / inputs:,.0f}"),
        ),
        _host(rows),
        "" if cycles else text("This target counted no cycles: a golden model has none.", "soft"),
        ""
        if rows
        else text(
            "With --layers quintet infer measures every layer, and the page shows them.", "soft"
        ),
    )
    roof = sections.roof_of(data["isa"], data.get("ceilings"))
    point = Point(
        "an input",
        "network",
        data.get("macs") or 0,
        cycles,
        moved(counters, data.get("ceilings")) / inputs,
    )
    page.add(
        "Roofline",
        sections.roofline(
            [
                (
                    roof,
                    [
                        point,
                        *(
                            merged_layers(rows, data.get("ceilings"))
                            if any(row.get("measured") is not None for row in rows)
                            else ()
                        ),
                    ],
                )
            ]
        )
        if cycles
        else "",
    )
    page.add(
        "Where the cycles went",
        sections.classes(sections.in_classes("all", counters) + _layer_classes(rows)),
    )
    page.add("Layers", _layers(rows))
    page.add(
        "Utilisation",
        sections.utilisation(
            roof,
            point if cycles else None,
            counters["work"] / counters["cycles"] if cycles and "work" in counters else None,
        ),
    )
    page.add(
        "Main memory",
        sections.memory(data.get("places"), data.get("memory_size"), data.get("memory_used")),
    )
    page.add("Counters of all inputs", sections.counters_table(counters))
    page.add("The build", sections.parameters(data.get("params")))
    return page


def _accuracy(found, cells):
    """Chart of each core's accuracy against its cycles: right inputs where labels were given, else
    signal to noise; empty if fewer than two cores have both."""
    labelled = found.correct is not None and found.inputs
    up = "inputs right" if labelled else "signal to noise, dB"
    rows = []
    for cell in cells:
        value = cell.correct if labelled else cell.snr
        if value is not None and isfinite(value):
            rows.append(
                {
                    "name": cell.isa,
                    "x": cell.cycles,
                    "y": value,
                    "shown_x": f"{cell.cycles:,}",
                    "shown_y": f"{value} of {found.inputs}" if labelled else f"{value:.1f} dB",
                }
            )
    if len(rows) < 2:
        return ""
    return chart(
        charts.scatter(rows, "cycles of an input", up, "Accuracy of every core against its cycles")
    )


def compare_page(data: Mapping[str, Any]) -> Page:
    """Builds the :class:`~.page.Page` of the output of ``quintet compare --json``."""
    from ..compiler.results.comparison import clock_notes, comparison_of, comparison_rows

    found = comparison_of(data)
    page = Page(
        f"{found.network} on {found.board}", f"what {len(found.cells)} cores make of one network"
    )
    page.add(
        "Side by side",
        *(text(note, "warning") for note in found.notes),
        table(*comparison_rows(found)),
        text(
            f"Judged by {found.inputs:,} inputs. Accuracy is that of the reference in numpy, "
            f"which the cores equal bit for bit. Cycles with a star are estimated, the others "
            f"counted by the "
            "virtual board.",
            "soft",
        ),
        items(clock_notes(found)),
    )
    cells = [cell for cell in found.cells if not cell.refusal and cell.cycles]
    timed = [
        {
            "name": cell.isa,
            "value": cell.milliseconds,
            "shown": f"{cell.milliseconds:.3f} ms at {cell.time_hz / 1e6:.4g} MHz",
        }
        for cell in cells
        if cell.milliseconds and cell.time_hz
    ]
    page.add(
        "Time of one input",
        chart(charts.bars(timed, "milliseconds", "Time of one input on every core"))
        if timed
        else "",
    )
    page.add("Accuracy against cycles", _accuracy(found, cells))
    pairs = [(_cell_roof(cell), [_cell_point(cell)]) for cell in cells]
    page.add("Roofline", sections.roofline(pairs) if any(roof for roof, _ in pairs) else "")
    page.add(
        "Where the cycles went",
        sections.classes(
            [row for cell in cells for row in sections.in_classes(cell.isa, cell.counters)]
        ),
    )
    for cell in found.cells:
        if cell.refusal:
            page.add(
                cell.isa,
                text("The network cannot run there:"),
                items([line.strip() for line in cell.refusal.splitlines() if line.strip()]),
            )
            continue
        build = cell.build
        page.add(
            f"{cell.isa}, {cell.preset}" if cell.preset else cell.isa,
            _host(cell.layers),
            sections.roofline(
                [
                    (
                        _cell_roof(cell),
                        [
                            _cell_point(cell),
                            *merged_layers(cell.layers, cell.build.get("ceilings")),
                        ],
                    )
                ]
            ),
            "<h3>Layers</h3>",
            _layers(cell.layers),
            "<h3>Main memory</h3>" if build.get("places") else "",
            sections.memory(
                build.get("places"), build.get("memory_size"), build.get("memory_used")
            ),
        )
    return page


def _cell_roof(cell):
    return sections.roof_of(cell.isa, cell.build.get("ceilings"))


def _cell_point(cell):
    return Point(
        "an input", "network", cell.macs or 0, cell.cycles or 0, cell.bytes_of_an_input or 0
    )
