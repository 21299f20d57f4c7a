# SPDX-License-Identifier: BSD-2-Clause
"""HTML page of a report: sections of tables, facts and charts as one self-contained file, for light
and dark schemes, phones and paper."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..text import visible_lines

__all__ = [
    "MOST_BYTES",
    "STYLE",
    "Page",
    "Wrong",
    "chart",
    "facts",
    "items",
    "render",
    "table",
    "text",
]

_FOLDER = Path(__file__).parent / "style"
#: The style sheet that all pages of quintet share.
STYLE = _FOLDER / "quintet.css"
#: Bytes of a page, at most.
MOST_BYTES = 5_000_000

_DRAW = """
for (const place of document.querySelectorAll(".chart")) {
  const chart = JSON.parse(place.querySelector("script").textContent);
  const failed = error => {
    place.textContent = "This chart could not be drawn: " + error.message;
    console.error(error);
  };
  vegaEmbed(place, chart, {renderer: "svg", actions: false})
    .then(() => { place.dataset.drawn = "yes"; }, failed);
}
"""


class Wrong(str):
    """Text of a table cell that reports a problem."""


@dataclass
class Page:
    """An HTML page: ``title``; ``lead``, a line below it; and ``sections``, pairs of a heading and
    a list of HTML parts."""

    title: str
    lead: str
    sections: list[tuple[str, list[str]]] = field(default_factory=list)

    def add(self, heading: str, *parts: str | None) -> None:
        """Adds a section with the non-empty ``parts``; does nothing if all are empty."""
        parts = [part for part in parts if part]
        if parts:
            self.sections.append((heading, parts))


def escape(words: object) -> str:
    """Escapes text for HTML, including characters that change the direction of writing."""
    return html.escape(visible_lines(str(words)))


def text(words: object, kind: str = "") -> str:
    """HTML of a paragraph; ``kind``: ``soft`` or ``warning``."""
    return f"<p{_class(kind)}>{escape(words)}</p>" if words else ""


def items(lines: Iterable[object]) -> str:
    """HTML of a bulleted list."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """HTML of a list of names and values; values of ``None`` are omitted."""
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in pairs
        if value is not None
    )
    return f'<dl class="wide">{rows}</dl>' if rows else ""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """HTML of a table. A column whose name begins with ``>`` holds numbers; a cell that is
    :class:`Wrong` is highlighted."""
    if not rows:
        return ""
    numbers = [name.startswith(">") for name in columns]
    head = "".join(
        f"<th{_class('number' * number)}>{escape(name.lstrip('>'))}</th>"
        for name, number in zip(columns, numbers, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(_cell(value, number) for value, number in zip(row, numbers, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f"<div "
        f'class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(value, number):
    classes = ["number"] * number + ["bad"] * isinstance(value, Wrong)
    return f"<td{_class(' '.join(classes))}>{escape(value)}</td>"


def _class(names):
    return f' class="{names}"' if names else ""


def chart(specification: Mapping[str, Any]) -> str:
    """HTML of a chart: its container and its Vega-Lite specification."""
    inside = json.dumps(_safe(specification), separators=(",", ":"), allow_nan=False).replace(
        "<", "\\u003c"
    )
    return f'<div class="chart"><script type="application/json">{inside}</script></div>'


def _safe(value):
    """Removes characters that change the direction of writing from a chart's specification."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, dict):
        return {_safe(key): _safe(part) for key, part in value.items()}
    return [_safe(part) for part in value] if isinstance(value, list) else value


def render(page: Page) -> str:
    """Renders the page as the text of an HTML file.

    Raises
    ------
    InputError
        It would be larger than :data:`MOST_BYTES`.
    NoDeviceError
        The library of charts is missing.
    """
    from .charts import script

    style = "\n".join(
        (_FOLDER / name).read_text(encoding="utf-8") for name in (STYLE.name, "report.css")
    )
    sections = "".join(
        f"<article><h2>{escape(heading)}</h2>{''.join(parts)}</article>\n"
        for heading, parts in page.sections
    )
    code = (
        f"<script>{_inline(script())}</script><script>{_DRAW}</script>"
        if 'class="chart"' in sections
        else ""
    )
    made = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(page.title)}</title><link rel="icon" href="data:,"><style>
{style}</style></head>
<body><header><h1>quintet <span>{escape(page.title)}</span></h1><p>{escape(page.lead)}</p></header>
<main>
{sections}</main>
<footer>Made by quintet report.</footer>
{code}</body></html>
"""
    size = len(made.encode())
    if size > MOST_BYTES:
        raise InputError(
            f"the page would have {size:,} bytes, more than {MOST_BYTES:,}: the result has too "
            f"many layers, programs or builds for one"
        )
    return made


def _inline(code):
    """Escapes a script for embedding in a page."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")
