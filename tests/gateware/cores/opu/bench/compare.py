# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on the OPU's gateware and on its model, and says every way in which they differ."""

from functools import partial

import numpy as np

from quintet.boards.virtual.bench import bench_opener
from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.model.sequence import Regions, Sequence
from quintet.gateware.isa.outcome import RunFault
from tests.support import comparing
from tests.support.comparing import (
    aborted_run,
    class_problems,
    compare_run,
    failing_run,
    first_difference,
    registers_of,
    run_differently,
    word_index,
)

__all__ = [
    "BUILDS",
    "CYCLES",
    "QUICK",
    "check_aborted",
    "check_bus_error",
    "check_case",
    "open_build",
    "some_address",
    "touched",
    "with_words",
]

#: No case of these tests takes so many cycles unless it hangs.
CYCLES = 20_000_000
MEMORY = 1 << 17
WORD = 4
_SMALL = {"ifm_lines": 512, "ofm_lines": 1024, "ker_rows": 288}

#: name -> (preset, overrides, beat bytes, ports).
BUILDS = {
    # 4x2, one bank of each, as it stands in an SoC.
    "sim": ("sim", {}, 2, "shell"),
    # 32-bit sums, groups of one step, two banks of ifm, every port with a memory of its own.
    "acc32": ("sim", {"types": "8-8-32-32", "pi": 16, "ifm_banks": 2}, 4, "bare"),
    # 16-bit data, two banks of each.
    "wide": (
        "sim",
        {"types": "16-16-32-32", "pi": 8, "po": 4, "ifm_banks": 2, "ofm_banks": 2},
        4,
        "shell",
    ),
    "p128": ("85f", {**_SMALL, "ker_rows": 144}, 4, "bare"),
    "p64": ("85f-p64", _SMALL, 2, "shell"),
    "p64acc": ("85f-p64", {**_SMALL, "types": "8-8-32-32", "ofm_banks": 1}, 4, "bare"),
    "p16": ("25f", {"ifm_lines": 512, "ofm_lines": 4096}, 2, "shell"),
    "p4": ("sim", {"po": 1, "ofm_lines": 2048, "ker_rows": 1024, "multiplier": "lut"}, 1, "shell"),
    "pairs": ("85f-p256", {**_SMALL, "ker_rows": 144, "ifm_banks": 1}, 8, "bare"),
    # Lines of a beat each.
    "pairs16": ("85f-p256", {**_SMALL, "ker_rows": 144}, 16, "bare"),
    "narrow": (
        "sim",
        {"types": "8-8-32-32", "pi": 4, "po": 8, "out_lanes": 2, "ker_rows": 288, "ofm_banks": 2},
        2,
        "bare",
    ),
    # The small engine: the UP5K's sizes.
    "small": ("sim-small", {}, 4, "shell"),
    # The HX8K's, beside SRAM and beside SDRAM.
    "logic": ("hx8k", {}, 4, "shell"),
    "logic2": ("hx8k", {}, 2, "shell"),
}
#: Those of `make test`: one for each type set.
QUICK = ("sim", "acc32", "wide")
open_build = bench_opener("opu", BUILDS, MEMORY)
with_words = partial(comparing.with_words, ISA)


def _model(case, trace=None):
    memory = case.memory.copy()
    return Model(case.params, memory).run(
        registers_of(case), trace=trace and (lambda *entry: trace(memory, *entry))
    ), memory


def check_case(bench, case, behaviour=None, seed=0, *, limit=CYCLES):
    """Differences between gateware and model in one run: outcome, fault, registers, memory,
    counters. Empty: none.

    Returns ``(problems, outcome of the gateware)``.
    """
    return compare_run(bench, case, *_model(case), behaviour, seed, limit)


def _index(case, pc, problems):
    return word_index(case, pc, WORD, WORD * len(case.words), problems)


class _Writes:
    """Writes of each instruction of a case, in order: pairs (index, list of (address, bytes))."""

    def __init__(self, case):
        self.case, self.groups = case, []

        def note(memory, pc, address, size):
            index = (pc - case.registers["program_address"]) // WORD
            if not self.groups or self.groups[-1][0] != index:
                self.groups.append((index, []))
            self.groups[-1][1].append((address, memory[address : address + size].copy()))

        _model(case, note)

    def upto(self, index):
        """Memory as the instructions before ``index`` leave it."""
        memory = self.case.memory.copy()
        for number, writes in self.groups:
            if number < index:
                for address, data in writes:
                    memory[address : address + data.size] = data
        return memory

    def fits(self, memory, index):
        """Whether ``memory`` is what the instructions before ``index`` leave, changed by a part of
        instruction ``index``."""
        expected = self.upto(index)
        different = np.flatnonzero(memory != expected)
        if not different.size:
            return True
        allowed = {int(a): set() for a in different}
        for number, writes in self.groups:
            if number == index:
                for address, data in writes:
                    for a in allowed.keys() & range(address, address + data.size):
                        allowed[a].add(int(data[a - address]))
        return all(int(memory[a]) in values for a, values in allowed.items())


