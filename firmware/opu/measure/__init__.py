# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of the OPU: acceptance workloads (specification, section 10.2)."""

from ....tools.measure import Measure
from .run import layer_rows, workload_rows
from .workloads import BUILDS, NETWORKS, ROWS

_BUILDS = tuple(name for name in BUILDS if name != "sim")
_MEMORIES = ("ideal", "sdram")
_RESNET = tuple(row for row in ROWS if row.workload.startswith("W5"))

MEASURES = {
    "workloads": Measure(
        "the acceptance workloads",
        workload_rows,
        tuple(BUILDS),
        _BUILDS,
        _MEMORIES,
        tuple(NETWORKS),
    ),
    "resnet20": Measure(
        "a network of ResNet-20's shapes, layer after layer and scheduled in tiles",
        lambda choice: workload_rows(choice, _RESNET),
        _BUILDS,
        (),
        _MEMORIES,
        tuple(dict.fromkeys(row.workload for row in _RESNET)),
    ),
    "layers": Measure(
        "cycles layer by layer",
        layer_rows,
        tuple(BUILDS),
        ("p64", "p128"),
        _MEMORIES,
        tuple(n for n in NETWORKS if n != "W10"),
        default_names=("W5",),
    ),
}
