# SPDX-License-Identifier: BSD-2-Clause
"""Inferences a second: by the core, by the line's rate, and as they went through the link; which of
the first two is the bound."""

from ..line import line_seconds

__all__ = ["on_the_line", "throughput", "throughput_rows"]


def on_the_line(info, options):
    """Whether bytes took their time on a line: on a board, and on a virtual one whose ``options``
    ask for its wires and load nothing past them."""
    return info.kind == "board" or options.get("link") == "wire" and options.get("load") != "direct"


def throughput(report, plan, info, on_the_line):
    """Inferences a second as a dict, ``None`` for what is not known.

    Parameters
    ----------
    report : SessionReport
    plan : Plan
    info : TargetInfo
    on_the_line : bool, whether bytes took their time on a line:
        those of a virtual board's default link do not

    ``core``: by cycles at the board's clock; ``line``: by the bytes that an input, its outputs and
    its run take on the line, frames and registers among them, at the line's rate; ``bound``: which
    of them is less; ``link``: measured.
    """
    found = dict.fromkeys(("core", "line", "bound", "link"))
    clock = plan.clock(info.clock_hz)
    if report.cycles and clock:
        found["core"] = clock * report.inputs / report.cycles
    seconds = line_seconds(info.link, report.sent_bytes, report.received_bytes)
    if seconds:
        found["line"] = report.inputs / seconds
    if found["core"] and found["line"]:
        found["bound"] = min("core", "line", key=found.get)
    if on_the_line and report.moving_seconds:
        found["link"] = report.inputs / report.moving_seconds
    return found


def throughput_rows(found, plan, info, report):
    """Rows of a table (what, value, meaning)."""
    rows = []
    if found["core"]:
        clock = plan.clock(info.clock_hz)
        rows.append(
            (
                "by the core",
                f"{found['core']:,.1f} inputs/s",
                f"{1e3 / found['core']:.3f} ms at {clock / 1e6:g} MHz",
            )
        )
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
