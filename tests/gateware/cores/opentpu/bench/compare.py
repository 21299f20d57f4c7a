# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on OpenTPU's gateware and on its model, and says every way in which they differ."""

import numpy as np

from quintet.boards.virtual.bench import bench_opener
from quintet.gateware.cores.opentpu.model.model import Model
from tests.gateware.cores.opentpu.bench import programs
from tests.support.comparing import (
    aborted_run,
    class_problems,
    compare_run,
    failing_run,
    registers_of,
    run_differently,
    word_index,
)

__all__ = ["CYCLES", "check_aborted", "check_bus_error", "check_case", "open_build", "sanitised"]

#: No case of these tests takes so many cycles unless it hangs.
CYCLES = 20_000_000
MEMORY = 1 << 17
WORD = 14

#: name -> (preset, overrides, beat bytes, ports). Those of `make test` are the first three.
BUILDS = {
    "plain4": ("sim-plain", {}, 1, "shell"),
    "ext8": (
        "85f-8x8",
        {"ext_conv": True, "ext_pool": True, "ext_diag": True, "ext_bias": True},
        8,
        "bare",
    ),
    "wide12": ("85f-12x12", {"ext_diag": True, "ext_bias": True}, 12, "bare"),
    "sim4": ("sim", {}, 4, "bare"),
    "ext4": ("sim-ext", {}, 4, "shell"),
    "chainless8": (
        "85f-8x8",
        {"chain": False, "ext_conv": True, "ext_pool": True, "ext_bias": True, "ub_rows": 512},
        4,
        "shell",
    ),
    "onebank4": ("sim-ext", {"banks": 1}, 2, "shell"),
    "onebank12": ("85f-12x12", {"banks": 1, "chain": False}, 4, "shell"),
    "pairs8": (
        "85f-8x8",
        {"multiplier": "dsp_pair", "ext_norm": False, "norm_reset": 0x10103},
        8,
        "shell",
    ),
    "pairs16": ("85f-16x16", {"ext_diag": True}, 8, "shell"),
    "fast16": ("85f-16x16-conv", {}, 16, "shell"),
    # The small engine, with a vector in a beat and in two.
    "lean4": ("up5k-4x4", {}, 4, "shell"),
    "lean2": ("up5k-4x4", {}, 2, "shell"),
    "leanplain4": ("sim-plain", {}, 4, "shell"),
}
open_build = bench_opener("opentpu", BUILDS, MEMORY)


def _model(case, limit=None):
    memory = case.memory.copy()
    return Model(case.params, memory).run(registers_of(case), cycle_limit=limit), memory


def check_case(bench, case, behaviour=None, seed=0, *, limit=CYCLES):
    """Differences between gateware and model in one run: outcome, fault, memory, counters. Empty:
    none.

    Returns ``(problems, outcome of the gateware)``.
    """
    expected, memory = _model(case)
    # An instruction that faults while it runs (C and P) may have counted what it did.
    partial = expected.fault is not None and expected.fault.name in ("ub_range", "acc_range")
    return compare_run(
        bench,
        case,
        expected,
        memory,
        behaviour,
        seed,
        limit,
        more=("operations",) if partial else (),
    )


def _index(case, pc, problems):
    return word_index(case, pc, WORD, len(case.program), problems)


def check_aborted(bench, case, cycle, behaviour, seed):
    """Abort a run at ``cycle``: it ends, no instruction from pc on has changed memory, and every
    older one is whole."""
    problems, outcome = aborted_run(bench, case, cycle, behaviour, seed)
    if outcome.status != "aborted":
        return problems, outcome
    index = _index(case, outcome.fault.pc, problems)
    if index is not None:
        # Words that issued before may have been cut short at a burst's end: their rows may be old
        # or new.
        _, memory = _model(case, index)
        changed = np.nonzero(
            (bench.memory[: case.memory.size] != memory)
            & (bench.memory[: case.memory.size] != case.memory)
        )[0]
        if changed.size:
            # ... or, where several of them write the same byte, any of theirs.
            seen = _intermediate(case, index, changed)
            wrong = [int(a) for a in changed if int(bench.memory[a]) not in seen[int(a)]]
            if wrong:
                problems.append(
                    f"memory at {wrong[0]:#x} holds {bench.memory[wrong[0]]:#04x}, which no "
                    f"word before pc wrote"
                )
        if outcome.counters["instructions"] > index:
            problems.append(
                f"{outcome.counters['instructions']} instructions retired, {index} issued"
            )
    return problems, outcome


def _intermediate(case, index, addresses):
    """Values each of ``addresses`` ever had in the first ``index`` words."""
    memory = case.memory.copy()
    seen = {int(a): {int(memory[a])} for a in addresses}

    def trace(pc, address, size):
        for a in seen:
            if address <= a < address + size:
                seen[a].add(int(memory[a]))

    Model(case.params, memory).run(registers_of(case), cycle_limit=index, trace=trace)
    return seen


def check_bus_error(bench, case, address, write, behaviour, seed):
    """Every access of a kind to the beat at ``address`` fails: older words complete, nothing
    younger shows."""
    got = failing_run(bench, case, address, write, behaviour, seed, CYCLES)
    problems, memory_now = class_problems(got), bench.memory[: case.memory.size]
    if got.fault is None or got.fault.code != 6:
        # Nothing that counts touched the beat.
        expected, memory = _model(case)
        return problems + run_differently(got, expected, memory_now, memory), got
    index = _index(case, got.fault.pc, problems)
    if index is None:
        return problems, got
    _, memory = _model(case, index)
    different = np.nonzero(memory_now != memory)[0]
    low, high = _target(case, index)
    if different.size and not (low <= different[0] and different[-1] < high):
        outside = [int(a) for a in different if not low <= a < high]
        problems.append(
            f"fault {got.fault}: memory at {outside[0]:#x} differs from what the {index} older "
            f"words leave"
        )
    if not got.fault.detail <= address + bench.beat_bytes:
        problems.append(f"detail {got.fault.detail:#x} lies behind the failing beat {address:#x}")
    # Words behind it that touch no memory may have completed in the meantime.
    if got.counters["instructions"] < index:
        problems.append(
            f"{got.counters['instructions']} instructions retired, expected at least {index}"
        )
    return problems, got


def _target(case, index):
    """Bytes of main memory that the word at ``index`` writes."""
    op, _, count, addr = (
        case.program[index * WORD : index * WORD + 14][k] if k < 3 else 0 for k in range(4)
    )
    if index * WORD >= len(case.program) or op != 1:
        return 0, 0
    addr = int.from_bytes(case.program[index * WORD + 3 : index * WORD + 11], "big")
    n = case.params["n"]
    low = case.registers["hostmem_base"] + n * addr
    return low, low + n * (count or 256)


def sanitised(case, words):
    """``case`` with another program of the same meaning, which may be longer: it moves behind
    everything else."""
    data = b"".join(word.pack() for word in words)
    at = programs.align(case.memory.size, 48 * 64)
    memory = np.zeros(programs.align(at + len(data) + 64, 64), np.uint8)
    memory[: case.memory.size] = case.memory
    memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
    registers = {**case.registers, "program_address": at, "program_length": len(data)}
    registers.pop("window_base", None)
    registers.pop("window_limit", None)
    return programs.Case(
        case.name, case.params, list(words), registers, memory, program=data, ranges=case.ranges
    )
