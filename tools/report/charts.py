# SPDX-License-Identifier: BSD-2-Clause
"""Charts of a report, made with Altair: each function returns a Vega-Lite specification. Colours
come from the style sheet, so that a chart follows the light or dark scheme of its page."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...gateware.requirements import extra_command
from ..errors import NoDeviceError

__all__ = ["CLASSES", "bars", "classes", "library", "memory_map", "roofline", "scatter", "script"]

#: Classes of cycles, in the order of a bar, as counters name them.
CLASSES = {
    "work": "work",
    "stall_fetch": "instructions",
    "stall_operand": "operands",
    "stall_write": "writes",
    "stall_other": "other units",
}
#: Pixels of a bar and the gap to the next, of a picture's height, and of the longest name beside
#: it.
_STEP, _HEIGHT, _NAME = 24, 340, 130
_COLOURS = [f"var(--chart-{number})" for number in range(1, 9)]


def library() -> tuple[Any, Any]:
    """Imports the modules ``altair`` and ``vl_convert``.

    Raises
    ------
    NoDeviceError
        They are not installed; the message says how to get them.
    """
    try:
        import altair
        import vl_convert
    except ImportError as error:
        raise NoDeviceError(
            f"reports need Altair and vl-convert, and {error.name or 'one of them'} is not "
            f"installed: {extra_command('report')}"
        ) from None
    return altair, vl_convert


def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one self-contained script."""
    _, convert = library()
    return convert.javascript_bundle()


def _finished(chart, text, height=None):
    """Specification of a chart as wide as its page; ``text`` describes it for screen readers."""
    font = "system-ui, sans-serif"
    quiet = {
        "labelColor": "var(--dim)",
        "titleColor": "var(--dim)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    spec = chart.properties(
        width="container",
        background="transparent",
        description=text,
        **({} if height is None else {"height": height}),
    ).to_dict()
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["config"] = {
        "font": font,
        "view": {"stroke": None},
        "text": {"fill": "var(--text)"},
        "axis": {
            **quiet,
            "gridColor": "var(--line)",
            "domainColor": "var(--line)",
            "tickColor": "var(--line)",
            "labelLimit": _NAME,
        },
        "legend": {
            **quiet,
            "labelColor": "var(--text)",
            "orient": "bottom",
            "title": None,
            "columns": 3,
            "symbolStrokeColor": "transparent",
            "labelLimit": 180,
        },
    }
    return spec


def _step(count):
    return max(2, count) * _STEP


def roofline(
    lines: Sequence[Mapping[str, Any]], points: Sequence[Mapping[str, Any]], text: str
) -> dict[str, Any]:
    """Roofline chart. ``lines``: rows ``build``, ``x``, ``y`` and their ``order``; ``points``: rows
    ``build``, ``name``, ``kind``, ``x``, ``y``, and the fields of their tooltip."""
    alt, _ = library()
    names = list(dict.fromkeys(row["build"] for row in lines))
    colour = alt.Color(
        "build:N",
        scale=alt.Scale(domain=names, range=_COLOURS[: len(names)]),
        legend=alt.Legend() if len(names) > 1 else None,
    )
    x = alt.X(
        "x:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(
            title="MACs a byte of main memory", format=",", tickCount=6, labelOverlap=True
        ),
    )
    heights = [row["y"] for row in (*lines, *points)]
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(type="log", nice=False, domain=[min(heights) / 1.5, max(heights) * 2]),
        axis=alt.Axis(title="MACs a cycle", format=",", tickCount=6, labelOverlap=True),
    )
    roofs = (
        alt.Chart(alt.Data(values=lines))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=colour, order=alt.Order("order:Q"))
    )
    if not points:
        return _finished(roofs, text, _HEIGHT)
    kinds = list(dict.fromkeys(row["kind"] for row in reversed(points)))
    told = [
        alt.Tooltip(f"{name}:N", title=title)
        for name, title in (
            ("name", "what"),
            ("build", "build"),
            ("macs", "MACs"),
            ("cycles", "cycles"),
            ("bytes", "bytes"),
            ("rate", "MACs a cycle"),
            ("intensity", "MACs a byte"),
            ("share", "of what is possible"),
        )
    ]
    base = alt.Chart(alt.Data(values=points)).encode(x=x, y=y)
    marks = base.mark_point(
        filled=True, size=110, opacity=0.85, stroke="var(--card)", strokeWidth=1
    ).encode(
        color=colour,
        shape=alt.Shape(
            "kind:N",
            scale=alt.Scale(
                domain=kinds, range=["diamond", "circle", "square", "triangle-up"][: len(kinds)]
            ),
            legend=alt.Legend(symbolFillColor="var(--dim)") if len(kinds) > 1 else None,
        ),
        tooltip=told,
    )
    labels = base.mark_text(dy=-11, fontSize=11, limit=_NAME).encode(text="label:N")
    return _finished(roofs + marks + labels, text, _HEIGHT)


