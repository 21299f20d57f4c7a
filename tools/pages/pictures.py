# SPDX-License-Identifier: BSD-2-Clause
"""Diagrams of the architecture and of every core, as SVG: ``python -m
quintet.tools.pages.pictures`` draws ``docs/pictures``. Names are read from the code."""

from pathlib import Path
from xml.sax.saxutils import escape

from ...boards import board_names, open_board
from ...gateware.cores import core_names, open_core
from ...gateware.isa.registers import COMMON_COUNTERS
from ...gateware.memory.port import MAX_BEATS
from .engines import ENGINES

__all__ = ["FOLDER", "architecture", "engine", "pictures"]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1d2326; }
.small { font-size: 11px; fill: #5b666c; }
.head { font-weight: 600; }
.box { fill: #ffffff; stroke: #8b989e; }
.host { fill: #eef4f3; }
.soc { fill: #f6f6f3; stroke: #c3c9c6; }
.core { fill: #e3f1ee; stroke: #00695c; }
.off { fill: none; stroke: #8b989e; stroke-dasharray: 5 4; }
.wire {
  stroke: #45525a; stroke-width: 1.5; fill: none;
  marker-end: url(#tip); marker-start: url(#tail);
}
.one { marker-start: none; }
.tip { fill: #45525a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaea; }
  .small { fill: #9aa6ab; }
  .box { fill: #1e2427; stroke: #68757b; }
  .host { fill: #1a2524; }
  .soc { fill: #14181a; stroke: #3a4448; }
  .core { fill: #12302c; stroke: #5cc9b8; }
  .wire { stroke: #a9b4b9; }
  .tip { fill: #a9b4b9; }
}
"""


class _Drawing:
    """SVG drawing of boxes with lines of text and wires between them; coordinates in pixels."""

    def __init__(self, width, height, title):
        self.size, self.parts = (width, height), [f"<title>{escape(title)}</title>"]

    def box(self, x, y, width, height, *lines, kind="box", align="middle"):
        """Adds a box; the first line is its name, further lines are small."""
        self.parts.append(
            f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>'
        )
        top = y + 19 if align == "top" else y + height / 2 - 7.5 * (len(lines) - 1) + 4
        for number, line in enumerate(lines):
            style = "head" if number == 0 else "small"
            self.parts.append(
                f'<text class="{style}" x="{x + width / 2:g}" y="{top + 15.5 * number:g}" '
                f'text-anchor="middle">{escape(line)}</text>'
            )

    def wire(self, *points, one=False):
        """Adds a wire along points, with arrowheads at both ends, or only at its ``one`` end."""
        path = " ".join(f"{'L' if number else 'M'}{x} {y}" for number, (x, y) in enumerate(points))
        self.parts.append(f'<path class="wire{" one" if one else ""}" d="{path}"/>')

    def text(self, x, y, text, anchor="middle"):
        self.parts.append(
            f'<text class="small" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def svg(self):
        width, height = self.size
        marks = "".join(
            (
                f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                f'markerHeight="7" orient="{turn}"><path class="tip" d="M0 0L8 4L0 8z"/></marker>'
            )
            for name, turn in (("tip", "auto"), ("tail", "auto-start-reverse"))
        )
        return (
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'role="img">\n<style>{_STYLE}</style>\n<defs>{marks}</defs>\n'
            )
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def architecture() -> str:
    """Diagram of the host, the SoC with a core, and its memory, as SVG text."""
    boards = [open_board(name) for name in board_names()]
    memories = sorted({board.memory.kind for board in boards})
    cores = [open_core(name).isa.ISA.title for name in core_names()]
    d = _Drawing(960, 430, "Host, SoC and memory of quintet")
    d.box(10, 14, 250, 400, "Host, Python", kind="host", align="top")
    d.box(28, 50, 214, 52, "network (ONNX)", "compiler: plan and programs")
    d.box(28, 116, 214, 52, "program, tensors", "assembler, jobs")
    d.box(28, 206, 214, 56, "Target", "one interface for all three below")
    d.box(28, 300, 66, 96, "golden", "model", "", "judge")
    d.box(102, 300, 66, 96, "virtual", "board", "", "CXXRTL")
    d.box(176, 300, 66, 96, "link", "client", "", "retries")
    d.wire((135, 102), (135, 116), one=True)
    d.wire((135, 168), (135, 206), one=True)
    for x in (61, 135, 209):
        d.wire((135, 262), (135, 280), (x, 280), (x, 300), one=True)
    d.box(
        330, 14, 440, 400, "SoC: bitstream, or compiled as a virtual board", kind="soc", align="top"
    )
    d.box(350, 330, 120, 60, "link bridge", "frames, CRC-32")
    d.box(350, 226, 120, 60, "Wishbone", "32 bits, watchdog")
    d.box(350, 122, 120, 60, "info ROM", "SoC registers")
    d.box(500, 48, 252, 196, "core", kind="core", align="top")
    d.box(516, 84, 104, 68, "control block", "registers", f"{len(COMMON_COUNTERS)} counters")
    d.box(634, 84, 104, 68, "engine", "of one ISA")
    d.box(516, 168, 222, 60, "shell", "arbiter, window guard, reset")
    d.box(540, 330, 170, 60, "memory arbiter", f"bursts of up to {MAX_BEATS} beats")
    d.box(800, 300, 150, 112, "memory", *memories)
    d.box(800, 48, 150, 196, "one engine each", *cores, kind="off")
    d.wire((242, 360), (350, 360))
    d.text(296, 350, "UART, USB")
    d.wire((410, 330), (410, 286))
    d.wire((410, 226), (410, 182))
    d.wire((470, 256), (486, 256), (486, 118), (516, 118))
    d.wire((470, 270), (520, 270), (520, 300), (600, 300), (600, 330))
    d.wire((620, 118), (634, 118))
    d.wire((686, 152), (686, 168))
    d.wire((650, 228), (650, 330))
    d.wire((710, 360), (800, 360))
    d.wire((800, 118), (738, 118), one=True)
    d.text(660, 290, "one memory port", "start")
    return d.svg()


#: Of a core's diagram: size of a box, and from one to the next.
_BOX, _NEXT = (158, 54), (190, 88)


def engine(isa: str) -> str:
    """Block diagram of the engine that larger FPGAs get, as SVG text."""
    boxes, wires = ENGINES[isa]
    title = open_core(isa).isa.ISA.title
    places = {
        name: (26 + column * _NEXT[0], 44 + row * _NEXT[1])
        for name, (column, row, *_) in boxes.items()
    }
    down = max(y for _, y in places.values()) + _BOX[1]
    width = max(x for x, _ in places.values()) + _BOX[0] + 26
    d = _Drawing(width, down + 96, f"{title}: units of the engine")
    d.box(8, 8, width - 16, down + 12, f"engine of {title}", kind="core", align="top")
    d.box(8, down + 42, width - 16, 42, "window guard, arbiter, main memory")
    for name, (_, _, head, text, _) in boxes.items():
        d.box(*places[name], *_BOX, head, text)
    for source, target in wires:
        if source == "memory":
            x, y = places[target]
            d.wire((x + 30, down + 42), (x + 30, y + _BOX[1]), one=True)
            continue
        if target == "memory":
            x, y = places[source]
            d.wire((x + 128, y + _BOX[1]), (x + 128, down + 42), one=True)
            continue
        d.wire(*_way(places[source], places[target]), one=True)
    return d.svg()


def _way(source, target):
    """Path of a wire between two boxes, as points."""
    (x, y), (u, v), (width, height) = source, target, _BOX
    if y == v:  # side by side
        return (
            ((x + width, y + height // 2), (u, v + height // 2))
            if u > x
            else ((x, y + height // 2), (u + width, v + height // 2))
        )
    below = v > y
    start, end = (y + height, v) if below else (y, v + height)
    if x == u:
        return (x + width // 2, start), (u + width // 2, end)
    side = u > x
    gap = u - 16 if side else u + width + 16
    return (
        ((x + width if side else x), y + height // 2 + 8),
        (gap, y + height // 2 + 8),
        (gap, v + height // 2 - 8),
        (u if side else u + width, v + height // 2 - 8),
    )


def pictures() -> dict[str, str]:
    """Draws all diagrams: name of the file -> SVG text."""
    return {"architecture.svg": architecture(), **{f"{isa}.svg": engine(isa) for isa in ENGINES}}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text)
