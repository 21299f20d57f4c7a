# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on the small engine's microprogram without gateware, and says every way in which they
differ from PIM's golden model."""

from quintet.firmware.pim.measure.case import run_model
from quintet.gateware.cores.pim.small.instructions import Count, Flag
from tests.gateware.cores.pim.bench.small_model import SmallModel
from tests.support.comparing import first_difference, registers_of

__all__ = ["check_microcode"]

#: No case takes so many cycles unless it hangs.
LIMIT = 60_000_000


def check_microcode(case):
    """Differences between microprogram and model in one run, and its cycles."""
    expected, memory, model = run_model(case)
    small = SmallModel(case.params, case.memory.copy())
    cycles = small.run(registers_of(case), LIMIT)
    problems, machine, core = [], small.machine, model.cores[0]
    fault = expected.fault
    if small.fault != (None if fault is None else (fault.name, fault.pc, fault.detail)):
        problems.append(f"fault {small.fault}, expected {fault}")
    difference = first_difference(small.memory, memory)
    if difference:
        problems.append(difference)
    if fault is not None and fault.name in ("table", "bus_error"):
        return problems, cycles
    if small.flags != (
        Flag.DONE if fault is None else Flag.BLOCKED if fault.name == "deadlock" else Flag(0)
    ):
        problems.append(f"flags {small.flags!r}")
    state = [*core.regs, *core.events, core.ibiw, core.obiw, core.pc]
    problems += [
        f"register {k} is {machine.registers[k]:#x}, expected {value:#x}"
        for k, value in enumerate(state)
        if machine.registers[k] != value
    ]
    if bytes(small.lmem()) != core.lmem.tobytes():
        at = next(
            k
            for k, (a, b) in enumerate(zip(small.lmem(), core.lmem.tolist(), strict=True))
            if a != b
        )
        problems.append(
            f"local memory at {at:#x} is {small.lmem()[at]:#x}, expected {core.lmem[at]:#x}"
        )
    if fault is None:
        counts = machine.counts
        got = {
            "instructions": counts[Count.RETIRED],
            "operations": small.counted["operations"],
            "bytes_read": small.counted["read"],
            "bytes_written": small.counted["written"],
            "comm_bytes": 0,
            **{
                name: counts[Count[name.upper()]]
                for name in ("scalar", "matrix", "vector", "transfer")
            },
        }
        problems += [
            f"counter {name} {got[name]}, expected {value}"
            for name, value in expected.counters.items()
            if got[name] != value
        ]
    return problems, cycles
