# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on IMAGine's gateware and on its model, and says every way in which they differ.

The array's state survives a start, so a *pair* of bench and model goes through runs together;
:func:`fresh` begins anew.
"""

import random
from functools import partial

import numpy as np

from quintet.boards.virtual.bench import bench_opener
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model.model import Model
from tests.gateware.cores.imagine.bench import programs as imagine_programs
from tests.support import comparing
from tests.support.comparing import (
    aborted_run,
    class_problems,
    compare_run,
    failing_run,
    first_difference,
    registers_of,
    word_index,
)

__all__ = [
    "BUILDS",
    "CYCLES",
    "QUICK",
    "check_aborted",
    "check_bus_error",
    "check_case",
    "check_state",
    "fresh",
    "open_build",
    "with_words",
]

#: No case of these tests takes so many cycles unless it hangs.
CYCLES = 5_000_000
MEMORY = 1 << 18
WORD = 4

#: name -> (preset, overrides, beat bytes, ports).
BUILDS = {
    # Odd sizes, the smallest FIFOs, as it stands in an SoC.
    "n8": (
        "sim",
        {"rows": 3, "cols": 3, "reg_width": 8, "depth": 256, "fifo_in": 16, "fifo_out": 16},
        4,
        "shell",
    ),
    # Width 4, every RAM row a register's; more rows than FIFO-out holds.
    "n4": ("sim", {"rows": 18, "cols": 2, "reg_width": 4, "depth": 64, "fifo_out": 16}, 2, "bare"),
    # A clock of its own; six columns are no power of two.
    "own": (
        "sim",
        {"rows": 2, "cols": 6, "depth": 1024, "own_clock": True, "fifo_in": 64},
        8,
        "shell",
    ),
    # The iCE40's mapping.
    "sdp1": ("up5k", {"own_clock": False}, 2, "shell"),
    # And with twice the blocks, whose waiting operations lie in two memories.
    "hx8k": ("hx8k", {"own_clock": False}, 4, "shell"),
    # Two blocks in a RAM, an odd number of rows.
    "sdp2": ("sim", {"rows": 5, "cols": 2, "depth": 512, "ram": "sdp2"}, 4, "bare"),
    # A fifth level.
    "tall": ("sim", {"rows": 1, "cols": 17, "reg_width": 8, "depth": 64, "fifo_in": 16}, 4, "bare"),
    "one": ("sim", {"rows": 1, "cols": 1, "depth": 64, "fifo_in": 16, "fifo_out": 16}, 1, "bare"),
    "sim": ("sim", {}, 4, "shell"),
}
#: Those of `make test`.
QUICK = ("n8", "n4", "own")
open_build = bench_opener("imagine", BUILDS, MEMORY)
with_words = partial(comparing.with_words, ISA)


def fresh(bench):
    """The model that goes with ``bench``, both after a core reset."""
    bench.reset()
    return Model(bench.params, np.zeros(64, np.uint8))


def _model_run(model, case, limit=None):
    model.memory = case.memory.copy()
    return model.run(registers_of(case), limit), model.memory


def check_case(bench, case, behaviour=None, seed=0, *, model=None, limit=CYCLES):
    """Differences between gateware and model in one run: outcome, fault, registers, memory,
    counters. Empty: none.

    Without ``model`` both begin with a core reset. Returns ``(problems, outcome of the gateware)``.
    After a fault the state is compared by another program, without a reset.
    """
    model = model or fresh(bench)
    if case.fault == "bus_write":
        return _check_lost_output(bench, case, behaviour, seed, model, limit)
    problems, got = compare_run(bench, case, *_model_run(model, case), behaviour, seed, limit)
    if got.status != "done" and not problems:
        problems = check_state(bench, model, seed)
    return problems, got


def check_state(bench, model, seed=0):
    """Differences in the state of the array, which a program writes and shows on both."""
    rng = random.Random(f"state {seed}")
    words = imagine_programs.state_words(rng, bench.params)
    return [
        f"afterwards: {problem}"
        for problem in compare_run(
            bench,
            imagine_programs.case_of("state", bench.params, words, program=64),
            *_model_run(model, imagine_programs.case_of("state", bench.params, words, program=64)),
            None,
            seed,
            CYCLES,
        )[0]
    ]


def _index(case, pc, problems):
    return word_index(case, pc, WORD, WORD * len(case.words), problems)


def _outputs(case, got, memory, expected, problems, lost=range(0)):
    """Results are those of the model, as many as ``output_count`` says; at most some of the next
    vectors' lie behind them. Of the bytes ``lost`` nothing is known."""
    at, count = case.registers["output_at"], got.values["output_count"]
    now, end = memory[: case.memory.size], at + WORD * count
    known = expected.copy()
    hole = slice(lost.start, min(lost.stop, now.size))
    known[hole] = now[hole]
    if (now[at:end] != known[at:end]).any():
        problems.append(
            f"of {count} results some differ: {first_difference(now[at:end], known[at:end])}"
        )
    known[end:] = np.where(now[end:] == known[end:], known[end:], case.memory[end:])
    difference = first_difference(now, known)
    if difference:
        problems.append(difference)


