# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of OpenTPU: acceptance workloads (specification, section 10.3), and the cost of a
NOP."""

from ....tools.measure import Measure
from .nops import BOARDS, nop_rows
from .run import workload_rows
from .workloads import WORKLOADS

MEASURES = {
    "workloads": Measure("the acceptance workloads", workload_rows, names=WORKLOADS),
    "nops": Measure(
        "cycles of a NOP on the virtual boards",
        nop_rows,
        names=tuple(BOARDS),
        settings={"count": 1000},
    ),
}
