# SPDX-License-Identifier: BSD-2-Clause
"""Runs cases on Cherry's gateware and on its model, and says every way in which they differ:
outcome, fault, registers, counters, main memory, and MEM."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakSet

import numpy as np

from quintet.boards.virtual.bench import IDEAL, Behaviour, bench_opener
from quintet.gateware.cores.cherry.image import (
    FILL,
    OUT,
    Descriptor,
    ProgramImage,
    Step,
    image_bytes,
    list_bytes,
)
from quintet.gateware.cores.cherry.isa import LOOPS
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.model.races import Overlap, Race
from quintet.gateware.cores.cherry.model.transfers import from_array
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble
from tests.gateware.cores.cherry.bench.faults import spoilt
from tests.gateware.cores.cherry.bench.lists import random_list
from tests.gateware.cores.cherry.bench.programs import SPAN, random_case, random_element
from tests.support.comparing import aborted_run, class_problems, first_difference, registers_of

__all__ = [
    "BUILDS",
    "CYCLES",
    "QUICK",
    "SLOW",
    "RunCase",
    "behaviour_of",
    "check_aborted",
    "check_case",
    "list_case",
    "matrices_case",
    "open_build",
    "program_case",
    "spoilt_case",
]

#: No case of these tests takes so many cycles unless it hangs; a list with a wrong descriptor has
#: taken the small engine 51 million.
CYCLES = 200_000_000
MEMORY = 1 << 18
SLOW = Behaviour(latency=30, depth=1, gap=9, gap_percent=100, stall_percent=75)
#: Where nothing of a case lies: the list that fills or saves MEM, and what it saves.
_HELP_AT, _SAVED_AT = 1 << 17, 3 << 16

#: name -> (preset, overrides, beat bytes, ports).
BUILDS = {
    "sim": ("sim", {}, 2, "shell"),
    # Words of whole tiles, sixteen contexts.
    "85f": ("85f", {}, 2, "shell"),
    "85f-max": ("85f-max", {}, 2, "shell"),
    "45f": ("45f", {}, 4, "shell"),
    # Loads and stores by pairs, two operations of a unit under way.
    "25f": ("25f", {}, 2, "shell"),
    # The most contexts, a wide ACC, no reduces along rows, the fewest parallel multipliers.
    "many": (
        "sim",
        {
            "macs": 4,
            "contexts": 32,
            "banks": 2,
            "reduce_axes": 0,
            "sfu_lanes": 0,
            "alu_lanes": 1,
            "acc_frac": 17,
        },
        8,
        "bare",
    ),
    # One resident program: banks with one port, which DMA and programs have in turn.
    "one-slot": ("sim", {"macs": 4, "contexts": 2, "banks": 2, "slots": 1}, 1, "bare"),
    # Everything serial: the small engine; with what it may lack, and without.
    "one": ("hx8k", {"imem": 512}, 1, "bare"),
    "one-4": ("hx8k", {"imem": 512}, 4, "shell"),
    "one-8": ("hx8k", {"imem": 512, "sfu_lanes": 0, "reduce_axes": 0}, 8, "bare"),
    # With the UP5K's multiplier.
    "one-dsp": ("up5k", {"imem": 512}, 2, "shell"),
}
#: Those of `make test`: one, since the compiler takes minutes for the larger ones.
QUICK = ("sim",)


@dataclass
class RunCase:
    """A run: main memory before it, registers; ``lost``: ranges of main memory of which nothing is
    known after a fault."""

    name: str
    memory: np.ndarray
    registers: dict
    lost: list = field(default_factory=list)


open_build = bench_opener("cherry", BUILDS, MEMORY)


def _array(data):
    return np.frombuffer(bytes(data), np.uint8).copy()


def program_case(seed, params, words=40):
    """One random program between a list that loads MEM and one that saves it."""
    case = random_case(seed, params, words=words)
    return RunCase(f"program {seed}", _array(case.memory), dict(case.registers))


def spoilt_case(seed, params):
    """A random program with something wrong in it, as a bare image."""
    image = spoilt(random.Random(f"spoilt {seed}"), params)
    image.wide = params["acc_frac"] == 17
    image.special = image.axes = False
    data = image_bytes(image)
    memory = np.zeros(0x4000, np.uint8)
    memory[0x1000 : 0x1000 + len(data)] = _array(data)
    return RunCase(
        f"spoilt {seed}", memory, {"program_address": 0x1000, "program_length": len(data)}
    )


def list_case(seed, params, wrong=False):
    """A random program list."""
    case = random_list(seed, params, wrong)
    return RunCase(f"list {seed}{' wrong' if wrong else ''}", case.memory, dict(case.registers))


def matrices_case(name, inputs, fmt):
    """The run of ``programs/<name>_<fmt>.s`` on random matrices in main memory; ``inputs``: pairs
    (address, shape)."""
    path = Path(__file__).resolve().parents[1] / "programs" / f"{name}_{fmt}.s"
    data = np.frombuffer(assemble(SOFTWARE, path).data, np.uint8)
    memory, rng = np.zeros(0x20000, np.uint8), np.random.default_rng(8)
    memory[0x1000 : 0x1000 + data.size] = data
    for address, shape in inputs:
        raw = from_array(rng.normal(size=shape), fmt).view(np.uint8).ravel()
        memory[address : address + raw.size] = raw
    return RunCase(
        f"{name} {fmt}", memory, {"program_address": 0x1000, "program_length": data.size}
    )


def behaviour_of(seed):
    """How main memory answers: one case in five meets a moody one."""
    return (IDEAL, Behaviour.random(random.Random(f"behaviour {seed}")))[seed % 5 == 0]


def _help_list(params, descriptor, before):
    """A program without instructions that carries out one descriptor."""
    image = image_bytes(ProgramImage(wide=params["acc_frac"] == 17))
    return _array(
        list_bytes(
            [(image, Step(0), [descriptor] if before else [], [] if before else [descriptor])]
        )
    )


#: Benches whose MEM holds zeros behind the rows where programs work.
_zeroed = WeakSet()


class Pair:
    """A bench and the model of the same run, MEM the same on both."""

    def __init__(self, bench, seed):
        self.bench = bench
        self.model = Model(bench.params, np.zeros(64, np.uint8))
        pattern = random_element(random.Random(f"fill {seed}"))
        rows = (1 << bench.params["log_mem"]) // SPAN
        # Filled anew and saved is where programs work. A wrong address may lie anywhere: all the
        # rest holds zeros, which take long to write.
        self.rows = min(4, rows)
        if bench not in _zeroed:
            self._help(Descriptor(FILL, "fp32", 0, 0, rows, SPAN, 0, SPAN), True)
            _zeroed.add(bench)
        self._help(Descriptor(FILL, "fp32", pattern, 0, self.rows, SPAN, 0, SPAN), True)
        self.model.mem[:] = 0
        self.model.mem[: self.rows * SPAN] = pattern

    def _help(self, descriptor, before):
        bench = self.bench
        data = _help_list(bench.params, descriptor, before)
        memory = np.zeros(MEMORY, np.uint8)
        memory[_HELP_AT : _HELP_AT + data.size] = data
        # What fills and saves MEM is not what is compared: a slow memory would make it most of a
        # case's cycles.
        bench.behave(IDEAL)
        bench.load(memory)
        got = bench.run({"program_address": _HELP_AT, "window_limit": MEMORY}, CYCLES)
        assert got.status == "done", got

    def mem(self):
        """The gateware's MEM, as far as cases reach."""
        if self.model.mem[self.rows * SPAN :].any():
            _zeroed.discard(self.bench)
        # As fp32, an element and 14 zeros, which the small engine saves in half the cycles of raw
        # words.
        self._help(Descriptor(OUT, "fp32", _SAVED_AT, 0, self.rows, SPAN, 4 * SPAN, SPAN), False)
        return (
            self.bench.memory[_SAVED_AT : _SAVED_AT + 4 * SPAN * self.rows]
            .view("<u4")
            .astype(np.int64)
            >> 14
        )