def _check_lost_output(bench, case, behaviour, seed, model, limit):
    """A run whose results do not all reach memory: the fault is that of the vector, later words may
    have been dispatched."""
    whole, written = Model(bench.params, case.memory.copy()), case.memory.size
    big = np.concatenate([case.memory, np.zeros(1 << 16, np.uint8)])
    whole.memory = big
    whole.run(registers_of(case))
    expected, _ = _model_run(model, case)
    if behaviour is not None:
        bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    got = bench.run(registers_of(case), limit)
    problems = class_problems(got)
    if got.fault is None or got.fault.code != ISA.fault_codes["bus_write"]:
        return [*problems, f"{got.status} {got.fault}, expected {expected.fault}"], got
    if got.fault.pc != expected.fault.pc:
        problems.append(f"fault {got.fault}, expected pc {expected.fault.pc:#x}")
    if got.values["output_count"] > expected.values["output_count"]:
        problems.append(
            f"{got.values['output_count']} results, expected at most "
            f"{expected.values['output_count']}"
        )
    _outputs(case, got, bench.memory, big[:written], problems)
    problems += check_after_lost_output(bench)
    return problems, got


def check_after_lost_output(bench):
    """The columns are off and 0; what the array holds is that of no exact word, so that both begin
    anew behind it."""
    words = [ISA.encode("mv_add", rd=0, rs1=0, rs2=0), ISA.encode("vv_parallelEn")]
    case = imagine_programs.case_of("columns", bench.params, words, program=64)
    problems, _ = compare_run(
        bench, case, *_model_run(Model(bench.params, np.zeros(64, np.uint8)), case), None, 0, CYCLES
    )
    return [f"afterwards: {p}" for p in problems if not p.startswith("values")]


def check_aborted(bench, case, cycle, behaviour, seed):
    """Abort a run at ``cycle``: it ends; array, selection and results are those of the words before
    pc, the columns 0."""
    model = fresh(bench)
    problems, got = aborted_run(bench, case, cycle, behaviour, seed)
    if got.status != "aborted":
        return problems, got
    index = _index(case, got.fault.pc, problems)
    if index is None:
        return problems, got
    if got.counters["instructions"] != index:
        problems.append(
            f"{got.counters['instructions']} words retired, but the next one is number {index}"
        )
    _, expected = _model_run(model, case, index)
    model.array.stop()
    _outputs(case, got, bench.memory, expected, problems)
    model.eov = got.values["eov"]
    if model.eov != (got.values["vectors"] > 0):
        problems.append(f"eov {model.eov} with {got.values['vectors']} vectors")
    return problems or check_state(bench, model, seed), got


def check_bus_error(bench, case, address, write, behaviour, seed):
    """Every access of a kind to the beat at ``address`` fails."""
    model, beat = fresh(bench), bench.beat_bytes
    low = address // beat * beat
    got = failing_run(bench, case, address, write, behaviour, seed, CYCLES)
    problems = class_problems(got)
    base, size = case.registers["program_address"], WORD * len(case.words)
    reads = write is not True and low < base + size and low + beat > base
    if got.fault is not None and got.fault.code == ISA.fault_codes["bus_read"]:
        index = _index(case, got.fault.pc, problems)
        first = max(0, (low - base) // WORD)
        if not reads or index != first:
            problems.append(
                f"fault {got.fault}, expected word {first}"
                if reads
                else f"fault {got.fault}, nothing failed"
            )
            return problems, got
        outcome, expected = _model_run(model, case, index)
        model.array.mode, model.array.columns = got_mode(model, case, index)
        difference = first_difference(bench.memory[: case.memory.size], expected)
        if difference:
            problems.append(difference)
        if got.counters["instructions"] != index or got.fault.detail != got.fault.pc:
            problems.append(f"{got.counters['instructions']} words retired, {got.fault}")
        model.eov = got.values["eov"]
        return problems or check_state(bench, model, seed), got
    expected, memory = _model_run(model, case)
    if (
        got.fault is not None
        and got.fault.code == ISA.fault_codes["bus_write"]
        and write is not False
    ):
        at = case.registers["output_at"]
        if not at - beat < low < at + WORD * case.params["rows"] * len(case.words):
            problems.append(f"fault {got.fault}: no result lies at {low:#x}")
        _outputs(case, got, bench.memory, memory, problems, range(low, low + beat))
        return problems + check_after_lost_output(bench), got
    if reads and expected.status == "done":
        problems.append(
            f"{got.status}, expected a bus error of word {max(0, (low - base) // WORD)}"
        )
    if got.status != expected.status or got.fault != expected.fault:
        problems.append(
            f"{got.status} {got.fault}, expected {expected.status} {expected.fault} or a bus error"
        )
    return problems, got


def got_mode(model, case, index):
    """Shift mode and columns after ``index`` words (a model's cycle limit is an abort, which clears
    them)."""
    again = Model(model.params, case.memory.copy())
    again.run({**registers_of(case), "program_length": WORD * index})
    return again.array.mode, again.array.columns
