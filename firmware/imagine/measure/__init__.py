# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of IMAGine: acceptance workloads (specification, section 10), and the array
alone."""

from ....tools.measure import Measure
from .array import MAPPINGS, area_rows, clock_rows, cycle_rows
from .run import instructions, workloads
from .workloads import ARRAYS, ROWS

MEASURES = {
    "acceptance": Measure(
        "the acceptance workloads",
        workloads,
        tuple(ARRAYS),
        tuple(a for a in ARRAYS if a not in ("48x4", "16x16")),
        names=tuple(dict.fromkeys(row.title for row in ROWS)),
    ),
    "instructions": Measure(
        "every instruction on compiled gateware", instructions, tuple(ARRAYS), ("4x2",)
    ),
    "cycles": Measure(
        "instructions of the array alone, in the simulator", cycle_rows, tuple(MAPPINGS)
    ),
    "area": Measure("cells of the array alone, by yosys", area_rows, ("tdp", "sdp2")),
    "clock": Measure(
        "clock of eight blocks, placed and routed",
        clock_rows,
        settings={"seeds": 2, "freq": 210.0, "router": "router1"},
    ),
}
