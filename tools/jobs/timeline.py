# SPDX-License-Identifier: BSD-2-Clause
"""Timeline of a virtual board's core as a file in Chrome's trace event format, which Perfetto opens
(docs/guides/timeline.md).

One microsecond of the file is one cycle of the core, and 0 the first cycle of its first run, so
that slices of classes add up to the counters.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from ..errors import InputError
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from ...boards.virtual.timeline import Timeline, TimelineRecorder
    from ..targets.base import Target
    from ..targets.sim import SimTarget

__all__ = ["TraceFile", "trace_file"]

_PID = 1
#: Characters of a source line in the name of a slice.
_WIDTH = 40


#: ``(file, line)`` of the instruction at a byte address, or ``None``.
SourceOf: TypeAlias = Callable[[int], tuple[str, int] | None]


def trace_file(args: argparse.Namespace, on: str) -> TraceFile | None:
    """The :class:`TraceFile` that the options request for the target named ``on``, or ``None``.

    Raises
    ------
    InputError
        No place for a file, a target without a timeline, a window that is none.
    """
    given = {
        name: value
        for name in ("from", "to")
        if (value := getattr(args, f"trace_{name}")) is not None
    }
    if args.trace is None:
        for name, value in given.items():
            raise InputError(f"--trace-{name} {value}: needs --trace FILE.json")
        return None
    if not on.startswith("sim:"):
        raise InputError(
            f"--trace {args.trace}: only a virtual board writes a timeline (--on "
            f"sim:BOARD/ISA), not {on}"
        )
    if not args.trace.endswith(".json"):
        raise InputError(f"--trace {args.trace}: expected a name that ends in .json")
    check_output(args.trace, "--trace")
    for name, value in given.items():
        if not (value.isascii() and value.isdigit()) or int(value) >= 1 << 48:
            raise InputError(
                f"--trace-{name} {value}: expected a number of cycles, 0 or more and below 2^48"
            )
    begin, end = int(given.get("from", 0)), int(given["to"]) if "to" in given else None
    if end is not None and end <= begin:
        raise InputError(
            f"--trace-to {end}: expected a cycle behind {begin}, at which the timeline begins"
        )
    return TraceFile(args.trace, begin, end)


@dataclass
class TraceFile:
    """An output file for a timeline; ``begin`` and ``end`` are its window, in cycles."""

    path: str
    begin: int = 0
    end: int | None = None
    _recorder: TimelineRecorder | None = None

    def record(self, target: Target) -> None:
        """Starts recording ``target``, an open virtual board."""
        from ...boards.virtual.timeline import TimelineRecorder

        # `trace_file` asks for a virtual board.
        self._recorder = TimelineRecorder(cast("SimTarget", target).board, self.begin, self.end)

    def write(
        self,
        target: Target,
        source: SourceOf,
        text: Callable[[int], str | None] | None = None,
        comments: Collection[str] = (),
    ) -> list[str]:
        """Writes the file completely or not at all; returns notes for the user.

        Parameters
        ----------
        target : what is recorded
        source : callable(pc) giving ``(file, line)`` of an instruction or ``None``
        text : callable(pc) giving an instruction's text or ``None``, where there is no source
        comments : what begins a comment in a source
        """
        if self._recorder is None:
            raise RuntimeError("record comes before write")
        timeline = self._recorder.timeline()
        info = target.info
        about = {
            "target": target.name,
            "board": info.board,
            "core": info.isa,
            "preset": info.preset,
            "clock_hz": info.clock_hz,
            "unit": "1 us is 1 cycle of the core",
        }
        write_output(self.path, trace_json(timeline, source, about, text, comments).encode())
        notes = []
        if timeline.full_at is not None:
            notes.append(
                f"--trace {self.path}: the limit of {len(timeline.slices):,} slices is "
                f"reached, so that it ends at cycle {timeline.full_at:.0f}; "
                "--trace-from and --trace-to choose another part"
            )
        if not len(timeline.slices):
            notes.append(
                f"--trace {self.path}: nothing happened in its window, cycles {self.begin} to "
                f"{'the end' if self.end is None else self.end}"
            )
        return notes


def trace_json(
    timeline: Timeline,
    source: SourceOf,
    about: Mapping[str, Any],
    text: Callable[[int], str | None] | None = None,
    comments: Collection[str] = (),
) -> str:
    """Formats a timeline as JSON: a :class:`~quintet.boards.virtual.timeline.Timeline` with the
    source lines of its instructions."""
    name_of = _Names(timeline, source, text, comments)
    slices = timeline.slices
    order = np.lexsort((slices["begin"], slices["row"]))
    slices = slices[order]
    keys, which = np.unique(
        slices["row"].astype(np.uint64) << np.uint64(32) | slices["number"], return_inverse=True
    )
    heads = [name_of.head(int(key) >> 32, int(key) & 0xFFFF_FFFF) for key in keys]
    begins, lengths = (
        _cycles(slices["begin"], timeline.ticks),
        _cycles(slices["end"] - slices["begin"], timeline.ticks),
    )
    lines = [
        f'{heads[k]}"ts":{begin},"dur":{length}}}'
        for k, begin, length in zip(which.tolist(), begins, lengths, strict=True)
    ]
    _count(lines, timeline.rows, slices)
    head = [
        _dump(
            {
                "name": "process_name",
                "ph": "M",
                "ts": 0,
                "pid": _PID,
                "tid": 0,
                "args": {"name": f"{about['core']} on {about['board']}"},
            }
        )
    ]
    for tid, shown in enumerate(timeline.rows, 1):
        for key, value in (
            ("thread_name", {"name": shown.row.name}),
            ("thread_sort_index", {"sort_index": tid}),
        ):
            head.append(
                _dump({"name": key, "ph": "M", "ts": 0, "pid": _PID, "tid": tid, "args": value})
            )
    return (
        '{"displayTimeUnit":"ns","otherData":'
        + _dump({**about, "sources": name_of.sources})
        + ',"traceEvents":[\n'
        + ",\n".join(head + lines)
        + "\n]}\n"
    )


def _cycles(ticks, each):
    """Converts ticks to cycles, whole numbers as integers."""
    if each == 1:
        return ticks.tolist()
    return [tick // each if tick % each == 0 else tick / each for tick in ticks.tolist()]


def _count(lines, rows, slices):
    """Numbers the runs, and labels each slice of the link with its bytes."""
    for k, shown in enumerate(rows):
        if shown.kind not in ("run", "pulses"):
            continue
        for number, at in enumerate((slices["row"] == k).nonzero()[0].tolist()):
            count = int(slices["count"][at])
            new = (
                f'"name":"run {number + 1}"'
                if shown.kind == "run"
                else f'"name":"{count} byte{"s" * (count != 1)}","args":{{"bytes":{count}}}'
            )
            lines[at] = lines[at].replace('"name":""', new, 1)


def _dump(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class _Names:
    """Interned names of slices."""

    def __init__(self, timeline, source, text, comments):
        from ...boards.virtual.activity import CLASSES

        self._rows, self._source, self._text, self._classes = timeline.rows, source, text, CLASSES
        #: Name of a source in the slices -> the file.
        self.sources = {}
        self._comment = re.compile("|".join(map(re.escape, comments)) or "$")

    def head(self, row, number):
        """JSON text of a slice without its times."""
        shown = self._rows[row]
        event = {"ph": "X", "pid": _PID, "tid": row + 1}
        if shown.kind == "class":
            event["name"] = self._classes[number]
        elif shown.kind in ("run", "pulses"):
            event["name"] = ""
        elif not shown.row.numbered:
            event["name"] = "busy"
        else:
            event |= self._instruction(number)
        return _dump(event)[:-1] + ","

    def _instruction(self, pc):
        place, args = self._source(pc), {"pc": f"{pc:#x}"}
        if place is None:
            return {"name": (self._text and self._text(pc)) or f"{pc:#x}", "args": args}
        file, line = place
        args = {"line": f"{self._short(str(file))}:{line}", **args}
        lines = _lines_of(str(file))
        written = (
            self._comment.split(lines[line - 1], maxsplit=1)[0] if 0 < line <= len(lines) else ""
        )
        written = " ".join(written.split())
        return {"name": written[:_WIDTH] or f"line {line}", "args": args}

    def _short(self, file):
        """Base name of a file, if it is unambiguous."""
        short = Path(file).name
        return short if self.sources.setdefault(short, file) == file else file


@cache
def _lines_of(file):
    """Lines of a source; empty if it cannot be read (for a program that is not a file)."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            return lines.read().split("\n")
    except OSError:
        return []