def _loops(bench):
    at = bench.registers["loop_var"].offset
    return {f"loop_var[{k}]": bench.read_register(at + 4 * k) for k in range(LOOPS)}


def check_case(bench, case, behaviour, seed, limit=CYCLES):
    """Differences between gateware and model in one run. Empty: none. Returns ``(problems, outcome
    of the gateware)``; ``None`` for an outcome where the case has no defined result (a race, a
    promise that does not hold)."""
    pair = Pair(bench, seed)
    model = pair.model
    model.memory = case.memory.copy()
    registers = registers_of(case)
    try:
        expected = model.run(registers)
    except (Race, Overlap):
        return [], None
    bench.behave(behaviour, seed=seed)
    bench.load(case.memory)
    got = bench.run(registers, limit)
    problems = class_problems(got)
    values = got.values | _loops(bench)
    for name in ("status", "fault"):
        if getattr(got, name) != getattr(expected, name):
            problems.append(f"{name} {getattr(got, name)}, expected {getattr(expected, name)}")
    different = {
        name: (values.get(name), value)
        for name, value in expected.values.items()
        if values.get(name) != value
    }
    if different:
        problems.append(f"registers (got, expected) {different}")
    counters = {
        name: (got.counters[name], value)
        for name, value in expected.counters.items()
        if got.counters[name] != value
    }
    # Transfers that were under way when a fault came have passed or not.
    if counters and (
        expected.status == "done" or any(not name.startswith("bytes") for name in counters)
    ):
        problems.append(f"counters (got, expected) {counters}")
    difference = first_difference(bench.memory[: case.memory.size], model.memory)
    if difference:
        problems.append(difference)
    mem = pair.mem()
    wrong = (mem != model.mem[: mem.size]).nonzero()[0]
    if wrong.size:
        at = int(wrong[0])
        problems.append(
            f"{wrong.size} elements of MEM differ, the first at {at:#x}: {mem[at]:#07x}, "
            f"expected {model.mem[at]:#07x}"
        )
    return problems, got


def check_aborted(bench, case, cycle, behaviour, seed):
    """Aborts a run at ``cycle``: it ends in time, and the core works afterwards. Returns
    ``(problems, outcome)``."""
    problems, got = aborted_run(bench, case, cycle, behaviour, seed)
    if got.status == "fault":
        problems.append(f"a fault {got.fault} of a good program")
    return problems + [f"afterwards: {p}" for p in check_case(bench, case, behaviour, seed)[0]], got
