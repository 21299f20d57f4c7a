# SPDX-License-Identifier: BSD-2-Clause
"""The first minute: the OpenTPU core of a virtual board classifies handwritten digits.

The program is compiled; program, weights and images are streamed over the host link into the
board's memory; the core runs; its results are read back and compared bit for bit with the golden
model.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from quintet.tools.errors import Exit
from quintet.tools.jobs.report import time_text
from quintet.tools.targets.names import public_name

from . import run_demo

if TYPE_CHECKING:
    from quintet.tools.console import Console

DEMO_TARGET = "sim:ulx3s-85f/opentpu"

#: Rows of the table: what, how it is computed from a run, what it means.
ROWS = (
    (
        "inputs right",
        lambda r: f"{r.correct} of {r.images}",
        "held out: no network has seen them in training",
    ),
    (
        "accuracy",
        lambda r: f"{100 * r.accuracy:.1f} %",
        lambda r: (
            f"the network in floating point, before quantisation: {100 * r.float_accuracy:.1f} %"
        ),
    ),
    (
        "equal to the golden model",
        lambda r: "every bit" if r.equal else "NO",
        "results and counters",
    ),
    ("cycles", lambda r: _count(r, "cycles"), "from start to end of the run"),
    ("time at the board's clock", lambda r: _time(r), "what a physical board would take"),
    ("images a second", lambda r: _rate(r), "without their way over the link"),
    ("instructions", lambda r: _count(r, "instructions"), "one takes up to 256 vectors"),
    ("MACs", lambda r: _count(r, "operations"), "multiply and accumulate, int8"),
    (
        "MACs a cycle",
        lambda r: _per_cycle(r, "operations"),
        lambda r: f"the array's limit is {r.peak}",
    ),
    ("cycles at work", lambda r: _share(r, "work"), "the array takes in a vector"),
    ("waiting for instructions", lambda r: _share(r, "stall_fetch"), ""),
    (
        "waiting for data",
        lambda r: _share(r, "stall_operand"),
        "images and weights on their way from memory",
    ),
    ("waiting for writes", lambda r: _share(r, "stall_write"), "results on their way to memory"),
    ("waiting for another unit", lambda r: _share(r, "stall_other"), "array, activation, pipeline"),
    (
        "bytes read, written",
        lambda r: f"{_count(r, 'bytes_read')}, {_count(r, 'bytes_written')}",
        "main memory",
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--on",
        metavar="TARGET",
        default=DEMO_TARGET,
        help=f"another target with an OpenTPU core (default: {DEMO_TARGET})",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    began = time.monotonic()

    def elapsed(text):
        return f"[{time.monotonic() - began:6.1f} s] {text}"

    step = f"opening {public_name(args.on)}"

    def say(text):
        nonlocal step
        # Without what follows its name: an estimate, further steps.
        step = text.strip().partition(" (")[0].partition(",")[0]
        console.note(elapsed(text))

    with (
        console.progress() as progress,
        console.signs_of_life(lambda: elapsed(f"  still at it: {step}")),
    ):
        info, runs = run_demo(args.on, say, progress)
    seconds = time.monotonic() - began
    rows = [
        (name, *(value(r) for r in runs), meaning(runs[0]) if callable(meaning) else meaning)
        for name, value, meaning in ROWS
    ]
    # The model counts no cycles.
    console.table(
        ("", *(f">{r.title}" for r in runs), "meaning"),
        [row for row in rows if set(row[1:-1]) != {"-"}],
    )
    for r in runs:
        for trouble in r.troubles:
            console.out(f"DIFFERENT ({r.title}): {trouble}")
    good = all(r.equal for r in runs)
    clock = f" at {info.clock_hz / 1e6:g} MHz" if info.clock_hz else ""
    console.out(
        f"{info.board or 'golden model'}, {info.isa} {info.preset or ''}{clock}: "
        + ("every result is the golden model's, bit for bit" if good else "there are differences")
        + f"; {seconds:.0f} s in all."
    )
    console.result(
        {
            "target": public_name(args.on),
            "board": info.board,
            "isa": info.isa,
            "preset": info.preset,
            "clock_hz": info.clock_hz,
            "networks": [r.as_dict() for r in runs],
            "equals_model": good,
            "seconds": round(seconds, 1),
        }
    )
    if not all(r.result.outcome.status == "done" for r in runs):
        return Exit.FAULT
    return Exit.OK if good else Exit.NO


def _counters(r):
    return r.result.outcome.counters


def _count(r, name):
    value = _counters(r).get(name)
    return "-" if value is None else f"{value:,}"


def _time(r):
    cycles, clock = _counters(r).get("cycles"), r.result.info.clock_hz
    return time_text(cycles / clock) if cycles and clock else "-"


def _rate(r):
    cycles, clock = _counters(r).get("cycles"), r.result.info.clock_hz
    return f"{r.images * clock / cycles:,.0f}" if cycles and clock else "-"


def _per_cycle(r, name):
    cycles = _counters(r).get("cycles")
    return f"{_counters(r)[name] / cycles:.1f}" if cycles else "-"


def _share(r, name):
    counters = _counters(r)
    return (
        f"{100 * counters[name] / counters['cycles']:.1f} %"
        if counters.get("cycles") and name in counters
        else "-"
    )