def check_aborted(bench, case, cycle, behaviour, seed):
    """Abort a run at ``cycle``: it ends, everything before pc is whole, and at most one later
    instruction is there in part.

    Pc is the oldest instruction of memory that is not complete, or the next one to be decoded.
    Instructions retired are not compared: convolutions in front of pc may have been dropped,
    configuration behind it may have been carried out.
    """
    problems, outcome = aborted_run(bench, case, cycle, behaviour, seed)
    if outcome.status != "aborted":
        return problems, outcome
    index = _index(case, outcome.fault.pc, problems)
    if index is not None:
        writes, memory = _Writes(case), bench.memory[: case.memory.size]
        points = sorted(
            {index, *(number for number, _ in writes.groups if number >= index), len(case.words)}
        )
        if not any(writes.fits(memory, point) for point in points):
            problems.append(
                f"memory after an abort before word {index} is none that the program passes "
                f"through: "
                f"{first_difference(memory, writes.upto(index))}"
            )
    return problems, outcome


def touched(case, low, high, write):
    """Index of the first word that reads or writes (``write`` ``None``: either) bytes ``low`` to
    ``high`` (exclusive) by its meaning, its own fetch included; ``None`` if none does before the
    program ends or faults."""
    registers = registers_of(case)
    regions = Regions(registers, case.memory.size)
    machine, base = Sequence(case.params, case.params, regions), registers["program_address"]
    end, size = base + registers["program_length"], machine.types.ifm_bytes
    written = (
        {number: writes for number, writes in _Writes(case).groups} if write is not False else {}
    )
    for number, word in enumerate(case.words):
        at = base + WORD * number
        if not regions.holds(at, WORD) or at + WORD > end:
            return None
        if write is not True and at < high and low < at + WORD:
            return number
        try:
            step = machine.step(word)
        except RunFault:
            return None
        if step.mnemonic == "end":
            return None
        if write is not True and step.bytes_read:
            pieces = [step.array]
            if step.mnemonic == "ld.ifm":
                h, w, c = machine.ifm
                pieces = [
                    (step.array.address + (i * machine.ifm_mem_w + j) * 64 * size, c * size)
                    for i in range(h)
                    for j in range(w)
                ]
            if any(a < high and low < a + n for a, n in pieces):
                return number
        if any(a < high and low < a + data.size for a, data in written.get(number, ())):
            return number
    return None


def some_address(case, rng):
    """An address that the case is likely to touch: of its program, of an array of one of its
    instructions, or any."""
    registers = registers_of(case)
    machine, places = Sequence(case.params, case.params, Regions(registers, case.memory.size)), []
    for word in case.words:
        try:
            step = machine.step(word)
        except RunFault:
            break
        if step.mnemonic == "end":
            break
        if step.array is not None:
            places.append(step.array)
    kind = rng.randrange(4)
    if kind == 0 or not places:
        return registers["program_address"] + rng.randrange(WORD * len(case.words))
    address, span = rng.choice(places) if kind < 3 else (0, case.memory.size)
    return address + rng.choice((0, span - 1, rng.randrange(span)))


def check_bus_error(bench, case, address, write, behaviour, seed):
    """Every access of a kind to the beat at ``address`` fails: older words are whole, nothing
    younger shows."""
    beat = bench.beat_bytes
    low = address // beat * beat
    must = touched(case, low, low + beat, write)
    got = failing_run(bench, case, address, write, behaviour, seed, CYCLES)
    problems, memory = class_problems(got), bench.memory[: case.memory.size]
    if got.fault is None or got.fault.code != 6:
        if must is not None:
            problems.append(f"{got.status} {got.fault}, expected a bus error of word {must}")
        expected, wanted = _model(case)
        return problems + run_differently(got, expected, memory, wanted), got
    index = _index(case, got.fault.pc, problems)
    if index is None:
        return problems, got
    # A load may be widened to whole beats in its 64 bytes, so that it fails before the word that
    # had to.
    if must is not None and index > must:
        problems.append(f"bus error of word {index}, expected word {must}")
    if not _Writes(case).fits(memory, index):
        problems.append(f"fault {got.fault}: memory is not what the {index} older words leave")
    if not got.fault.detail <= low + beat or got.fault.detail >= case.memory.size:
        problems.append(f"detail {got.fault.detail:#x} lies behind the failing beat {low:#x}")
    return problems, got
