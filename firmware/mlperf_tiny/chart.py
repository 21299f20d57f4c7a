# SPDX-License-Identifier: BSD-2-Clause
"""Bar chart of milliseconds beside the peers', as SVG: ``python -m
quintet.firmware.mlperf_tiny.chart`` draws ``docs/pictures/times.svg``.

Times of the cores are cycles of a virtual board (``docs/results.json``) at the clock that place and
route has reached; those of the others are published.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log10
from typing import Any
from xml.sax.saxutils import escape

from quintet.tools.build.reached import reached_clock
from quintet.tools.pages.pictures import FOLDER
from quintet.tools.pages.results import read

from . import NETWORKS, PEERS

__all__ = ["FILE", "Bar", "bars", "draw"]

FILE = FOLDER / "times.svg"


@dataclass(frozen=True)
class Series:
    """Measured cycles of one build: its label, core and preset, and the measurement and column of
    ``docs/results.json`` that has its cycles."""

    label: str
    isa: str
    preset: str
    measurement: str
    column: str


_BOARD = "ulx3s-85f"
_SERIES = (
    Series("OpenTPU, 85f-16x16-fast", "opentpu", "85f-16x16-fast", "opentpu/on-chip", "measured"),
    Series("OPU, 85f-p256-fast", "opu", "85f-p256-fast", "opu/on-chip", "measured"),
    Series("Cherry, 85f", "cherry", "85f", "models/cycles", "Cherry"),
    Series("PIM, 85f", "pim", "85f", "models/cycles", "PIM"),
)
#: Network -> its title; rows of a measurement begin with it.
_TITLES = {
    "resnet8": "ResNet-8",
    "ds_cnn": "DS-CNN",
    "mobilenet": "MobileNet",
    "autoencoder": "autoencoder",
}

# Pixels: of the picture, of a bar's label, and of the rows. The letters are large for its width, so
# that a phone shows them at a readable size.
_WIDTH, _LABEL, _VALUE, _ROW, _HEAD = 560, 190, 70, 23, 34
#: Milliseconds at the left and right ends of the logarithmic scale.
_LEAST, _MOST = 0.1, 100
_STYLE = """
text { font: 15px system-ui, sans-serif; fill: #1d2326; }
.head { font-weight: 600; }
.note { font-size: 13px; fill: #5b666c; }
.own { fill: #00695c; }
.peer { fill: #a9b4b9; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaea; }
  .note { fill: #9aa6ab; }
  .own { fill: #5cc9b8; }
  .peer { fill: #5b686e; }
}
"""


@dataclass(frozen=True)
class Bar:
    """One time of the chart: a system's label, milliseconds, and whether it is a core of this
    project."""

    label: str
    milliseconds: float
    own: bool


def _cycles(data, series, title):
    rows = data["measurements"][series.measurement]["rows"]
    return next(row["values"][series.column] for row in rows if row["what"].startswith(title))


def bars(data: Mapping[str, Any], network: str) -> list[Bar]:
    """Times of one inference of a network, the shortest first."""
    found = [
        Bar(peer.name, peer.milliseconds[network], False)
        for peer in PEERS
        if network in peer.milliseconds
    ]
    for series in _SERIES:
        reached = reached_clock(_BOARD, series.isa, series.preset)
        if reached is None:
            raise ValueError(f"{series.preset} of {series.isa}: expected a routed build")
        mhz = min(reached.hz, reached.asked_hz) / 1e6
        cycles = _cycles(data, series, _TITLES[network])
        found.append(Bar(series.label, cycles / mhz / 1e3, True))
    return sorted(found, key=lambda bar: bar.milliseconds)


def draw(data: Mapping[str, Any]) -> str:
    """Draws the chart as self-contained SVG text, which follows the light or dark scheme of its
    page."""
    title = "Milliseconds of one inference, logarithmic"
    parts, y = [f"<title>{title}</title>", f"<style>{_STYLE}</style>"], 0
    parts.append(f'<text class="note" x="0" y="{y + 16}">{title}; green: quintet</text>')
    y += 20
    for network in NETWORKS:
        parts.append(f'<text class="head" x="0" y="{y + 22}">{_TITLES[network]}</text>')
        y += _HEAD
        for bar in bars(data, network):
            share = log10(bar.milliseconds / _LEAST) / log10(_MOST / _LEAST)
            width = (_WIDTH - _LABEL - _VALUE) * share
            kind = "own" if bar.own else "peer"
            parts += [
                f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(bar.label)}</text>',
                f'<rect class="{kind}" x="{_LABEL}" y="{y + 2}" width="{width:.1f}" height="17" '
                'rx="3"/>',
                f'<text x="{_LABEL + width + 7:.1f}" y="{y + 15}">{bar.milliseconds:.3g}</text>',
            ]
            y += _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 6}" '
        f'width="{_WIDTH}" height="{y + 6}" role="img">\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    FILE.write_text(draw(read()))
