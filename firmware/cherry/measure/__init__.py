# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of Cherry: workloads (specification, section 10), products larger than the
scratchpad, the small engine."""

from ....tools.measure import Measure
from .alone import alone_rows
from .blocks import FORMATS, product_rows
from .run import workload_rows
from .small import BOARDS, FUNCTIONS, function_rows, job_rows
from .workloads import PRESETS, WORKLOADS

_NAMES = tuple(workload.name for workload in WORKLOADS)

MEASURES = {
    "workloads": Measure(
        "programs over matrices in the scratchpad, on compiled gateware",
        workload_rows,
        (*PRESETS, "sim"),
        PRESETS,
        names=_NAMES,
    ),
    "simulated": Measure(
        "the same in Amaranth's simulator, without a compiler",
        alone_rows,
        PRESETS,
        PRESETS[:1],
        names=_NAMES,
    ),
    "products": Measure(
        "products of matrices in main memory, larger than the scratchpad",
        product_rows,
        ("85f",),
        ("85f",),
        names=tuple(FORMATS),
        settings={"compare": 1},
    ),
    "small": Measure("jobs on the small engine of the iCE40s", job_rows, tuple(BOARDS)),
    "functions": Measure(
        "instructions of the small engine's microprogram",
        function_rows,
        tuple(BOARDS),
        tuple(BOARDS)[:1],
        names=FUNCTIONS,
    ),
}
