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
from ....tools.measure.compare import compare_runs
from .case import case_of
from .workloads import ARRAYS, ROWS, instruction_rows, params_of
from .workloads import Row as Workload

__all__ = ["MeasuredBuild", "instructions", "measure", "workloads"]

_MEMORY = 1 << 19


class MeasuredBuild:
    """Gateware of an array and its golden model; state is kept between runs."""

    def __init__(self, array: str) -> None:
        from ....boards.virtual.bench import CoreBench

        self.bench = CoreBench(
            "imagine",
            preset="sim",
            overrides=params_of(array),
            beat_bytes=8,
            memory_size=_MEMORY,
            ports="shell",
        )
        self.reset()

    def reset(self) -> None:
        """Resets gateware and golden model."""
        self.bench.reset()
        self.model = Model(self.bench.params, np.zeros(64, np.uint8))

    def run(self, program: Any) -> dict[str, int]:
        """Executes a run and returns its counters; raises `Differs` if its results are not the
        golden model's."""
        case = case_of("workload", self.bench.params, program.words(), program=0)
        registers = {"window_limit": case.memory.size, **case.registers}
        self.model.memory = case.memory.copy()
        wanted = self.model.run(registers)
        self.bench.load(case.memory)
        outcome = self.bench.run(registers, 10_000_000)
        memory = self.bench.memory[: case.memory.size]
        compare_runs("the workload", outcome, wanted, memory, self.model.memory)
        return outcome.counters


def array_cycles(counters: dict[str, int]) -> int:
    """Busy cycles without start-up, waits for words, and drain."""
    return counters["cycles"] - counters["stall_fetch"] - counters["stall_write"]


def measure(row: Workload, measured: MeasuredBuild) -> tuple[float, dict[str, int]]:
    """Measures a workload: ``(cycles in the bound's definition, counters)``."""
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
    """Measured rows; those of an array share one bench."""
    measured, built = None, None
    for row in sorted(rows, key=lambda row: list(ARRAYS).index(row.array)):
        if built != row.array:
            measured, built = MeasuredBuild(row.array), row.array
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
    """Measured rows of the workloads on the selected arrays."""
    return _rows(row for row in ROWS if row.array in choice.presets and choice.takes(row.title))


def instructions(choice: Choice) -> Iterator[Row]:
    """Measured rows of every instruction on the selected arrays."""
    return _rows(
        row
        for array in choice.presets
        for row in instruction_rows(array)
        if choice.takes(row.title)
    )
