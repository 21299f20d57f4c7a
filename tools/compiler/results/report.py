# SPDX-License-Identifier: BSD-2-Clause
"""Summary of a plan as tables and as a JSON object: layers, cycles, memory, and whether the core or
the host runs each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from ..plan import CoreStep
from .places import build_object

if TYPE_CHECKING:
    from ...build.reached import TimeClock
    from ...console import Console
    from ..plan.plan import Plan
    from .noise import NoiseReport

__all__ = [
    "clock_object",
    "plan_object",
    "plan_rows",
    "show_layers",
    "show_noise",
    "show_plan",
]

#: Layers of a noise report that a terminal shows.
_NOISIEST = 10
#: Optional fields of rows, and their columns.
_MORE = {"measured": ">measured", "snr": ">SNR dB"}


def plan_rows(
    plan: Plan,
    counters: Mapping[tuple[int, int], Mapping[str, float]] | None = None,
    snr: Mapping[tuple[int, int], float | None] | None = None,
) -> list[dict[str, Any]]:
    """One row per layer: name, kind, place, multiply-accumulates, estimated cycles and bytes, all
    per input.

    ``counters``, ``snr``: of :mod:`.layers`; with them rows have ``counters`` and ``measured``
    (cycles; ``None`` where they are with a later layer), ``snr`` (dB).
    """
    rows = []
    for number, step in enumerate(plan.steps):
        if not isinstance(step, CoreStep):
            rows += [
                {
                    "layer": node.name,
                    "kind": node.kind,
                    "where": "host",
                    "macs": 0,
                    "cycles": 0,
                    "bytes": 0,
                }
                for node in step.graph.nodes
            ]
            continue
        kinds = dict.fromkeys(step.lowered.states, "state")
        kinds |= {node.name: node.kind for node in step.part.graph.nodes}
        for place, span in enumerate(step.lowered.layers):
            kind = "+".join(kinds.get(name, "?") for name in span.nodes) or kinds.get(
                span.name, "?"
            )
            rows.append(
                {
                    "layer": span.name,
                    "kind": kind,
                    "where": plan.isa,
                    "macs": span.macs,
                    "cycles": round(span.cycles / step.lowered.images),
                    "bytes": round(span.bytes / step.lowered.images),
                }
            )
            if counters is not None:
                here = counters.get((number, place))
                rows[-1] |= {
                    "measured": None if here is None else round(here["cycles"]),
                    "counters": here,
                }
            if snr is not None:
                rows[-1]["snr"] = snr.get((number, place))
    return rows


def plan_object(
    plan: Plan, clock_hz: float | None = None, clock: TimeClock | None = None
) -> dict[str, Any]:
    """A plan's summary as a JSON object, for a main clock of ``clock_hz``. Its clocks are those
    that count the plan's cycles; ``clock``: result of :func:`clock_object`."""
    rows = plan_rows(plan)
    return {
        "network": plan.network,
        "board": plan.board,
        "memory": plan.memory,
        **build_object(plan, clock_hz=clock_hz),
        "cycles_estimated": round(plan.cycles),
        "clock_hz": plan.clock(clock_hz),
        **clock_object(plan, clock),
        "macs": sum(row["macs"] for row in rows),
        "snr": plan.snr if plan.snr is not None and isfinite(plan.snr) else None,
        "programs": [len(step.lowered.program) for step in plan.core_steps],
        "layers": rows,
        "choices": plan.choices,
        "notes": plan.notes,
    }


def clock_object(plan: Plan, clock: TimeClock | None) -> dict[str, Any]:
    """Clock from which times are computed, as a JSON object: ``time_hz`` of the clock that counts a
    plan's cycles, or ``None``, and ``clock_note``."""
    return {
        "time_hz": None if clock is None else plan.clock(clock.hz),
        "clock_note": "" if clock is None else clock.note,
    }


def show_plan(console: Console, plan: Plan, clock: TimeClock | None = None) -> None:
    """Prints a plan as a table."""
    rows = plan_rows(plan)
    for note in plan.notes:
        console.note(f"quintet: {note}")
    show_layers(console, rows)
    where = f"{plan.board}, {plan.preset}" if plan.board else plan.preset or "sizes of its own"
    hz = None if clock is None else plan.clock(clock.hz)
    time = f", {plan.cycles / hz * 1e3:.3f} ms at {hz / 1e6:.4g} MHz" if hz else ""
    console.out(
        f"{plan.network} for {plan.isa} ({where}): {sum(row['macs'] for row in rows):,} "
        f"multiplications and some {plan.cycles:,.0f} cycles an input{time}"
    )
    if clock is not None and clock.note:
        console.out(f"clock: {clock.note}")
    console.out(
        f"main memory: {plan.memory:,} of {plan.memory_size:,} bytes, programs "
        f"{sum(len(s.lowered.program) for s in plan.core_steps):,}"
    )
    if plan.snr is not None:
        ratio = "infinite, all results are equal" if plan.snr == inf else f"{plan.snr:.1f} dB"
        console.out(f"signal to noise against floating point: {ratio}")


def show_noise(console: Console, report: NoiseReport) -> None:
    """Prints the noisiest layers as a table, with advice."""
    rows = [row for row in report.layers if row.share > 0]
    if not rows:
        console.out("no layer adds noise to the outputs")
        return
    console.out(
        f"noise of each layer alone at the outputs, on {report.inputs} "
        f"input{'s' * (report.inputs > 1)}:"
    )
    console.table(
        ("layer", "what", ">share %", ">SNR dB", ">rounding %", ">clipped %"),
        [
            (
                _short(row.layer),
                row.kind,
                f"{100 * row.share:.1f}",
                f"{row.snr:.1f}",
                f"{100 * row.rounding:.0f}",
                f"{100 * row.clipped:.2g}",
            )
            for row in rows[:_NOISIEST]
        ],
    )
    for text in report.advice:
        console.out(f"advice: {text}")


def show_layers(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints rows of :func:`plan_rows` as a table."""
    more = [key for key in _MORE if any(key in row for row in rows)]
    console.table(
        ("layer", "what", "on", ">MACs", ">cycles", *(_MORE[key] for key in more), ">bytes"),
        [_row(row, more) for row in _gathered(rows)],
    )


def _gathered(rows):
    """Merges consecutive host steps into one row."""
    found = []
    for row in rows:
        if row["where"] == "host" and found and found[-1]["where"] == "host":
            found[-1] = {**found[-1], "count": found[-1].get("count", 1) + 1}
        else:
            found.append(row)
    return found


def _row(row, more):
    if row["where"] == "host":
        others = row.get("count", 1) - 1
        return (
            _short(row["layer"]),
            row["kind"] + (f" and {others} more" if others else ""),
            "host",
            *[""] * (3 + len(more)),
        )
    shown = [_shown(key, row.get(key)) for key in more]
    return (
        _short(row["layer"]),
        row["kind"],
        row["where"],
        f"{row['macs']:,}",
        f"{row['cycles']:,}",
        *shown,
        f"{row['bytes']:,}",
    )


def _shown(key, value):
    return "" if value is None else f"{value:,}" if key == "measured" else f"{value:.1f}"


def _short(name, most=28):
    return name if len(name) <= most else "..." + name[3 - most :]
