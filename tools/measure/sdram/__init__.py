# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of the SDRAM controller with the memory chip's model."""

from .. import Measure
from .patterns import PATTERNS, pattern_rows

MEASURES = {
    "patterns": Measure(
        "per cent of the pins' peak, refreshes and changes of row included",
        pattern_rows,
        names=tuple(PATTERNS),
        settings={"part": "W9825G6", "mhz": "60 80 100", "cycles": 8000, "rate": 1},
    )
}
