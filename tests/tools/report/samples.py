# SPDX-License-Identifier: BSD-2-Clause
"""Results as commands print them, small: one of each kind that a page can be made of."""

import copy

__all__ = ["SAMPLES", "leaves", "sample", "stored"]

_COUNTERS = {
    "cycles": 1000,
    "instructions": 20,
    "operations": 32000,
    "work": 600,
    "stall_fetch": 50,
    "stall_operand": 250,
    "stall_write": 60,
    "stall_other": 40,
    "bytes_read": 900,
    "bytes_written": 100,
}
_PLACES = [
    {"what": "the program", "kind": "program", "at": 0, "bytes": 64},
    {"what": "weights", "kind": "load", "at": 64, "bytes": 4096},
    {"what": "y.npy", "kind": "save", "at": 8192, "bytes": 10},
]
_BUILD = {
    "isa": "opu",
    "preset": "85f",
    "params": {"pi": 16, "po": 8, "types": "8-8-16-16", "own": True},
    "memory_size": 1 << 20,
    "memory_used": 8202,
    "ceilings": {"macs": 128, "bytes": 2.0, "clock_hz": 80_000_000},
    "places": _PLACES,
}
_LAYERS = [
    {"layer": "pad", "kind": "pad", "where": "host", "macs": 0, "cycles": 0, "bytes": 0},
    {
        "layer": "conv1",
        "kind": "conv",
        "where": "opu",
        "macs": 9000,
        "cycles": 200,
        "bytes": 300,
        "measured": None,
        "counters": None,
        "snr": 33.25,
    },
    {
        "layer": "conv2",
        "kind": "conv+relu",
        "where": "opu",
        "macs": 20000,
        "cycles": 500,
        "bytes": 400,
        "measured": 740,
        "counters": {**_COUNTERS, "cycles": 740},
        "snr": None,
    },
    {
        "layer": "dense",
        "kind": "dense",
        "where": "opu",
        "macs": 3000,
        "cycles": 210,
        "bytes": 300,
        "measured": 260,
        "counters": {**_COUNTERS, "cycles": 260},
        "snr": float("inf"),
    },
]
_CELL = {
    "isa": "opu",
    "preset": "85f",
    "refusal": None,
    "cycles": 1000,
    "measured": True,
    "estimated": 910,
    "clock_hz": 80_000_000,
    "time_hz": 80_000_000,
    "clock_note": "97.0 MHz by place and route",
    "agreement": 0.99,
    "snr": 35.5,
    "correct": 9,
    "memory": 8202,
    "moved": 1000,
    "macs": 32000,
    "equal": None,
    "seconds": 0.5,
    "layers": _LAYERS,
    "counters": _COUNTERS,
    "build": {**_BUILD, "inputs": 1},
    "milliseconds": 0.0125,
}
_AREA = {"luts": 900, "ffs": 400, "dsps": 8, "brams": 20, "sprams": 0}

