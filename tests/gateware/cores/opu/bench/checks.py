# SPDX-License-Identifier: BSD-2-Clause
"""Checks of every OPU engine, pipelined or small, on one bench against the golden model."""

from functools import partial

import numpy as np

from quintet.boards.virtual.bench import Behaviour
from quintet.gateware.cores.opu.types import type_set
from tests.gateware.cores.opu.bench import compare
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.support import comparing
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks

__all__ = [
    "aborts",
    "bench_fixture",
    "bus_errors",
    "check",
    "core_resets",
    "directed",
    "every_fault",
    "random_programs",
    "rows_that_overlap",
    "stores_cut_short",
]

#: A memory on which a store takes long, each burst by itself.
SLOW = Behaviour(latency=8, depth=1, gap=4, gap_percent=50)

bench_fixture = partial(comparing.bench_fixture, compare.open_build)
CHECKS = Checks(compare, opu_programs.random_case)
check = CHECKS.run
random_programs = partial(CHECKS.random_programs, fails=4, budget=8000)
aborts = partial(CHECKS.aborts, every=4, budget=8000)
bus_errors = partial(CHECKS.bus_errors, address=compare.some_address, every=4, budget=8000)
core_resets = partial(CHECKS.core_resets, fails=3, budget=4000)


def every_fault(bench, fault):
    for seed in range(8):
        case = opu_programs.random_case(seed, bench.params, fault=fault, budget=4000)
        assert check(bench, case, random_behaviour(seed), seed).fault.name == case.fault


def directed(bench, group, count, behaviour):
    """``count`` of the directed programs of ``group``, the same every time."""
    for case in opu_directed.shuffled(opu_directed.directed_cases(bench.params, group), 1, count):
        check(bench, case, behaviour)


def rows_that_overlap(params):
    """A store of 6x4 slots whose rows are one slot apart: all but one of a row is written again."""
    types, rng = type_set(params), np.random.default_rng(5)
    text = (
        "@shape.ifm [6,4,16]\n@shape.ofm [6,4,8]\n@shape.ker 1\n@mem.ifm 1, 4\n@mem.ker 2\n"
        "@mem.ofm 3, [6,1]\n"
        f"@shift {types.ofm - types.ifm - types.ker - 2}, 0\nld.ifm 0\nld.ker 0\nconv "
        f"ifm:[0,0], ker:0\nstore 0\n"
    )
    arrays = [
        (opu_directed.MAPS, rng.integers(0, 256, 24 * 64 * 2).astype(np.uint8)),
        (opu_directed.KERNELS, rng.integers(0, 256, 8 * 16 * 2).astype(np.uint8)),
    ]
    return opu_directed.case_of("rows overlap", params, text, arrays)


def stores_cut_short(bench, apart):
    """Aborts every ``apart`` cycles of a store whose rows overlap; some must leave a row that the
    next one would change.

    The control block takes a write once in a turn of its counters: only a memory of another temper
    each time makes aborts fall anywhere.
    """
    case = rows_that_overlap(bench.params)
    _, outcome = compare.check_case(bench, case, SLOW)
    whole, between = bench.memory[: case.memory.size].copy(), 0
    for cycle in range(0, outcome.counters["cycles"], apart):
        problems, outcome = compare.check_aborted(bench, case, cycle, SLOW, cycle)
        assert not problems, (cycle, problems)
        now = bench.memory[: case.memory.size]
        between += bool(((now != whole) & (now != case.memory)).any())
    assert between
