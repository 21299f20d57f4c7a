# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine's acceptance workloads (specification, section 10) on compiled gateware.

Memory: one beat of 8 bytes a cycle, eight cycles of latency. Cycles are those of the array with
FIFO-in not empty: the busy ones less those in which it waited for the program (start-up) and those
after the last word, when results only drain. After every run the results and counters are compared
with the golden model's.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....gateware.cores.imagine.model.model import Model
from ....tools.measure import Choice, Row
from ....tools.measure.bench import MeasuredBuild, ideal_bench
from .case import case_of
from .workloads import ARRAYS, ROWS, instruction_rows, params_of
from .workloads import Row as Workload

__all__ = ["MeasuredArray", "instructions", "measure", "workloads"]

_MEMORY = 1 << 19


class MeasuredArray:
    """Gateware of an array and its golden model; state persists from run to run."""

    def __init__(self, array: str) -> None:
        self.bench = ideal_bench("imagine", "sim", 8, _MEMORY, overrides=params_of(array))
        self._measured = MeasuredBuild(bench=self.bench)
        self.reset()

    def reset(self) -> None:
        """Resets gateware and model."""
        self.bench.reset()
        self.model = Model(self.bench.params, np.zeros(64, np.uint8))

    def run(self, program: Any) -> dict[str, int]:
        """Counters of a run; raises `Differs` if its results are not the golden model's."""
        case = case_of("workload", self.bench.params, program.words(), program=0)
        return self._measured.exact(
            "the workload", self.model, case.memory, case.registers
        ).counters


def array_cycles(counters: dict[str, int]) -> int:
    """Busy cycles without start-up (and other waits for words) and drain."""
    return counters["cycles"] - counters["stall_fetch"] - counters["stall_write"]


def measure(row: Workload, measured: MeasuredArray) -> tuple[float, dict[str, int]]:
    """``(cycles as the bound counts them, counters)`` of a workload."""
    measured.reset()
    if row.loader is not None:
        measured.run(row.loader())
    counters = measured.run(row.kernel())
    count = (
        counters["cycles"] - counters["stall_write"]
        if row.words_a_cycle
        else array_cycles(counters)
    )
    if row.without is not None:
        count -= array_cycles(measured.run(row.without()))
    return count / row.per, counters


def _rows(rows):
    """Measured rows, those of an array one after another on one bench."""
    measured, built = None, None
    for row in sorted(rows, key=lambda row: list(ARRAYS).index(row.array)):
        if built != row.array:
            measured, built = MeasuredArray(row.array), row.array
        value, counters = measure(row, measured)
        yield Row(
            row.title,
            value,
            "cycles",
            row.bound,
            more={
                "array": row.array,
                "formula": row.formula,
                "fetch": counters["stall_fetch"],
                "drain": counters["stall_write"],
            },
        )


def workloads(choice: Choice) -> Iterator[Row]:
    """Rows of the workloads on the selected arrays."""
    return _rows(row for row in ROWS if row.array in choice.presets and choice.takes(row.title))


def instructions(choice: Choice) -> Iterator[Row]:
    """Rows of every instruction on the selected arrays."""
    return _rows(
        row
        for array in choice.presets
        for row in instruction_rows(array)
        if choice.takes(row.title)
    )
