# SPDX-License-Identifier: BSD-2-Clause
"""Report of a run: its outcome, and its counters with their meaning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..build.reached import time_clock
from ..targets.ceilings import info_ceilings

if TYPE_CHECKING:
    from .runner import JobResult

__all__ = [
    "counter_rows",
    "describe_fault",
    "describe_outcome",
    "explanation",
    "run_object",
    "run_rows",
]

STALLS = (
    ("stall_fetch", "waiting for instructions"),
    ("stall_operand", "waiting for operands from memory or another unit's data"),
    ("stall_write", "waiting for memory writes"),
    ("stall_other", "waiting for another unit, or draining"),
)


def run_object(result: JobResult) -> dict[str, Any]:
    """The object that ``quintet run --json`` prints."""
    outcome, info = result.outcome, result.info
    fault = None
    if outcome.fault is not None:
        fault = {
            "code": outcome.fault.code,
            "name": outcome.fault.name,
            "pc": outcome.fault.pc,
            "detail": outcome.fault.detail,
            **_where(result, outcome.fault.pc),
        }
        if len(result.image.steps) > 1:
            fault["run"] = len(result.outcomes) - 1
    return {
        "isa": result.job.core,
        "target": result.target,
        "status": outcome.status,
        "cycles": outcome.counters.get("cycles"),
        "counters": dict(outcome.counters),
        "values": dict(outcome.values),
        "recognised": result.recognised,
        "outputs": list(result.outputs),
        "fault": fault,
        "board": info.board,
        "preset": info.preset,
        "params": dict(info.params),
        "clock_hz": info.clock_hz,
        "time_hz": _time_hz(info),
        "clock_note": time_clock(info).note,
        "memory": dict(info.memory),
        "memory_size": info.memory_size,
        "ceilings": info_ceilings(info),
        "places": _places(result),
        "loaded_bytes": result.loaded_bytes,
        "load_seconds": round(result.load_seconds, 6),
        "run_seconds": round(result.run_seconds, 6),
        "warnings": result.image.warnings,
        "notes": explanation(result),
        "runs": [
            {
                "program": step.name,
                "status": one.status,
                "cycles": one.counters.get("cycles"),
                "counters": dict(one.counters),
                "values": dict(one.values),
            }
            for step, one in zip(result.image.steps, result.outcomes, strict=False)
        ],
    }


def _places(result):
    """Contents of main memory, rows in address order: ``what``, ``kind``, ``at``, ``bytes``."""
    programs = {step.at for step in result.image.steps}
    found = [
        {
            "what": part.what,
            "kind": "program" if part.at in programs else "load",
            "at": part.at,
            "bytes": len(part.data),
        }
        for part in result.image.parts
    ]
    found += [
        {"what": save.name, "kind": "save", "at": save.at, "bytes": save.size}
        for save in result.job.saves
    ]
    return sorted(found, key=lambda place: (place["at"], place["bytes"]))


def _where(result, pc):
    found = result.source(pc)
    if found is None:
        return {}
    return {"file": str(found[0]), "line": found[1]}


def describe_outcome(result: JobResult) -> str:
    """Describes the outcome of a run in one line."""
    outcome = result.outcome
    cycles = outcome.counters.get("cycles")
    took = "" if cycles is None else f" after {cycles:,} cycles"
    if len(result.image.steps) > 1 and outcome.status != "done":
        took += f" in {result.last.what}"
    if outcome.status == "done":
        return f"done{took}"
    if outcome.status == "aborted":
        limit = result.job.cycle_limit
        if limit is None:
            return f"aborted{took}"
        counted = (
            "cycles" if cycles is not None else "instructions (the model does not count cycles)"
        )
        return f"aborted{took}: stopped by the limit of {limit:,} {counted}; nothing was saved"
    return f"core fault{took}: {describe_fault(result)}; nothing was saved"


def describe_fault(result: JobResult) -> str:
    """Describes a fault: ``host_range (20) at pc 0x108c, small.a line 11, detail 9 (low 32 bits of
    addr+n-1)``."""
    from .registers import RegisterMap

    fault = result.outcome.fault
    if fault is None:
        return "no fault"
    known = RegisterMap(result.job.isa).fault(fault.name)
    where = result.source(fault.pc)
    place = f", {Path(where[0]).name} line {where[1]}" if where else ""
    detail = f"detail {fault.detail:#x}" if fault.detail > 9 else f"detail {fault.detail}"
    meaning = f" ({known.detail})" if known is not None and known.detail else ""
    return f"{fault.name} ({fault.code}) at pc {fault.pc:#x}{place}, {detail}{meaning}"


def explanation(result: JobResult) -> list[str]:
    """Further explanation, by the ISA and the target, of a run that did not end well."""
    outcome, explain = result.outcome, result.job.package.software.SOFTWARE.explain
    known = (
        explain(result.last.program, result.last.at, outcome)
        if explain is not None and outcome.fault is not None
        else []
    )
    return [*known, *outcome.notes]


def run_rows(result: JobResult) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Table of the programs of a job that has several: column names, and one row of counters per
    program."""
    names = list(dict.fromkeys(name for outcome in result.outcomes for name in outcome.counters))
    rows = [
        (
            step.what,
            outcome.status,
            *(f"{outcome.counters[name]:,}" if name in outcome.counters else "" for name in names),
        )
        for step, outcome in zip(result.image.steps, result.outcomes, strict=False)
    ]
    return ("program", "end", *(f">{name}" for name in names)), rows


