# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's gateware against its golden model: random programs, faults, aborts, bus errors, hazards, properties.

Three builds: one without chaining and with one bank behind the shell's arbiter, and two of 8x8 and 12x12 whose ports have
a memory each. `make test` runs 2,000 random programs and more; the campaigns of ``test_opentpu_campaigns.py`` go on.
"""
import random

import opentpu_programs as programs
import pytest
from opentpu_compare import (
    check_aborted,
    check_bus_error,
    check_case,
    open_build,
    random_behaviour,
    sanitised,
)

from quintet.boards.virtual.bench import IDEAL, Behaviour

BUILDS = ("plain4", "ext8", "wide12")
#: Random programs of a build, and into how many tests they are cut.
COUNT, PARTS = 680, 4

_open = {}


@pytest.fixture(params=BUILDS)
def bench(request):
    """One bench of each build for a process; a test that breaks a rule leaves it usable."""
    if request.param not in _open:
        _open[request.param] = open_build(request.param)
    bench = _open[request.param]
    bench.clear_injections()
    yield bench
    bench.recover()


@pytest.fixture
def ext8():
    if "ext8" not in _open:
        _open["ext8"] = open_build("ext8")
    yield _open["ext8"]
    _open["ext8"].recover()


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(bench, part):
    """A third of them with a fault injected; every one with a memory of its own temper."""
    for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS):
        case = programs.random_case(seed, bench.params, legal=seed % 3 != 0)
        problems, _ = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, problems)


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(bench, fault):
    seen = set()
    for seed in range(12):
        case = programs.random_case(seed, bench.params, fault=fault)
        problems, outcome = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        seen.add(outcome.fault.name if outcome.fault else None)
    if fault not in ("bitflip", "bad_config"):
        assert fault in seen


def test_aborts_and_restarts(bench):
    for seed in range(60):
        rng = random.Random(seed)
        case = programs.random_case(seed, bench.params)
        problems, _ = check_aborted(bench, case, rng.choice((0, 1, 2, rng.randrange(100), rng.randrange(3000))),
                                    random_behaviour(seed), seed)
        assert not problems, (case.name, problems)
        if seed % 4 == 0:
            problems, _ = check_case(bench, case, IDEAL)
            assert not problems, (case.name, "after an abort", problems)


def test_core_resets_at_random_cycles(bench):
    for seed in range(40):
        case = programs.random_case(seed, bench.params, legal=seed % 3 != 0)
        bench.behave(random_behaviour(seed), seed=seed)
        bench.load(case.memory)
        bench.start({"window_limit": case.memory.size, **case.registers})
        bench.step(random.Random(seed).choice((0, 1, 3, 17, 200, 1500)))
        bench.reset()
        assert bench.status() == 0
        problems, _ = check_case(bench, case, random_behaviour(seed), seed)
        assert not problems, (case.name, "after a core reset", problems)


def test_bus_errors(bench):
    """At the first, last or a random byte of each region, reads or writes or both."""
    hit = 0
    for seed in range(80):
        rng = random.Random(seed)
        case = programs.random_case(seed, bench.params)
        region, size = rng.choice([
            (case.registers["program_address"], len(case.program)),
            (case.registers["hostmem_base"], case.registers["hostmem_limit"] - case.registers["hostmem_base"]),
            (case.registers["weights_base"], case.registers["weights_limit"] - case.registers["weights_base"])])
        address = region + rng.choice((0, size - 1, rng.randrange(size)))
        problems, outcome = check_bus_error(bench, case, address, rng.choice((True, False, None)), random_behaviour(seed),
                                            seed)
        assert not problems, (case.name, hex(address), problems)
        hit += outcome.status == "fault"
        problems, _ = check_case(bench, case, IDEAL)
        assert not problems, (case.name, "after a bus error", problems)
    assert hit > 10


def test_nothing_depends_on_nops_syncs_or_timing(bench):
    for seed in range(25):
        case = programs.random_case(seed, bench.params)
        words = case.words[:-1] if case.words[-1].opcode != programs.OP["HLT"] else case.words
        _, reference = check_case(bench, case, IDEAL)
        low, size = case.ranges[0]
        expected = bench.memory[low:low + size].copy()
        for kind, other in (("nops", programs.scatter(words, seed)), ("syncs", programs.scatter(words, seed, sync=True)),
                            ("padded", programs.pad(words, bench.params["n"]))):
            changed = sanitised(case, other)
            for behaviour in (IDEAL, random_behaviour(seed)):
                problems, outcome = check_case(bench, changed, behaviour, seed)
                assert not problems, (case.name, kind, problems)
                assert (bench.memory[low:low + size] == expected).all(), (case.name, kind)
                assert outcome.counters["operations"] == reference.counters["operations"]


def test_padded_programs_take_no_longer_than_their_words(ext8):
    """W14: one word a cycle, plus what memory needs and 40 cycles."""
    n = ext8.params["n"]
    for seed in range(40):
        case = programs.random_case(seed, ext8.params)
        if any(w.opcode == programs.OP["ACT"] and w.flags & 0x20 for w in case.words):
            continue        # published programs do not pool
        words = case.words[:-1] if case.words[-1].opcode != programs.OP["HLT"] else case.words
        padded = sanitised(case, programs.pad(words, n))
        problems, outcome = check_case(ext8, padded, IDEAL)
        assert not problems
        traffic = outcome.counters["bytes_read"] + outcome.counters["bytes_written"]
        assert outcome.counters["cycles"] <= outcome.counters["instructions"] + traffic / n + 40, case.name


def test_hazards(bench):
    for case in programs.hazard_cases(bench.params):
        for behaviour in (IDEAL, Behaviour(latency=3, gap=6, gap_percent=40, stall_percent=20)):
            problems, _ = check_case(bench, case, behaviour, 1)
            assert not problems, (case.name, behaviour, problems)


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
    """Section 6: at most 4096 cycles after the fault; here on a memory without delay, whole runs are bounded."""
    for seed in range(40):
        case = programs.random_case(seed, bench.params, legal=False, length=3)
        _, outcome = check_case(bench, case, IDEAL)
        work = sum(w.count + 64 for w in case.words)
        assert outcome.counters["cycles"] <= 4096 + work
