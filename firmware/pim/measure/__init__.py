# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of PIM: acceptance workloads (specification, section 10), cells by unit, speed of
the assembler."""

from ....tools.measure import Measure
from .area import area_rows
from .builds import BUILDS
from .files import file_rows
from .run import BEATS, STREAMS, digits_rows, item_rows, stream_rows
from .workloads import BOUNDS

_BUILDS, _MEMORIES = ("85f", *BUILDS), tuple(BEATS)

MEASURES = {
    "items": Measure(
        "single instructions, exchanges, events, LOAD",
        item_rows,
        _BUILDS,
        ("85f",),
        _MEMORIES,
        (*(name for name in BOUNDS if name not in STREAMS), "LOAD"),
        {"cores": 4},
    ),
    "streams": Measure(
        "programs gone through the published format, and dense ones of the same effect",
        stream_rows,
        _BUILDS,
        ("85f",),
        _MEMORIES,
        tuple(STREAMS),
        {"cores": 4},
    ),
    "digits": Measure(
        "the digits on one core and on all",
        digits_rows,
        ("85f",),
        (),
        _MEMORIES,
        ("mlp", "cnn"),
    ),
    "area": Measure(
        "what each unit of one core takes of a chip, by yosys alone",
        area_rows,
        ("25f", "85f"),
        ("25f",),
        sizes=True,
    ),
    "files": Measure(
        "seconds to import, disassemble and assemble random legal instructions",
        file_rows,
        settings={"count": 5_000_000},
    ),
}
