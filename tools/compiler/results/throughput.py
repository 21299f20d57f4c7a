# SPDX-License-Identifier: BSD-2-Clause
"""Throughput in inferences per second: upper bounds by core and link, the limiting one, and the
measured rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...build.reached import time_clock
from ..backends.base import line_seconds

if TYPE_CHECKING:
    from ...targets.base import TargetInfo
    from ..plan.plan import Plan
    from ..session.report import SessionReport

__all__ = ["on_the_line", "throughput", "throughput_rows"]


def on_the_line(info: TargetInfo, options: Mapping[str, Any]) -> bool:
    """Whether transfers take simulated or real time: on a board, and on a virtual board whose
    ``options`` simulate the link and load nothing past it."""
    return info.kind == "board" or options.get("link") == "wire" and options.get("load") != "direct"


def throughput(
    report: SessionReport, plan: Plan, info: TargetInfo, on_the_line: bool
) -> dict[str, Any]:
    """Inferences per second as a dict, ``None`` for unknown figures.

    Parameters
    ----------
    report : SessionReport
    plan : Plan
    info : TargetInfo
    on_the_line : bool, whether bytes took their time on a line:
        those of a virtual board's default link do not

    ``core``: by cycles at the clock of :func:`~quintet.tools.build.reached.time_clock`; ``line``:
    by the bytes that an input, its outputs and its run take on the line, frames and registers among
    them, at the line's rate; ``bound``: which of them is less; ``link``: measured.
    """
    found = dict.fromkeys(("core", "line", "bound", "link"))
    clock = plan.clock(time_clock(info).hz)
    if report.cycles and clock:
        found["core"] = clock * report.inputs / report.cycles
    seconds = line_seconds(info.link, report.sent_bytes, report.received_bytes)
    if seconds:
        found["line"] = report.inputs / seconds
    if found["core"] and found["line"]:
        found["bound"] = "core" if found["core"] <= found["line"] else "line"
    if on_the_line and report.moving_seconds:
        found["link"] = report.inputs / report.moving_seconds
    return found


def throughput_rows(
    found: Mapping[str, Any], plan: Plan, info: TargetInfo, report: SessionReport
) -> list[tuple[str, str, str]]:
    """Throughput as a table of rows (name, value, meaning)."""
    rows = []
    known = time_clock(info)
    if found["core"]:
        clock = plan.clock(known.hz)
        assert clock is not None  # the core's rate was computed from it
        rows.append(
            (
                "by the core",
                f"{found['core']:,.1f} inputs/s",
                f"{1e3 / found['core']:.3f} ms at {clock / 1e6:.4g} MHz",
            )
        )
    if report.cycles and known.note and info.kind != "board":
        rows.append(("clock", "" if found["core"] else "not known", known.note))
    if found["line"]:
        which = (
            f"; {'the core' if found['bound'] == 'core' else 'the line'} is the bound"
            if found["bound"]
            else ""
        )
        rows.append(
            (
                "by the line's rate",
                f"{found['line']:,.1f} inputs/s",
                f"{_line_text(info.link)}{which}",
            )
        )
    if found["link"]:
        bound = min(filter(None, (found["core"], found["line"])), default=None)
        share = "" if bound is None else f"{100 * found['link'] / bound:.0f} % of the bound, "
        rows.append(
            (
                "through the link",
                f"{found['link']:,.1f} inputs/s",
                share + ("beside the core's work" if report.overlapped else "one after the other"),
            )
        )
    return rows


def _line_text(link):
    return f"{link['baud']:,} baud" if link.get("baud") else "USB, full speed"
