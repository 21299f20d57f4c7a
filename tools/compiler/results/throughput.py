# SPDX-License-Identifier: BSD-2-Clause
"""Inferences a second: by the core, by the line's rate, and as they went through the link; which of the first two is the bound."""

__all__ = ["on_the_line", "throughput", "throughput_rows"]

#: Bits of a byte on a serial line.
_UART_BITS = 10
#: Bytes a second that bulk transfers of full-speed USB carry at most: 19 packets of 64 bytes in a frame of a millisecond.
_USB_BYTES = 19 * 64 * 1000


def on_the_line(info, options):
    """Whether bytes took their time on a line: on a board, and on a virtual one whose ``options`` ask for its wires and load nothing past them."""
    return info.kind == "board" or options.get("link") == "wire" and options.get("load") != "direct"


def throughput(report, plan, info, on_the_line):
    """Inferences a second as a dict, ``None`` for what is not known.

    Parameters
    ----------
    report : SessionReport
    plan : Plan
    info : TargetInfo
    on_the_line : bool, whether bytes took their time on a line: those of a virtual board's default link do not

    ``core``: by cycles at the board's clock; ``line``: by the bytes of an input and its outputs at the line's rate; ``bound``: which of them is less;
    ``link``: measured.
    """
    found = dict.fromkeys(("core", "line", "bound", "link"))
    clock = plan.clock(info.clock_hz)
    if report.cycles and clock:
        found["core"] = clock * report.inputs / report.cycles
    link = info.link if isinstance(info.link, dict) else {}
    if link.get("baud"):        # both directions at once
        found["line"] = link["baud"] / _UART_BITS * report.inputs / max(report.input_bytes, report.output_bytes, 1)
    elif link.get("kind") == "usb":
        found["line"] = _USB_BYTES * report.inputs / max(report.input_bytes + report.output_bytes, 1)
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
        rows.append(("by the core", f"{found['core']:,.1f} inputs/s", f"{1e3 / found['core']:.3f} ms at {clock / 1e6:g} MHz"))
    if found["line"]:
        which = f"; {'the core' if found['bound'] == 'core' else 'the line'} is the bound" if found["bound"] else ""
        rows.append(("by the line's rate", f"{found['line']:,.1f} inputs/s", f"{_line_text(info.link)}{which}"))
    if found["link"]:
        bound = min(filter(None, (found["core"], found["line"])), default=None)
        share = "" if bound is None else f"{100 * found['link'] / bound:.0f} % of the bound, "
        rows.append(("through the link", f"{found['link']:,.1f} inputs/s", share + ("beside the core's work" if report.overlapped else "one after the other")))
    return rows


def _line_text(link):
    return f"{link['baud']:,} baud" if link.get("baud") else "USB, full speed"
