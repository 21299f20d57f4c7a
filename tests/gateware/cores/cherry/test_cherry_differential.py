# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's gateware against its golden model: random programs and lists, faults of every kind, aborts, resets.

Two builds: rows of tiles, four contexts, eight multipliers behind the shell's arbiter; whole tiles, sixteen contexts, 32 multipliers, a wide ACC.
`make test` runs 1,000 random programs and more; ``test_cherry_campaigns.py`` goes on.
"""
import random

import cherry_compare as compare
import pytest
from comparing import bench_fixture

from quintet.boards.virtual.bench import IDEAL, Behaviour

#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 500, 4
SLOW = Behaviour(latency=30, depth=1, gap=9, gap_percent=100, stall_percent=75)

bench = bench_fixture(compare.open_build, compare.QUICK)


def behaviour_of(seed):
    return (IDEAL, Behaviour.random(random.Random(f"behaviour {seed}")))[seed % 5 == 0]


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(bench, part):
    for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS):
        case = compare.program_case(seed, bench.params, words=random.Random(seed).choice((12, 24, 40)))
        problems, got = compare.check_case(bench, case, behaviour_of(seed), seed)
        assert not problems and got.status == "done", (case.name, problems, got)


def test_programs_with_faults(bench):
    seen = set()
    for seed in range(150):
        problems, got = compare.check_case(bench, compare.spoilt_case(seed, bench.params), IDEAL, seed)
        assert not problems, (seed, problems)
        if got is not None and got.fault:
            seen.add(got.fault.name)
    assert seen >= {"opcode", "field", "state", "mem_range", "undeclared"}


def test_lists(bench):
    for seed in range(60):
        problems, _ = compare.check_case(bench, compare.list_case(seed, bench.params), behaviour_of(seed), seed)
        assert not problems, (seed, problems)


def test_aborts(bench):
    rng = random.Random(5)
    for seed in range(20):
        case = compare.program_case(1000 + seed, bench.params)
        problems = compare.check_aborted(bench, case, rng.randrange(6000), SLOW if seed % 4 == 0 else IDEAL, seed)
        assert not problems, (seed, problems)


def test_core_resets_at_random_cycles(bench):
    rng = random.Random(6)
    for seed in range(12):
        case = compare.program_case(2000 + seed, bench.params)
        bench.load(case.memory)
        bench.start({"window_limit": case.memory.size, **case.registers})
        bench.step(rng.randrange(5000))
        bench.reset()
        problems, _ = compare.check_case(bench, case, IDEAL, seed)
        assert not problems, (seed, problems)
