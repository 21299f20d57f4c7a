# SPDX-License-Identifier: BSD-2-Clause
"""Delays of paths between clock domains, from nextpnr's log."""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["crossings", "late"]

_BETWEEN = re.compile(
    r"Max delay (posedge|negedge) (\S+)\s*-> (posedge|negedge) (\S+)\s*: ([\d.]+) ns"
)
_ASKED = (
    re.compile(r"Max frequency for clock\s+'([^']+)':.*? at ([\d.]+) MHz\)"),
    re.compile(r"[Cc]onstraining clock net '([^']+)' to ([\d.]+) MHz"),
    re.compile(r"[Dd]erived frequency constraint of ([\d.]+) MHz for net (\S+)"),
)

#: What nextpnr puts before the name of a net that it makes global.
_GLOBAL = "$glbnet$"


def _frequencies(log):
    """Parses the requested frequencies: clock net -> MHz."""
    found = {}
    for pattern in reversed(_ASKED):
        for first, second in pattern.findall(log):
            net, mhz = (second, first) if pattern is _ASKED[2] else (first, second)
            found[net.removeprefix(_GLOBAL)] = float(mhz)
    return found


def crossings(log: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Longest paths from one clock to another, as last reported by nextpnr after routing.

    The bits of a Gray code must arrive within a period of the clock that they leave, since the
    other side may otherwise see two counts mixed. nextpnr does not say which paths are such, so all
    are held to that.

    Parameters
    ----------
    log : str
    names : dict, clock net -> its name in the report; others keep the netlist's names

    Returns
    -------
    list of dict
        ``from``, ``to``, ``delay_ns``, ``limit_ns`` (``None``: the log knows no frequency of that
        clock), ``met``.
    """
    frequencies = _frequencies(log)
    # Each pair of edges is reported after placing, and again after routing.
    last = {
        (out, source, into, target): float(delay)
        for out, source, into, target, delay in _BETWEEN.findall(log)
    }
    longest: dict[tuple[str, str], float] = {}
    for (_, source, _, target), delay in last.items():
        pair = source.removeprefix(_GLOBAL), target.removeprefix(_GLOBAL)
        if pair[0] != pair[1]:
            longest[pair] = max(delay, longest.get(pair, 0))
    found = []
    for (source, target), delay in longest.items():
        limit = 1e3 / frequencies[source] if source in frequencies else None
        found.append(
            {
                "from": names.get(source, source),
                "to": names.get(target, target),
                "delay_ns": delay,
                "limit_ns": limit and round(limit, 2),
                "met": limit is not None and delay < limit,
            }
        )
    return found


def late(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The clock crossings in a build's report that miss their timing."""
    return [each for each in report.get("crossings", ()) if not each["met"]]
