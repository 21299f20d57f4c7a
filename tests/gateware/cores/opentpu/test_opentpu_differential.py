# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's gateware against its golden model: random programs, faults, aborts, bus errors,
hazards, properties.

Three builds: one without chaining and with one bank behind the shell's arbiter, and two of 8x8 and
12x12 whose ports have a memory each. `make test` runs 2,000 random programs and more; the campaigns
of ``test_opentpu_campaigns.py`` go on.
"""

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL, Behaviour
from quintet.tools.compiler.backends.opentpu.codegen.program import Program
from tests.gateware.cores.opentpu.bench import checks, programs
from tests.gateware.cores.opentpu.bench.compare import check_case, sanitised
from tests.support.campaigns import random_behaviour
from tests.support.shares import fewer, parts, shares, some

BUILDS = ("plain4", "ext8", "wide12")
#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 680, 4

bench = checks.bench_fixture(BUILDS)


@pytest.fixture
def ext8():
    bench = checks.shared_bench("ext8")
    yield bench
    bench.recover()


@parts(PARTS)
def test_random_programs(bench, part):
    checks.random_programs(bench, range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS))


@shares
def test_runs_of_nops(bench, share):
    checks.nop_runs(bench, range(some(60, share)))


def test_bus_errors_among_nops(bench):
    checks.bus_errors_among_nops(bench)


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(bench, fault):
    checks.every_fault(bench, fault)


@shares
def test_aborts_and_restarts(bench, share):
    checks.aborts(bench, some(60, share), every=4)


@shares
def test_core_resets_at_random_cycles(bench, share):
    checks.core_resets(bench, some(40, share))


@shares
def test_bus_errors(bench, share):
    checks.bus_errors(bench, some(80, share, 20), least=some(10, share, 2))


@shares
def test_nothing_depends_on_nops_syncs_or_timing(bench, share):
    for seed in range(some(25, share)):
        case = programs.random_case(seed, bench.params)
        words = case.words[:-1] if case.words[-1].opcode != programs.OP["HLT"] else case.words
        _, reference = check_case(bench, case, IDEAL)
        low, size = case.ranges[0]
        expected = bench.memory[low : low + size].copy()
        for kind, other in (
            ("nops", programs.scatter(words, seed)),
            ("syncs", programs.scatter(words, seed, sync=True)),
            ("padded", programs.pad(words, bench.params["n"])),
        ):
            changed = sanitised(case, other)
            for behaviour in (IDEAL, random_behaviour(seed)):
                problems, outcome = check_case(bench, changed, behaviour, seed)
                assert not problems, (case.name, kind, problems)
                assert (bench.memory[low : low + size] == expected).all(), (case.name, kind)
                assert outcome.counters["operations"] == reference.counters["operations"]


@pytest.mark.parametrize("latency", (4, 20, 80))
def test_a_run_ends_only_when_every_tile_has_come(bench, latency):
    """Reads of whole tiles and of diagonals that issue one right after another, and nobody who
    takes them: the words are fetched while the SYNC waits."""
    params, n = bench.params, bench.params["n"]
    rng = np.random.default_rng(latency)
    tiles = rng.integers(-128, 128, (2, n, n)).astype(np.int8)
    for count in range(1, params["wfifo_tiles"] + 2):
        for diagonals in {params["ext_diag"], False}:
            program = Program()
            program.rhm(0, 0, 200)
            program.sync()
            for k in range(count):
                program.rw(k % 2, diagonal=diagonals)
            program.hlt()
            host = rng.integers(-128, 128, (256, n)).astype(np.int8)
            case = programs.case_of("tiles", params, program.words, host, tiles)
            for _ in range(2):
                problems, _ = check_case(bench, case, Behaviour(latency=latency))
                assert not problems, (count, diagonals, problems)


def test_padded_programs_take_no_longer_than_their_words(ext8):
    """W14: one word a cycle, plus what memory needs and 40 cycles."""
    n = ext8.params["n"]
    for seed in range(40):
        case = programs.random_case(seed, ext8.params)
        if any(w.opcode == programs.OP["ACT"] and w.flags & 0x20 for w in case.words):
            continue  # published programs do not pool
        words = case.words[:-1] if case.words[-1].opcode != programs.OP["HLT"] else case.words
        padded = sanitised(case, programs.pad(words, n))
        problems, outcome = check_case(ext8, padded, IDEAL)
        assert not problems
        traffic = outcome.counters["bytes_read"] + outcome.counters["bytes_written"]
        assert outcome.counters["cycles"] <= outcome.counters["instructions"] + traffic / n + 40, (
            case.name
        )


@shares
def test_hazards(bench, share):
    checks.hazards(bench, share)


def test_a_run_leaves_nothing_behind(bench):
    """Unified buffer and accumulators are zero at every start, whatever ran before."""
    case = programs.random_case(7, bench.params)
    first = None
    for seed in range(6):
        programs_before = programs.random_case(100 + seed, bench.params, legal=seed % 2 == 0)
        check_case(bench, programs_before, IDEAL)
        problems, outcome = check_case(bench, case, IDEAL)
        assert not problems, problems
        first = first or outcome
        assert outcome == first


def test_a_fault_ends_in_bounded_time(bench):
    """Section 6: at most 4096 cycles after the fault; here on a memory without delay, whole runs
    are bounded."""
    for seed in range(fewer(40)):
        case = programs.random_case(seed, bench.params, legal=False, length=3)
        _, outcome = check_case(bench, case, IDEAL)
        work = sum(w.count + 64 for w in case.words)
        assert outcome.counters["cycles"] <= 4096 + work
