# SPDX-License-Identifier: BSD-2-Clause
"""Roofline chart of the five cores, as SVG: ``python -m quintet.tools.pages.roofline`` draws
``docs/pictures/roofline.svg`` from the peaks that the cores declare and the networks measured in
``docs/results.json``."""

import re
from collections.abc import Mapping
from typing import Any

from ...boards import open_board
from ...gateware.cores import core_names, open_core
from ..report import charts
from ..report.page import STYLE
from ..report.roofline import Point, Roof, roof_lines
from ..targets.ceilings import board_memory, ceilings
from .pictures import FOLDER
from .results import read

__all__ = ["FILE", "draw", "points", "roofs"]

FILE = FOLDER / "roofline.svg"
#: The board of the measurement, whose default presets the roofs are of, and its name in
#: ``docs/results.json``.
_BOARD, _MEASUREMENT = "ulx3s-85f", "models/roofline"


def roofs() -> dict[str, Roof]:
    """Roofs of the cores: title -> :class:`~..report.roofline.Roof` of the board's default
    build."""
    board, found = open_board(_BOARD), {}
    for isa in core_names():
        package = open_core(isa)
        params = package.params.SPACE.resolve(board.preset_for(package))
        known = ceilings(
            isa, params, board_memory(_BOARD, board.memory.usable(package, params)), None
        )
        found[package.isa.ISA.title] = Roof(package.isa.ISA.title, known["macs"], known["bytes"])
    return found


def points(data: Mapping[str, Any]) -> dict[str, list[Point]]:
    """Measured networks: title of a core -> points. Rows are named ``NETWORK, TITLE``."""
    found: dict[str, list[Point]] = {}
    for row in data["measurements"][_MEASUREMENT]["rows"]:
        network, _, title = row["what"].rpartition(", ")
        values = row["values"]
        found.setdefault(title, []).append(
            Point(network, network, values["MACs"], values["cycles"], values["bytes"])
        )
    return found


def draw(data: Mapping[str, Any]) -> str:
    """Draws the chart as self-contained SVG text, which follows the light or dark scheme of its
    page."""
    _, convert = charts.library()
    measured, tops = points(data), roofs()
    rows = [
        {
            "build": title,
            "name": f"{point.name} on {title}",
            "kind": point.kind,
            "x": point.intensity,
            "y": point.rate,
            "macs": f"{point.macs:,.0f}",
            "cycles": f"{point.cycles:,.0f}",
            "bytes": f"{point.bytes:,.0f}",
            "rate": f"{point.rate:.3g}",
            "intensity": f"{point.intensity:.3g}",
            "share": f"{100 * point.share(tops[title]):.0f} %",
            "label": "",
        }
        for title, several in measured.items()
        for point in several
    ]
    lines = roof_lines(
        list(tops.values()), [point for several in measured.values() for point in several]
    )
    spec = charts.roofline(lines, rows, "Roofline of the five cores on a ULX3S-85F") | {
        "width": 900,
        "height": 420,
    }
    svg = convert.vegalite_to_svg(spec)
    light, dark = _variables(set(re.findall(r"var\((--[\w-]+)\)", svg)))
    style = f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return (
        re.sub(
            ">",
            f"><title>Roofline of the five cores</title><style>\n{style}\n</style>",
            svg,
            count=1,
        )
        + "\n"
    )


def _variables(names):
    """CSS declarations of the style sheets' variables ``names``, for a light and a dark page."""
    light, dark = [], []
    for sheet in (STYLE, STYLE.with_name("report.css")):
        before, _, rest = sheet.read_text(encoding="utf-8").partition(
            "@media (prefers-color-scheme: dark)"
        )
        for found, text in ((light, before), (dark, rest.partition("\n}\n")[0])):
            found += [
                f"{name}: {value};"
                for name, value in re.findall(r"(--[\w-]+): ([^;]+);", text)
                if name in names
            ]
    return " ".join(light), " ".join(dark)


if __name__ == "__main__":
    FILE.write_text(draw(read()))
