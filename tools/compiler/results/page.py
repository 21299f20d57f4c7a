# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as one HTML page: no script, nothing fetched, light and dark."""
from html import escape

from ...outputs import write_output
from .comparison import comparison_rows

__all__ = ["page", "write_page"]

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, CanvasText 18%, Canvas); --bar: #4477aa; --soft: color-mix(in srgb, CanvasText 65%, Canvas); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child, td.text { text-align: left; }
.scroll { overflow-x: auto; } .bar { background: var(--bar); height: .8rem; } .soft, caption { color: var(--soft); text-align: left; }
details { margin: .5rem 0; } summary { cursor: pointer; }
@media print { details > * { display: block; } body { margin: 0; } }
"""


def page(found):
    """The page of a :class:`~.comparison.NetworkComparison`, text."""
    columns, rows = comparison_rows(found)
    title = f"{found.network} on {found.board}"
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
             f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>", f"<h1>{escape(title)}</h1>",
             f"<p>Judged by {found.inputs:,} inputs. Accuracy is that of the reference in numpy, which the core equals bit for bit. "
             "Cycles with a star are estimated, the others counted by the virtual board.</p>"]
    parts += [f"<p><strong>{escape(note)}</strong></p>" for note in found.notes]
    parts.append(_table(columns, rows))
    slowest = max((cell.milliseconds for cell in found.cells if cell.milliseconds), default=None)
    if slowest:
        parts.append("<h2>Time of one input</h2>" + _bars([(cell.isa, cell.milliseconds, f"{cell.milliseconds:.3f} ms at {cell.clock_hz / 1e6:g} MHz")
                                                          for cell in found.cells if cell.milliseconds], slowest))
    for cell in found.cells:
        parts.append(f"<h2>{escape(cell.isa)}</h2>")
        if cell.refusal:
            parts.append("<ul>" + "".join(f"<li>{escape(line.strip())}</li>" for line in cell.refusal.splitlines()) + "</ul>")
            continue
        parts.append(_layers(cell))
    return "\n".join([*parts, "</body></html>", ""])


def _table(columns, rows):
    head = "".join(f"<th>{escape(name.lstrip('>'))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _bars(rows, most):
    return "<table>" + "".join(f'<tr><td>{escape(name)}</td><td style="width:60%"><div class="bar" style="width:{100 * value / most:.1f}%"></div></td>'
                               f'<td>{escape(text)}</td></tr>' for name, value, text in rows) + "</table>"


def _layers(cell):
    most = max((max(row["cycles"], row.get("measured") or 0) for row in cell.layers), default=0) or 1
    measured = any("measured" in row for row in cell.layers)
    rows = "".join(
        f'<tr><td class="text">{escape(row["layer"])}</td><td class="text">{escape(row["kind"])}</td><td>{row["macs"]:,}</td><td>{row["cycles"]:,}</td>'
        + (f'<td>{_number(row.get("measured"), ",")}</td>' if measured else "") +
        f'<td>{row["macs"] / row["cycles"] if row["cycles"] else 0:.1f}</td><td>{row["bytes"]:,}</td><td>{_number(row.get("snr"), ".1f")}</td>'
        f'<td style="width:25%"><div class="bar" style="width:{100 * (row["cycles"] if not measured else row.get("measured") or 0) / most:.1f}%"></div></td></tr>'
        for row in cell.layers)
    counters = ", ".join(f"{name} {value:,}" for name, value in cell.counters.items())
    caption = "; an empty measurement is within the next one" if measured else ""
    stall = f'<p class="soft">Counters of one run: {escape(counters)}</p>' if counters else ""
    return (f'{stall}<div class="scroll"><table><caption>Layers; SNR is against the network in floating point, in dB{caption}</caption><thead><tr><th>layer</th>'
            f"<th>what</th><th>MACs</th><th>cycles, estimated</th>{'<th>measured</th>' if measured else ''}<th>MACs a cycle</th><th>bytes moved</th><th>SNR</th><th></th>"
            f"</tr></thead><tbody>{rows}</tbody></table></div>")


def _number(value, form):
    return "" if value is None else format(value, form)


def write_page(path, found):
    """Write the page of a comparison to ``path``."""
    write_output(path, page(found))
