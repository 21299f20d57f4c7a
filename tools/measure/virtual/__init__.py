# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of virtual boards: simulation speed."""

from .. import Measure
from .speed import speed_rows

MEASURES = {
    "speed": Measure(
        "cycles a second of processor time (settings: board and core, cycles of each way, "
        "pysim=0 for the compiled one alone)",
        speed_rows,
        settings={"board": "ulx3s-85f", "isa": "opentpu", "cycles": 1_000_000, "pysim": 3_000},
    ),
}
