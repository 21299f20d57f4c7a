# SPDX-License-Identifier: BSD-2-Clause
"""Checks of every OpenTPU engine, pipelined or small, on one bench against the golden model."""

import random
from functools import partial

from quintet.boards.virtual.bench import IDEAL, Behaviour
from tests.gateware.cores.opentpu.bench import compare, programs
from tests.gateware.cores.opentpu.bench.compare import (
    check_aborted,
    check_bus_error,
    check_case,
    sanitised,
)
from tests.support import comparing
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks

__all__ = [
    "aborts",
    "bench_fixture",
    "bus_errors",
    "bus_errors_among_nops",
    "core_resets",
    "every_fault",
    "hazards",
    "nop_runs",
    "random_programs",
    "shared_bench",
]


def _address(case, rng):
    """First, last or a random byte of a region."""
    region, size = rng.choice(
        [
            (case.registers["program_address"], len(case.program)),
            (
                case.registers["hostmem_base"],
                case.registers["hostmem_limit"] - case.registers["hostmem_base"],
            ),
            (
                case.registers["weights_base"],
                case.registers["weights_limit"] - case.registers["weights_base"],
            ),
        ]
    )
    return region + rng.choice((0, size - 1, rng.randrange(size)))


bench_fixture = partial(comparing.bench_fixture, compare.open_build)
shared_bench = partial(comparing.shared_bench, compare.open_build)
CHECKS = Checks(compare, programs.random_case)
random_programs = partial(CHECKS.random_programs, fails=3)
aborts = partial(CHECKS.aborts, latest=3000, again=IDEAL)
core_resets = partial(CHECKS.core_resets, fails=3)
bus_errors = partial(CHECKS.bus_errors, address=_address, again=IDEAL)


def nop_runs(bench, seeds):
    """Programs with runs of NOPs: whole, aborted, with a failing beat, without an end, with a
    window that ends behind them. Memory behind a program is zero, and reads as NOPs."""
    for seed in seeds:
        rng = random.Random(f"nop runs {seed}")
        case = programs.random_case(seed, bench.params)
        hlt = programs.OP["HLT"]
        words = case.words[: next(k for k, word in enumerate(case.words) if word.opcode == hlt)]
        kind = seed % 5
        words = programs.nop_runs(words, seed)
        if kind != 3:
            words.append(programs.Word(hlt))
        elif rng.random() < 0.7:
            words += [programs.Word(programs.OP["NOP"])] * rng.randrange(24)
        case = sanitised(case, words)
        at, size = case.registers["program_address"], case.registers["program_length"]
        if kind == 4:
            case.registers["window_limit"] = programs.align(at + size, 64)
        behaviour = random_behaviour(seed)
        if kind == 1:
            problems, _ = check_aborted(bench, case, rng.randrange(6000), behaviour, seed)
        elif kind == 2:
            problems, _ = check_bus_error(
                bench, case, at + rng.randrange(size), None, behaviour, seed
            )
        else:
            problems, outcome = check_case(bench, case, behaviour, seed)
            assert (outcome.fault.name if outcome.fault else None) == (
                "program_end" if kind == 3 else None
            ), case.name
        assert not problems, (case.name, seed, problems)


def bus_errors_among_nops(bench):
    """The first word that lies in the failing beat faults, all before it retire: fetch may ask for
    many at once."""
    nop, hlt = programs.Word(programs.OP["NOP"]), programs.Word(programs.OP["HLT"])
    case = sanitised(programs.random_case(0, bench.params), [nop] * 40 + [hlt])
    at = case.registers["program_address"]
    for word in range(41):
        for behaviour in (IDEAL, random_behaviour(word)):
            place = at + 14 * word + 7
            beat = place - place % bench.beat_bytes
            problems, got = check_bus_error(bench, case, place, None, behaviour, word)
            assert not problems, (word, problems)
            first = max(beat - at, 0) // 14
            assert (got.fault.name, got.fault.pc, got.counters["instructions"]) == (
                "bus_error",
                at + 14 * first,
                first,
            ), word


def every_fault(bench, fault, count=12):
    seen = set()
    for seed in range(count):
        outcome = CHECKS.run(
            bench,
            programs.random_case(seed, bench.params, fault=fault),
            random_behaviour(seed),
            seed,
        )
        seen.add(outcome.fault.name if outcome.fault else None)
    if fault not in ("bitflip", "bad_config"):
        assert fault in seen


def hazards(bench, share):
    """Every hazard; a share of a quarter has one or two of its five lengths and overlaps, which
    take turns."""
    for case in list(programs.hazard_cases(bench.params))[:: round(1 / share)]:
        for behaviour in (IDEAL, Behaviour(latency=3, gap=6, gap_percent=40, stall_percent=20)):
            CHECKS.run(bench, case, behaviour, 1, behaviour)
