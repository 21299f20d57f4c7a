# SPDX-License-Identifier: BSD-2-Clause
"""Measured builds in the documents (``tools/build/measured.json``), imported from the results of
`quintet matrix`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..build.matrix import Cell, design_of, is_stale, load
from ..errors import InputError

__all__ = ["OTHERS", "PATH", "mark", "mark_stale", "read", "take_over"]

#: Clocks that are shown beside the main one: a core's own, and those of USB. Others are the
#: netlist's.
OTHERS = ("array", "usb_io", "usb")
#: Of a cell's result, what the documents keep beside ``clocks``; ``sources`` is the digest of the
#: sources it was built from, ``stale`` says that they have changed it since (:func:`mark_stale`).
_KEPT = (
    "board",
    "isa",
    "preset",
    "seed",
    "link",
    "clock_asked_mhz",
    "clock_reached_mhz",
    "luts",
    "ffs",
    "dsps",
    "brams",
    "seconds",
    "state",
    "date",
    "commit",
    "router",
    "placer",
    "mapping",
    "design",
)

PATH = Path(__file__).resolve().parents[1] / "build" / "measured.json"


def read(path: Path = PATH) -> dict[str, dict[str, Any]]:
    """Reads the measured builds: cell key -> result."""
    return json.loads(path.read_text())["cells"]


def take_over(known: Mapping[str, dict[str, Any]], folder: str | Path) -> dict[str, dict[str, Any]]:
    """Merges the cells that `quintet matrix` wrote to ``folder`` into ``known``.

    Raises
    ------
    InputError
        ``folder`` holds no table of `quintet matrix`.
    """
    path = Path(folder) / "matrix.json"
    if not path.is_file():
        raise InputError(f"{path}: no such table of quintet matrix")
    new = {
        key: {
            **{name: cell[name] for name in _KEPT if name in cell},
            "clocks": {
                name: clock for name, clock in cell.get("clocks", {}).items() if name in OTHERS
            },
            "sources": cell["digest"],
        }
        for key, cell in load(path).items()
    }
    return {key: cell for key, cell in sorted({**known, **new}.items())}


def mark_stale(
    cells: Mapping[str, dict[str, Any]],
    digest: str,
    design: Callable[[Cell], str | None] = design_of,
) -> dict[str, dict[str, Any]]:
    """Returns ``cells`` with ``stale`` set in those older than their sources; ``digest`` and
    ``design`` as of :func:`~quintet.tools.build.matrix.is_stale`."""
    found = {}
    for key, cell in cells.items():
        mapping = cell.get("mapping")
        of = Cell(cell["board"], cell["isa"], cell["preset"], cell["seed"])
        link = key.removeprefix(of.key).removesuffix(mapping or "").strip("/")
        of = replace(of, link=link or None, mapping=mapping)
        rest = {name: value for name, value in cell.items() if name != "stale"}
        found[key] = rest | ({"stale": True} if is_stale(of, cell, digest, design) else {})
    return found


def mark(cells: Mapping[str, dict[str, Any]], board: str, isa: str, preset: str) -> str:
    """Summary of a preset's builds on a board, with its default link: clocks by ascending seed, or
    the reason for their absence; empty if it was never built."""
    built = sorted(
        (c for key, c in cells.items() if key == f"{board}/{isa}/{preset}/{c['seed']}"),
        key=lambda c: c["seed"],
    )
    clocks = [c for c in built if "clock_reached_mhz" in c]
    if clocks:
        asked = min(c["clock_asked_mhz"] for c in clocks)
        missed = any(c["clock_reached_mhz"] < c["clock_asked_mhz"] for c in clocks)
        others = sorted({name for c in clocks for name in c["clocks"]})
        late = {name: [c["clocks"][name] for c in clocks if name in c["clocks"]] for name in others}
        return "; ".join(
            [
                ", ".join(f"{c['clock_reached_mhz']:.1f}" for c in clocks)
                + (f" of {asked:g}" if missed else "")
                + " MHz"
            ]
            + [
                f"{name} "
                + ", ".join(f"{c['reached_mhz']:.1f}" for c in of)
                + f" of {of[0]['asked_mhz']:g}"
                for name, of in late.items()
                if any(c["reached_mhz"] < c["asked_mhz"] for c in of)
            ]
        )
    if any(c["state"].startswith("does not fit") for c in built):
        return "too large"
    return "not routed" if built else ""
