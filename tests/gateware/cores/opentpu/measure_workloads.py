# SPDX-License-Identifier: BSD-2-Clause
"""Measures the acceptance workloads (specification, section 10.3) on compiled gateware and prints the table.

``PYTHONPATH=tests/gateware/cores/opentpu python -m measure_workloads [W1 W2 ...]``
"""
import sys
from dataclasses import dataclass

import numpy as np
from opentpu_workloads import WORKLOADS, workload

from quintet.boards.virtual.bench import IDEAL, CoreBench
from quintet.gateware.isa.outcome import Outcome

__all__ = ["Measured", "measure", "open_board", "open_ideal"]

#: One build carries all workloads of a size: sizes are a minimum.
_IDEAL = {4: ("25f-4x4", {}), 8: ("85f-8x8", {"ext_conv": True, "ext_pool": True}), 12: ("85f-12x12", {}),
          16: ("85f-16x16", {})}


@dataclass
class Measured:
    """A workload's run: ``exact`` results, ``cycles`` against ``bound`` (required) and ``aim``."""
    name: str
    exact: bool
    cycles: int
    bound: int | None
    aim: int | None
    t_a: int
    outcome: Outcome


def open_ideal(n):
    """A bench for the workloads with arrays of side ``n`` on an ideal memory."""
    preset, overrides = _IDEAL[n]
    return CoreBench("opentpu", preset=preset, overrides=overrides, beat_bytes=n, memory_size=1 << 17)


def open_board():
    """The default SoC of the ULX3S-85F with its SDRAM."""
    from quintet.tools.targets import open_target
    return open_target("sim:ulx3s-85f/opentpu")


def _exact(case, memory):
    return all((memory[at:at + e.size].view(np.int8).reshape(e.shape) == e).all() for at, e in case.expected.items())


def measure(case, machine):
    """Run ``case`` on a bench of :func:`open_ideal` or a target of :func:`open_board`."""
    if isinstance(machine, CoreBench):
        machine.behave(IDEAL)
        machine.load(case.memory)
        outcome = machine.run({"window_limit": case.memory.size, **case.registers})
        memory = machine.memory
    else:
        machine.reset_core()
        chip = machine.board.chip
        chip[:case.memory.size] = case.memory
        outcome = machine.run(case.registers)
        memory = chip[:case.memory.size].copy()
    return Measured(case.name, outcome.status == "done" and _exact(case, memory), outcome.counters["cycles"], case.bound,
                    case.aim, case.t_a, outcome)


def main(names):
    machines = {}
    print(f"{'':5} {'memory':8} {'exact':6} {'cycles':>8} {'bound':>8} {'aim':>8} {'T_a':>8} {'array busy':>11}")
    bad = False
    for name in names or WORKLOADS:
        case = workload(name)
        key = "sdram" if case.kind == "sdram16" else case.params["n"]
        if key not in machines:
            machines[key] = open_board() if key == "sdram" else open_ideal(key)
        m = measure(case, machines[key])
        bad |= not m.exact or m.bound is not None and m.cycles > m.bound
        print(f"{name:5} {case.kind:8} {'yes' if m.exact else 'NO':6} {m.cycles:8} {m.bound or '-':>8} {m.aim or '-':>8} "
              f"{m.t_a:8} {100 * m.outcome.counters['work'] / m.cycles:10.1f} %", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
