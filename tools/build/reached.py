# SPDX-License-Identifier: BSD-2-Clause
"""Clock frequencies that place and route has reached, and the clock by which a target's cycles are
converted to time.

A virtual board counts the cycles of a SoC whatever its clock. Times are given at a clock that
builds of this preset have reached (``measured.json``), or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

__all__ = ["ReachedClock", "TimeClock", "main_mhz", "measured", "reached_clock", "time_clock"]

#: Builds of every board and core (`quintet matrix`).
_MEASURED = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class ReachedClock:
    """Main clock that the builds of a preset reached after routing.

    Attributes
    ----------
    hz : of the slowest build; a core's own clock counts by the share of it that was reached
    asked_hz : that this build was placed for
    seeds : of all builds
    date : of the slowest build, ``YYYY-MM-DD``
    router : its router, if not nextpnr's default
    """

    hz: float
    asked_hz: float
    seeds: tuple[int, ...]
    date: str
    router: str | None = None

    def __str__(self) -> str:
        seeds = f"seed{'s' * (len(self.seeds) > 1)} {', '.join(map(str, self.seeds))}"
        by = f" by {self.router}" if self.router else ""
        return (
            f"{self.hz / 1e6:.1f} MHz by place and route, {self.asked_hz / 1e6:g} asked{by}, "
            f"{seeds}, {self.date}"
        )


@dataclass(frozen=True)
class TimeClock:
    """Main clock for converting cycles to time: ``hz``, or ``None`` if no build has reached one;
    ``note`` says where it comes from, or why there is none, and is empty for golden models."""

    hz: float | None
    note: str = ""


class _Build(Protocol):
    """Common interface of a target's info and of a compilation's target build."""

    @property
    def kind(self) -> str: ...
    @property
    def isa(self) -> str | None: ...
    @property
    def preset(self) -> str | None: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def board(self) -> str | None: ...
    @property
    def clock_hz(self) -> int | None: ...
    @property
    def link(self) -> Mapping[str, Any] | None: ...
    @property
    def memory(self) -> Mapping[str, Any] | None: ...


@cache
def measured() -> dict[str, dict[str, Any]]:
    """Builds that quintet's documents show: cell key -> result."""
    return json.loads(_MEASURED.read_text())["cells"]


def reached_clock(
    board: str,
    isa: str,
    preset: str,
    link: str | None = None,
    cells: Mapping[str, dict[str, Any]] | None = None,
) -> ReachedClock | None:
    """Main clock that every build of a preset on a board has reached; ``None`` if none was routed.

    Parameters
    ----------
    link : str, optional
        Of the build; else the board's default one.
    cells : dict, optional
        Cell key -> measured build; else those of ``measured.json``.
    """
    known = measured() if cells is None else cells
    ending = f"/{link}" if link else ""
    built = [
        cell
        for key, cell in known.items()
        if key == f"{board}/{isa}/{preset}/{cell['seed']}{ending}" and "clock_reached_mhz" in cell
    ]
    if not built:
        return None
    slowest = min(built, key=main_mhz)
    return ReachedClock(
        hz=main_mhz(slowest) * 1e6,
        asked_hz=slowest["clock_asked_mhz"] * 1e6,
        seeds=tuple(sorted(cell["seed"] for cell in built)),
        date=slowest["date"],
        router=slowest.get("router"),
    )


def main_mhz(cell: Mapping[str, Any]) -> float:
    """Main clock, in MHz, at which all clocks of the core meet timing; they run in a fixed ratio.
    ``cell`` is a measured build or the report of a build."""
    shares = [
        clock["reached_mhz"] / clock["asked_mhz"]
        for name, clock in cell["clocks"].items()
        if name == "array"
    ]
    return min([cell["clock_reached_mhz"], *(cell["clock_asked_mhz"] * share for share in shares)])


def time_clock(build: _Build) -> TimeClock:
    """The main clock for times of a target: the clock of a physical board; for a virtual board the
    clock for which it is built, or less if builds of its preset have reached less."""
    if build.kind == "board":
        return TimeClock(build.clock_hz, "the board's clock")
    if build.board is None or build.isa is None or build.clock_hz is None:
        return TimeClock(None)
    if not build.preset or not _is_preset(build):
        return TimeClock(None, "no build with these parameters has been routed")
    reached = reached_clock(build.board, build.isa, build.preset, _other_link(build))
    if reached is None:
        return TimeClock(None, f"no build of {build.preset} has been routed for {build.board}")
    return TimeClock(min(build.clock_hz, reached.hz), str(reached))


def _is_preset(build):
    """Whether the parameters are those of the preset, and the on-chip memory, if its size is known,
    has the preset's size, and the SDRAM the main clock."""
    from ...boards import open_board
    from ...gateware.cores import open_core

    package = open_core(build.isa)
    space = package.params.SPACE
    if build.preset not in space.presets or dict(build.params) != space.resolve(build.preset):
        return False
    if build.memory is None:
        return True
    if build.memory.get("rate", 1) > 1:
        return False
    default, _ = open_board(build.board).on_chip_memory(package, build.preset, {})
    return (build.memory.get("on_chip") or {}).get("size", 0) == default


def _other_link(build):
    """Kind of the link if it differs from the board's default."""
    from ...boards import open_board

    kind = (build.link or {}).get("kind")
    return None if kind in (None, open_board(build.board).link.kind) else kind
