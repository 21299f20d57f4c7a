# SPDX-License-Identifier: BSD-2-Clause
"""Stages of a build: the running tool and its progress, from its logs, and the time of earlier
builds of the same kind."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .logs import TOP

__all__ = ["Stage", "Watcher", "expected_seconds", "stage_of"]

#: Bytes from the end of a log that are looked at.
_TAIL = 20_000
#: Builds of every board and core, with the seconds that each took (`quintet matrix`).
_MEASURED = Path(__file__).with_name("measured.json")

#: Lines of nextpnr's log that begin a stage, in the order in which stages follow each other.
_BEGINNINGS = (
    ("packing", r"Packing|Logic utilisation before packing"),
    ("placing", r"Creating initial analytic placement"),
    ("routing", r"Routing globals|Routing\.\.|Setting up routing"),
    ("timing and bitstream", r"Routing complete"),
)
#: Lines of nextpnr's log that tell how far a stage is.
_PROGRESS = (
    ("placing", r"at iteration #(\d+), type \w+: wirelen solved", "iteration {}"),
    ("placing", r"  at iteration #(\d+): temp", "refinement, iteration {}"),
    ("routing", r"iter=(\d+) wires=\d+ overused=(\d+)", "iteration {}, {:,} wires used twice"),
    # router1: arcs routed so far and still to route.
    ("routing", r"\|[^|]*\|[^|]*\|\s*(\d+)\|", "{:,} arcs left"),
)


@dataclass(frozen=True)
class Stage:
    """A stage of a build: its ``name``, and its progress in words, ``detail`` (may be empty)."""

    name: str
    detail: str = ""


def stage_of(folder: Path) -> Stage:
    """Current stage of the tools in ``folder``."""
    placed = _tail(folder / f"{TOP}.tim")
    if not placed:
        return Stage("synthesis", _yosys_pass(_tail(folder / f"{TOP}.rpt")))
    name = "packing"
    for stage, pattern in _BEGINNINGS:
        if re.search(pattern, placed):
            name = stage
    detail, last = "", -1
    for stage, pattern, text in _PROGRESS:
        found = list(re.finditer(pattern, placed))
        if stage == name and found and found[-1].start() > last:
            detail, last = text.format(*map(int, found[-1].groups())), found[-1].start()
    return Stage(name, detail)


def _yosys_pass(log):
    """Name of the current yosys pass."""
    passes = re.findall(r"^[\d.]+ Executing (\w+)", log, re.M)
    return passes[-1] if passes else ""


def _tail(path):
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            # The first lines say which stages have begun.
            head = b""
            if size > _TAIL:
                file.seek(0)
                head = b"".join(
                    line
                    for line in file.read(size - _TAIL).splitlines(keepends=True)
                    if line.startswith((b"Info: Creating", b"Info: Rout", b"Info: Setting"))
                )
            file.seek(max(0, size - _TAIL))
            return (head + file.read()).decode("utf-8", "replace")
    except OSError:
        return ""


def expected_seconds(board: str, isa: str | None, preset: str | None, seed: int) -> float | None:
    """Expected seconds of a build of this board, core and preset, from the table of measured
    builds; the same seed is preferred. ``None`` if there is none."""
    cells = json.loads(_MEASURED.read_text())["cells"]
    found = {
        cell["seed"]: cell["seconds"]
        for key, cell in cells.items()
        if key.rpartition("/")[0] == f"{board}/{isa}/{preset}" and cell.get("seconds")
    }
    return found.get(seed, max(found.values(), default=None))


class Watcher:
    """Progress reporter for a build: shows each stage while the tools run.

    Parameters
    ----------
    folder : Path
    progress : callable(str)
        Receives each stage when it begins, with the seconds that the one before took.
    detail : callable(str, str)
        Receives stage and detail, again and again.
    """

    def __init__(
        self, folder: Path, progress: Callable[[str], object], detail: Callable[[str, str], object]
    ) -> None:
        self._folder, self._progress, self._detail = folder, progress, detail
        self._name: str | None = None
        self._began = time.monotonic()

    def look(self) -> None:
        """Reads the logs and reports changes."""
        stage = stage_of(self._folder)
        if stage.name != self._name:
            now = time.monotonic()
            behind = f" ({self._name}: {now - self._began:.0f} s)" if self._name else ""
            self._progress(stage.name + behind)
            self._name, self._began = stage.name, now
        self._detail(stage.name, stage.detail)