SAMPLES = {
    "run": {
        **_BUILD,
        "target": "sim:ulx3s-85f/opu",
        "status": "done",
        "cycles": 1000,
        "counters": _COUNTERS,
        "values": {},
        "recognised": {"y": {"correct": 9, "images": 10}},
        "outputs": [],
        "fault": None,
        "board": "ulx3s-85f",
        "clock_hz": 80_000_000,
        "time_hz": 80_000_000,
        "clock_note": "97.0 MHz by place and route",
        "warnings": [],
        "notes": [],
        "memory": {"kind": "SDRAM", "beat_bytes": 2},
        "runs": [
            {
                "program": "a.s",
                "status": "done",
                "cycles": 500,
                "counters": {**_COUNTERS, "cycles": 500},
                "values": {},
            },
            {
                "program": "b.s",
                "status": "done",
                "cycles": 500,
                "counters": {**_COUNTERS, "cycles": 500},
                "values": {},
            },
        ],
    },
    "infer": {
        "network": "net",
        **_BUILD,
        "target": "sim:ulx3s-85f/opu",
        "board": "ulx3s-85f",
        "clock_hz": 80_000_000,
        "time_hz": 80_000_000,
        "clock_note": "97.0 MHz by place and route",
        "inputs": 2,
        "overlapped": True,
        "cycles": 2000,
        "counters": _COUNTERS,
        "constant_bytes": 100,
        "input_bytes": 20,
        "output_bytes": 10,
        "seconds": {},
        "macs": 32000,
        "correct": 2,
        "inputs_per_second": {"core": 80000.0, "line": 4000.0, "bound": "line", "link": None},
        "layers": _LAYERS,
    },
    "plan": {
        "network": "net",
        **_BUILD,
        "board": "ulx3s-85f",
        "memory": 8202,
        "cycles_estimated": 910,
        "clock_hz": 80_000_000,
        "time_hz": 80_000_000,
        "clock_note": "97.0 MHz by place and route",
        "macs": 32000,
        "programs": [64],
        "layers": [
            {key: value for key, value in row.items() if key not in ("measured", "counters", "snr")}
            for row in _LAYERS
        ],
        "choices": [],
        "notes": ["a note"],
    },
    "compare": {
        "network": "net",
        "board": "ulx3s-85f",
        "inputs": 10,
        "correct": 9,
        "notes": ["judged by little"],
        "cells": [
            _CELL,
            {**_CELL, "isa": "pim", "measured": False, "counters": {}, "build": {}},
            {"isa": "imagine", "refusal": "conv1: too many positions\nconv2: groups", "layers": []},
        ],
    },
    "build": {
        "board": "icebreaker",
        "isa": "opentpu",
        "link": "uart",
        "preset": "up5k-4x4",
        "params": {"n": 4},
        "seed": 1,
        "clock_asked_mhz": 24.0,
        "clock_real_mhz": 24.0,
        "clock_reached_mhz": 23.5,
        "clock_met": False,
        "clocks": {"main": {"asked_mhz": 24.0, "reached_mhz": 23.5}},
        "crossings": [
            {"from": "main", "to": "far", "delay_ns": 3.5, "limit_ns": 2.0, "met": False}
        ],
        "sdram": {
            "phase_degrees": 90.0,
            "capture": 1,
            "write_setup_ns": 1.0,
            "write_hold_ns": -0.5,
            "read_setup_ns": 2.0,
            "read_hold_ns": 1.5,
        },
        "critical_path": {
            "from": "soc.arbiter.o__valid_SB_DFFESR_Q_D_SB_LUT4_O_LC",
            "to": "soc.core.engine.mover.odd_TRELLIS_FF_Q_1_DI_LUT4_Z",
            "routing_ns": 30.0,
            "logic_ns": 10.0,
            "steps": 12,
        },
        **_AREA,
        "available": {"luts": 5280, "dsps": 8, "brams": 30},
        "area": [{"unit": "core.engine.compute", **_AREA}, {"unit": "link", **_AREA, "luts": 300}],
        "memory": {"size": 65536, "beat_bytes": 4, "kind": "SPRAM"},
        "ceilings": {"macs": 16, "bytes": 4.0, "clock_hz": 24_000_000},
        "seconds": 100.5,
        "bitstream": "out/top.bin",
    },
    "matrix": {
        "cells": {
            "icebreaker/opentpu/up5k-4x4/1": {
                "board": "icebreaker",
                "isa": "opentpu",
                "preset": "up5k-4x4",
                "seed": 1,
                "clock_asked_mhz": 24.0,
                "clock_reached_mhz": 26.4,
                **_AREA,
                "available": {"luts": 5280},
                "seconds": 60.0,
                "state": "built",
            },
            "icebreaker/opu/up5k/1": {
                "board": "icebreaker",
                "isa": "opu",
                "preset": "up5k",
                "seed": 1,
                "luts": 6000,
                "available": {"luts": 5280},
                "state": "does not fit: needs 6,000 of 5,280 logic cells",
            },
        }
    },
}


def sample(kind):
    """A copy of the sample result of this ``kind``, a key of ``SAMPLES``."""
    return copy.deepcopy(SAMPLES[kind])


def stored(folder, data, name="result.json"):
    """Path of a file with ``data`` as JSON."""
    import json

    path = folder / name
    path.write_text(json.dumps(data))
    return path


def leaves(value, path=()):
    """Paths to everything in a result, from the outside in."""
    for key, one in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield (*path, key)
        yield from leaves(one, (*path, key))
