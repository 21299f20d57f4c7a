# SPDX-License-Identifier: BSD-2-Clause
"""What every OPU engine must stand, pipelined or small: checks of one bench against the golden model."""
import random
from functools import partial

import numpy as np

from quintet.boards.virtual.bench import Behaviour
from quintet.gateware.cores.opu.types import type_set
from tests.gateware.cores.opu.bench import compare
from tests.gateware.cores.opu.bench import directed as opu_directed
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.support import comparing
from tests.support.campaigns import random_behaviour

__all__ = ["aborts", "bench_fixture", "bus_errors", "check", "core_resets", "directed", "every_fault", "random_programs",
           "rows_that_overlap", "stores_cut_short"]

#: A memory on which a store takes long, each burst by itself.
SLOW = Behaviour(latency=8, depth=1, gap=4, gap_percent=50)

bench_fixture = partial(comparing.bench_fixture, compare.open_build)


def check(bench, case, behaviour, seed=0, note=""):
    """A run equals the model's; its outcome."""
    problems, outcome = compare.check_case(bench, case, behaviour, seed)
    assert not problems, (case.name, note, problems)
    return outcome


def random_programs(bench, seeds):
    """A quarter of them end in a fault; every one with a memory of its own temper."""
    for seed in seeds:
        check(bench, opu_programs.random_case(seed, bench.params, legal=seed % 4 != 0, budget=8000), random_behaviour(seed), seed)


def every_fault(bench, fault):
    for seed in range(8):
        case = opu_programs.random_case(seed, bench.params, fault=fault, budget=4000)
        assert check(bench, case, random_behaviour(seed), seed).fault.name == case.fault


def directed(bench, group, count, behaviour):
    """``count`` of the directed programs of ``group``, the same every time."""
    for case in opu_directed.shuffled(opu_directed.directed_cases(bench.params, group), 1, count):
        check(bench, case, behaviour)


def aborts(bench, count, latest, behaviour, every=4):
    """Aborts at random cycles below ``latest``; after every ``every``-th the same program runs whole."""
    for seed in range(count):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        problems, _ = compare.check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(latest))),
                                            random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        if seed % every == 0:
            check(bench, case, behaviour, note="after an abort")


def rows_that_overlap(params):
    """A store of 6x4 slots whose rows are one slot apart: all but one of a row is written again."""
    types, rng = type_set(params), np.random.default_rng(5)
    text = ("@shape.ifm [6,4,16]\n@shape.ofm [6,4,8]\n@shape.ker 1\n@mem.ifm 1, 4\n@mem.ker 2\n@mem.ofm 3, [6,1]\n"
            f"@shift {types.ofm - types.ifm - types.ker - 2}, 0\nld.ifm 0\nld.ker 0\nconv ifm:[0,0], ker:0\nstore 0\n")
    arrays = [(opu_directed.MAPS, rng.integers(0, 256, 24 * 64 * 2).astype(np.uint8)),
              (opu_directed.KERNELS, rng.integers(0, 256, 8 * 16 * 2).astype(np.uint8))]
    return opu_directed.case_of("rows overlap", params, text, arrays)


def stores_cut_short(bench, apart):
    """Aborts every ``apart`` cycles of a store whose rows overlap; some must leave a row that the next one would change.

    The control block takes a write once in a turn of its counters: only a memory of another temper each time makes aborts
    fall anywhere.
    """
    case = rows_that_overlap(bench.params)
    _, outcome = compare.check_case(bench, case, SLOW)
    whole, between = bench.memory[:case.memory.size].copy(), 0
    for cycle in range(0, outcome.counters["cycles"], apart):
        problems, outcome = compare.check_aborted(bench, case, cycle, SLOW, cycle)
        assert not problems, (cycle, problems)
        now = bench.memory[:case.memory.size]
        between += bool(((now != whole) & (now != case.memory)).any())
    assert between


def core_resets(bench, count):
    """Core resets at random cycles, and the same program whole after each."""
    for seed in range(count):
        case = opu_programs.random_case(seed, bench.params, legal=seed % 3 != 0, budget=4000)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start(comparing.registers_of(case))
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        check(bench, case, random_behaviour(seed), seed, "after a core reset")


def bus_errors(bench, count, least, behaviour):
    """At addresses that the case is likely to touch, reads or writes or both; more than ``least`` must be hit."""
    hit = 0
    for seed in range(count):
        rng = random.Random(seed)
        case = opu_programs.random_case(seed, bench.params, budget=8000)
        address = compare.some_address(case, rng)
        problems, outcome = compare.check_bus_error(bench, case, address, rng.choice((True, False, None)),
                                                    random_behaviour(seed), seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
        if seed % 4 == 0:
            check(bench, case, behaviour, note="after a bus error")
    assert hit > least
