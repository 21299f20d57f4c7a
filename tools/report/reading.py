# SPDX-License-Identifier: BSD-2-Clause
"""Reader of results: recognises the contents of a file or folder, and refuses anything except the
result of a command."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...gateware.isa.files import FileError, read_bytes
from ..errors import InputError
from ..examples import user_path
from .shapes import ANY, COUNT, FLAG, LEVEL, NUMBER, SIGNED, TEXT, Map, check

__all__ = ["KINDS", "Found", "read_result"]

#: Bytes of a result, at most.
MOST_BYTES = 1 << 26
#: Kind of a folder -> the file that tells it.
_FOLDERS = {"plan": "plan.toml", "matrix": "matrix.json", "build": "report.json"}

_CEILINGS = {
    "macs?": NUMBER,
    "bytes?": NUMBER,
    "clock_hz?": NUMBER,
    "on_chip_bytes?": NUMBER,
    "byte_counters?": [TEXT],
    "uncounted?": TEXT,
}
_PLACES = [{"what": TEXT, "kind": TEXT, "at": COUNT, "bytes": COUNT}]
_COUNTERS = Map(NUMBER)
#: Counters of a layer are differences of two runs: what does not depend on the program alone may
#: come out below zero.
_LAYERS = [
    {
        "layer": TEXT,
        "kind": TEXT,
        "where": TEXT,
        "macs": NUMBER,
        "cycles": NUMBER,
        "bytes": NUMBER,
        "measured?": SIGNED,
        "snr?": LEVEL,
        "counters?": Map(SIGNED),
    }
]
_SIZES = {
    "preset?": TEXT,
    "params?": Map(ANY),
    "ceilings?": _CEILINGS,
    "places?": _PLACES,
    "memory_size?": COUNT,
    "memory_used?": COUNT,
}
_BUILD = {"isa": TEXT, **_SIZES}
_RUN = {
    **_BUILD,
    "target": TEXT,
    "status": TEXT,
    "counters": _COUNTERS,
    "board?": TEXT,
    "clock_hz?": NUMBER,
    "time_hz?": NUMBER,
    "clock_note?": TEXT,
    "notes?": [TEXT],
    "cycles?": NUMBER,
    "recognised?": Map({"correct": COUNT, "images": COUNT}),
    "fault?": {"name": TEXT, "pc": COUNT, "file?": TEXT, "line?": COUNT},
    "runs?": [{"program": TEXT, "status": TEXT, "counters": _COUNTERS}],
}
_INFER = {
    **_BUILD,
    "network": TEXT,
    "target": TEXT,
    "inputs": COUNT,
    "counters": _COUNTERS,
    "board?": TEXT,
    "clock_hz?": NUMBER,
    "time_hz?": NUMBER,
    "clock_note?": TEXT,
    "macs?": NUMBER,
    "correct?": COUNT,
    "input_bytes": COUNT,
    "output_bytes": COUNT,
    "constant_bytes": COUNT,
    "inputs_per_second?": {"core?": NUMBER, "line?": NUMBER, "link?": NUMBER},
    "layers?": _LAYERS,
}
_PLAN = {
    **_BUILD,
    "network": TEXT,
    "board?": TEXT,
    "clock_hz?": NUMBER,
    "time_hz?": NUMBER,
    "clock_note?": TEXT,
    "macs": NUMBER,
    "cycles_estimated": NUMBER,
    "layers": _LAYERS,
    "notes?": [TEXT],
}
_CELL = {
    "isa": TEXT,
    "preset?": TEXT,
    "refusal?": TEXT,
    "cycles?": NUMBER,
    "measured?": FLAG,
    "estimated?": NUMBER,
    "clock_hz?": NUMBER,
    "time_hz?": NUMBER,
    "clock_note?": TEXT,
    "agreement?": NUMBER,
    "snr?": LEVEL,
    "correct?": COUNT,
    "memory?": NUMBER,
    "moved?": NUMBER,
    "macs?": NUMBER,
    "layers?": _LAYERS,
    "counters?": _COUNTERS,
    "build?": {**_SIZES, "inputs?": COUNT},
}
_COMPARE = {
    "network": TEXT,
    "board": TEXT,
    "inputs": COUNT,
    "correct?": COUNT,
    "notes": [TEXT],
    "cells": [_CELL],
}
_CLOCK = {"asked_mhz": NUMBER, "reached_mhz": NUMBER}
_AREA = {"luts": COUNT, "ffs": COUNT, "dsps": COUNT, "brams": COUNT, "sprams?": COUNT}
_BITSTREAM = {
    "board": TEXT,
    "isa?": TEXT,
    "preset?": TEXT,
    "params?": Map(ANY),
    "seed": COUNT,
    **_AREA,
    "available?": Map(COUNT),
    "clocks?": Map(_CLOCK),
    "ceilings?": _CEILINGS,
    "clock_asked_mhz?": NUMBER,
    "clock_reached_mhz?": NUMBER,
    "seconds?": NUMBER,
    "bitstream?": TEXT,
    "area?": [{"unit": TEXT, **_AREA}],
    "crossings?": [
        {"from": TEXT, "to": TEXT, "delay_ns": NUMBER, "limit_ns?": NUMBER, "met": FLAG}
    ],
    "sdram?": Map(ANY),
    "critical_path?": {
        "from": TEXT,
        "to": TEXT,
        "logic_ns": NUMBER,
        "routing_ns": NUMBER,
        "steps?": COUNT,
    },
}
_MATRIX = {
    "cells": [
        {
            "board": TEXT,
            "isa": TEXT,
            "preset": TEXT,
            "seed": COUNT,
            "state": TEXT,
            "clock_asked_mhz?": NUMBER,
            "clock_reached_mhz?": NUMBER,
            "luts?": COUNT,
            "ffs?": COUNT,
            "dsps?": COUNT,
            "brams?": COUNT,
            "available?": Map(COUNT),
            "seconds?": NUMBER,
        }
    ]
}

#: Kind -> (fields by which a result is known, its shape, where it comes from).
KINDS = {
    "run": ({"status", "target", "counters", "runs"}, _RUN, "quintet run --json"),
    "infer": ({"network", "target", "inputs", "counters"}, _INFER, "quintet infer --json"),
    "plan": (
        {"network", "cycles_estimated", "layers"},
        _PLAN,
        "quintet compile --json, or the folder of a plan",
    ),
    "compare": ({"network", "board", "cells"}, _COMPARE, "quintet compare --json"),
    "build": ({"board", "seed", "luts"}, _BITSTREAM, "quintet build --json, or its folder"),
    "matrix": ({"cells"}, _MATRIX, "quintet matrix --json, or its folder"),
}


@dataclass(frozen=True)
class Found:
    """A recognised result: ``kind`` of :data:`KINDS`, ``data``, the object, and ``origin``, where
    it was read."""

    kind: str
    data: dict[str, Any]
    origin: str


def read_result(name: str) -> Found:
    """Reads the result in a file, a folder, or ``-`` for standard input.

    Raises
    ------
    InputError
        There is no such file, it is no JSON, no result of a command, or lacks a field.
    """
    if name == "-":
        return _known(
            _parsed(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input"), "standard input"
        )
    name = user_path(name)
    if os.path.isdir(name):
        return _folder(Path(name))
    try:
        return _known(_parsed(read_bytes(name, MOST_BYTES), name), name)
    except FileError as error:
        raise InputError(str(error)) from None


def _folder(folder):
    kind = next((kind for kind, file in _FOLDERS.items() if (folder / file).is_file()), None)
    if kind is None:
        raise InputError(
            f"{folder}: none of {', '.join(_FOLDERS.values())} lies in it; expected the folder "
            f"of a plan, a matrix or a build"
        )
    if kind == "plan":
        return _known(_plan(folder), str(folder))
    return read_result(str(folder / _FOLDERS[kind]))


def _plan(folder):
    from ...boards import open_board
    from ...gateware.cores import open_core
    from ..build.reached import time_clock
    from ..compiler.plan import load_plan
    from ..compiler.results.report import plan_object
    from ..compiler.target_build import TargetBuild
    from ..targets.names import parse_target

    plan = load_plan(folder)
    clock = None
    if plan.board is not None:
        rate = parse_target(plan.target).options.get("sdram_rate") if plan.target else None
        board = open_board(plan.board).with_sdram_rate(None if rate is None else int(rate))
        clock = round(board.clock_for(open_core(plan.isa), plan.preset) * 1e6)
    build = TargetBuild(
        isa=plan.isa,
        preset=plan.preset,
        params=plan.params,
        memory_size=plan.memory_size,
        board=plan.board,
        clock_hz=clock,
        target=str(folder),
    )
    return plan_object(plan, clock, time_clock(build))


def _parsed(data, origin):
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{origin} has more than {MOST_BYTES:,} bytes; expected the result of a command"
        )
    try:
        return json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        end = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        raise InputError(
            f"{origin}: line {error.lineno}, column {error.colno}: "
            f"{'it ends there: the JSON is cut off' if end else f'no JSON ({error.msg})'}; "
            "expected what a command prints with --json"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{origin}: no JSON ({error}); expected what a command prints with --json"
        ) from None


def _known(value, origin):
    if isinstance(value, dict) and set(value) == {"error", "exit"}:
        raise InputError(f"{origin} is the error of a command, no result: {value['error']}")
    names = set(value) if isinstance(value, dict) else set()
    kind = next((kind for kind, (fields, *_) in KINDS.items() if fields <= names), None)
    if kind is None:
        raise InputError(
            f"{origin} is not a result that a report can show; expected the output of "
            f"{'; '.join(where for *_, where in KINDS.values())}"
        )
    if kind == "matrix" and isinstance(value["cells"], dict):
        value = {**value, "cells": list(value["cells"].values())}
    check(value, KINDS[kind][1], origin)
    return Found(kind, value, origin)