def classes(rows: Sequence[Mapping[str, Any]], text: str) -> dict[str, Any]:
    """Stacked bar chart of shares in percent, one bar per name. ``rows``: ``name``, ``class``
    (texts of :data:`CLASSES`), ``cycles``, ``share`` (0 to 1)."""
    alt, _ = library()
    names = list(CLASSES.values())
    order = [{**row, "order": names.index(row["class"])} for row in rows]
    chart = (
        alt.Chart(alt.Data(values=order))
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                stack="zero",
                axis=alt.Axis(title=None, format=".0%", tickCount=5),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("name:N", sort=None, axis=alt.Axis(title=None, domain=False, ticks=False)),
            order=alt.Order("order:Q"),
            color=alt.Color(
                "class:N", scale=alt.Scale(domain=names, range=_COLOURS[: len(names)]), sort=None
            ),
            tooltip=[
                alt.Tooltip("name:N", title="what"),
                alt.Tooltip("class:N", title="cycles of"),
                alt.Tooltip("cycles:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )
    return _finished(chart, text, _step(len({row["name"] for row in rows})))


def bars(
    rows: Sequence[Mapping[str, Any]],
    title: str,
    text: str,
    form: str = ",f",
    mark: str | None = None,
) -> dict[str, Any]:
    """Bar chart of ``rows``: ``name``, ``value``, ``shown`` (the value as text), and ``mark``, the
    position of a tick that the argument ``mark`` explains, if given."""
    alt, _ = library()
    y = alt.Y("name:N", sort=None, axis=alt.Axis(title=None, domain=False, ticks=False))
    told = [alt.Tooltip("name:N", title="what"), alt.Tooltip("shown:N", title=title)]
    base = alt.Chart(alt.Data(values=rows))
    chart = base.mark_bar(color=_COLOURS[0]).encode(
        x=alt.X("value:Q", axis=alt.Axis(title=title, format=form, tickCount=5, labelOverlap=True)),
        y=y,
        tooltip=told,
    )
    if mark is not None:
        chart += (
            base.transform_filter("isValid(datum.mark)")
            .mark_tick(color="var(--text)", thickness=2, height=16)
            .encode(x="mark:Q", y=y, tooltip=[*told, alt.Tooltip("mark:Q", title=mark, format=",")])
        )
    return _finished(chart, text, _step(len(rows)))


def scatter(rows: Sequence[Mapping[str, Any]], across: str, up: str, text: str) -> dict[str, Any]:
    """Scatter chart of ``rows``: ``name``, ``x`` (on a logarithmic axis titled ``across``), ``y``
    (titled ``up``), and both as text, ``shown_x`` and ``shown_y``."""
    alt, _ = library()
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "x:Q",
            scale=alt.Scale(type="log", padding=30),
            axis=alt.Axis(title=across, format="~s", tickCount=6, labelOverlap=True),
        ),
        y=alt.Y(
            "y:Q", scale=alt.Scale(zero=False, padding=20), axis=alt.Axis(title=up, tickCount=6)
        ),
    )
    told = [
        alt.Tooltip("name:N", title="what"),
        alt.Tooltip("shown_x:N", title=across),
        alt.Tooltip("shown_y:N", title=up),
    ]
    marks = base.mark_point(filled=True, size=110, color=_COLOURS[0]).encode(tooltip=told)
    labels = base.mark_text(dy=-12, fontSize=12, limit=_NAME).encode(text="name:N")
    return _finished(marks + labels, text, _HEIGHT)


def memory_map(places: Sequence[Mapping[str, Any]], text: str) -> dict[str, Any]:
    """Map of main memory, with one row per kind of contents; ``places``: ``what``, ``kind``,
    ``at``, ``bytes``."""
    alt, _ = library()
    rows = [
        {
            **place,
            "end": place["at"] + place["bytes"],
            "from": f"{place['at']:#x}",
            "to": f"{place['at'] + place['bytes'] - 1:#x}",
        }
        for place in places
    ]
    kinds = list(dict.fromkeys(place["kind"] for place in places))
    hexadecimal = "'0x' + format(datum.value, 'x')"
    end = max(row["end"] for row in rows)
    step = 1 << max(0, (end // 4).bit_length() - 1)
    colours = alt.Scale(domain=kinds, range=_COLOURS[: len(kinds)])
    # A stroke of its own colour keeps areas of a few bytes visible.
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(strokeWidth=1)
        .encode(
            x=alt.X(
                "at:Q",
                axis=alt.Axis(
                    title="byte address",
                    labelExpr=hexadecimal,
                    values=list(range(0, end + 1, step)),
                    labelOverlap=True,
                ),
            ),
            x2="end:Q",
            y=alt.Y("kind:N", sort=None, axis=alt.Axis(title=None, domain=False, ticks=False)),
            color=alt.Color("kind:N", scale=colours, legend=None),
            stroke=alt.Stroke("kind:N", scale=colours, legend=None),
            tooltip=[
                alt.Tooltip("what:N"),
                alt.Tooltip("from:N"),
                alt.Tooltip("to:N"),
                alt.Tooltip("bytes:Q", format=","),
            ],
        )
    )
    return _finished(chart, text, _step(len(kinds)))