def counter_rows(result: JobResult) -> list[tuple[str, str, str]]:
    """Rows ``(name, value, meaning)`` of the known counters, with derived figures."""
    counters = dict(result.outcome.counters)
    rows = []
    cycles = counters.pop("cycles", None)
    clock = _time_hz(result.info)

    def share(count):
        return f"{100 * count / cycles:.1f} % of the cycles" if cycles else ""

    if cycles is not None:
        time = f", {time_text(cycles / clock)} at {clock / 1e6:.4g} MHz" if clock else ""
        rows.append(("cycles", f"{cycles:,}", f"from start to end of the run{time}"))
        if result.info.kind == "sim":
            rows.append(("clock", "" if clock else "not known", time_clock(result.info).note))
    for name, meaning in (
        ("instructions", "retired"),
        ("operations", "MACs or element operations"),
    ):
        if name in counters:
            value = counters.pop(name)
            each = f", {value / cycles:.2f} a cycle" if cycles and name == "operations" else ""
            rows.append((name, f"{value:,}", meaning + each))
    if "work" in counters:
        work = counters.pop("work")
        rows.append(("work", f"{work:,}", _join("the compute unit worked", share(work))))
        total = work
        for name, meaning in STALLS:
            if name in counters:
                value = counters.pop(name)
                total += value
                rows.append((name, f"{value:,}", _join(meaning, share(value))))
        if cycles is not None and total != cycles:
            rows.append(
                ("sum", f"{total:,}", f"WRONG: work and stalls must add up to {cycles:,} cycles")
            )
    for name, verb in (("bytes_read", "read from"), ("bytes_written", "written to")):
        if name in counters:
            value = counters.pop(name)
            each = f"{value / cycles:.2f} bytes a cycle" if cycles else ""
            rows.append((name, f"{value:,}", _join(f"{verb} main memory", each)))
    own = {counter.name: counter.doc for counter in result.job.isa.counters}
    for name, value in counters.items():
        rows.append((name, f"{value:,}", own.get(name, "")))
    return rows


def _time_hz(info):
    """Clock frequency by which counters are converted to times, ``None`` if unknown."""
    return info_ceilings(replace(info, clock_hz=time_clock(info).hz))["clock_hz"]


def _join(*parts):
    return ", ".join(part for part in parts if part)


def time_text(seconds: float) -> str:
    """Formats a time with three digits and its unit: ``1.23 ms``."""
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
