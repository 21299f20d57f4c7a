# SPDX-License-Identifier: BSD-2-Clause
"""Measures IMAGine's acceptance workloads (specification, section 10) on compiled gateware and prints tables.

``PYTHONPATH=tests/support:tests/gateware/cores/imagine python -m measure_imagine [--arrays 4x2 16x4 ...] [--instructions]``

Memory: one beat of 8 bytes a cycle, eight cycles of latency. Cycles are those of the array with FIFO-in not empty: the busy
ones less those in which it waited for the program (start-up) and those after the last word, when results only drain. After
every run the results and counters are compared with the golden model's.
"""
import argparse
import sys

import numpy as np
from imagine_programs import case_of
from imagine_workloads import ARRAYS, ROWS, instruction_rows, params_of

from quintet.gateware.cores.imagine.model.model import Model

__all__ = ["Machine", "measure"]

_MEMORY = 1 << 19


class Machine:
    """The gateware of an array, and the golden model that goes with it; state stays from run to run."""
    def __init__(self, array):
        from quintet.boards.virtual.bench import CoreBench
        rows, cols, width = ARRAYS[array]
        chosen = {name: value for name, value in params_of(array).items()}
        self.bench = CoreBench("imagine", preset="sim", overrides=chosen, beat_bytes=8, memory_size=_MEMORY, ports="shell")
        self.reset()

    def reset(self):
        self.bench.reset()
        self.model = Model(self.bench.params, np.zeros(64, np.uint8))

    def run(self, program):
        """Counters of a run whose results are the golden model's."""
        case = case_of("workload", self.bench.params, program.words(), program=0)
        registers = {"window_limit": case.memory.size, **case.registers}
        self.model.memory = case.memory.copy()
        wanted = self.model.run(registers)
        self.bench.load(case.memory)
        outcome = self.bench.run(registers, 10_000_000)
        if outcome.status != "done" or wanted.status != "done":
            raise SystemExit(f"the run ended as {outcome.status}, {outcome.fault}")
        if not np.array_equal(self.bench.memory[:case.memory.size], self.model.memory):
            raise SystemExit("the results are not the golden model's")
        for name, value in wanted.counters.items():
            if outcome.counters[name] != value:
                raise SystemExit(f"counter {name} is {outcome.counters[name]}, not {value}")
        return outcome.counters


def array_cycles(counters):
    """Busy cycles less start-up (and whatever else waited for words) and drain."""
    return counters["cycles"] - counters["stall_fetch"] - counters["stall_write"]


def measure(row, machine):
    """``(cycles as the bound counts them, counters)``."""
    machine.reset()
    if row.loader is not None:
        machine.run(row.loader())
    counters = machine.run(row.kernel())
    count = counters["cycles"] - counters["stall_write"] if row.words_a_cycle else array_cycles(counters)
    if row.without is not None:
        count -= array_cycles(machine.run(row.without()))
    return count / row.per, counters


def _show(value):
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def main(argv=None):
    parser = argparse.ArgumentParser(prog="measure_imagine", description="Measure IMAGine's acceptance workloads.")
    parser.add_argument("--arrays", nargs="*", choices=list(ARRAYS), default=["4x2", "8x2", "16x3", "16x4", "16x4n8", "16x4n4", "4x6"])
    parser.add_argument("--instructions", action="store_true", help="every instruction, instead of the workloads")
    options = parser.parse_args(argv)
    rows = [row for array in options.arrays for row in instruction_rows(array)] if options.instructions else \
        [row for row in ROWS if row.array in options.arrays]
    rows.sort(key=lambda row: list(ARRAYS).index(row.array))
    print("| workload | array | measured | formula | required | fetch | drain |\n|---|---|---|---|---|---|---|")
    machine, built, missed = None, None, False
    for row in rows:
        if built != row.array:
            machine, built = Machine(row.array), row.array
        value, counters = measure(row, machine)
        late = value > row.bound
        missed |= late
        shown = f"**{_show(value)}: missed**" if late else _show(value)
        print(f"| {row.title} | {row.array} | {shown} | {_show(row.formula)} | {_show(row.bound)} | {counters['stall_fetch']} | "
              f"{counters['stall_write']} |", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
