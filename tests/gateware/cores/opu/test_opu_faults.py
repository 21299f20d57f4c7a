# SPDX-License-Identifier: BSD-2-Clause
"""Faults and aborts of the OPU's gateware where the model has nothing to compare with: what is
reported, and how soon it stops."""

import random

import pytest

from quintet.boards.virtual.bench import IDEAL, Behaviour
from quintet.gateware.cores.opu.params import SPACE
from tests.gateware.cores.opu.bench import compare
from tests.gateware.cores.opu.bench import programs as opu_programs
from tests.gateware.cores.opu.bench.compare import check_case
from tests.gateware.cores.opu.bench.directed import case_of
from tests.support.shares import fewer

#: Section 6 and docs/how/contracts.md: most cycles from the reason to the end, bursts under way
#: apart.
BOUND = 1000
BUS, ABORTED = 6, 8
PARAMS = SPACE.resolve("sim")

#: Regions of ``case_of``: maps from 0x1000, kernels from 0x6000, results from 0x9000.
_SETUP = """
@mem.ifm 1, 8
@mem.ker 2
@mem.bias 2
@mem.ofm 3, [8,8]
@shape.ifm [8,8,16]
@shape.ofm [8,8,16]
@shape.ker 1
"""
_SETUP_WORDS = 7

_benches = []


@pytest.fixture
def bench():
    """The build of the differential tests."""
    if not _benches:
        _benches.append(compare.open_build("sim"))
    bench = _benches[0]
    bench.clear_injections()
    bench.behave(IDEAL)
    yield bench
    bench.recover()


def run(bench, text, **errors):
    """The outcome of ``_SETUP`` and ``text`` with one access in error, and the index of the
    faulting word."""
    case = case_of("faults", PARAMS, _SETUP + text)
    bench.load(case.memory)
    if errors:
        bench.inject(**errors)
    outcome = bench.run({"window_limit": case.memory.size, **case.registers}, 1_000_000)
    bench.clear_injections()
    index = None if outcome.fault is None else outcome.fault.pc // 4 - _SETUP_WORDS
    changed = bench.memory[: case.memory.size] != case.memory
    return outcome, index, case, changed


def test_a_load_that_fails(bench):
    """Code, pc, the word, and the address of the request: position (2, 3) of the map. Nothing after
    it shows."""
    at = 0x1000 + 64 * (2 * 8 + 3)
    outcome, index, case, changed = run(
        bench, "ld.ker 0\nld.ifm 0\npad 0, 1\n.word 9", low=at + 4, high=at + 5, write=False
    )
    assert (outcome.status, outcome.fault.code, index, outcome.fault.detail) == (
        "fault",
        BUS,
        1,
        at,
    )
    assert outcome.values["fault_insn"] == case.words[_SETUP_WORDS + 1] and not changed.any()


def test_an_illegal_word_waits_for_the_load_before_it(bench):
    outcome, index, _, _ = run(bench, "ld.ker 0\n.word 9", low=0x6010, high=0x6011)
    assert (outcome.fault.code, index, outcome.fault.detail) == (BUS, 0, 0x6000)
    outcome, index, _, _ = run(bench, "ld.ker 0\n.word 9")
    assert (outcome.fault.name, index, outcome.fault.detail) == ("illegal_op", 1, 9)


@pytest.mark.parametrize("position", [(0, 0), (4, 4), (7, 7)])
def test_a_store_that_fails(bench, position):
    """What it writes lies in its own array; neither the pad nor the store behind it writes
    anything."""
    at = 0x9000 + 64 * (8 * position[0] + position[1])
    text = "ld.ifm 0\nld.ker 0\nconv ifm:[0,0], ker:0\nstore 0\npad 64, 1\nstore 128"
    outcome, index, case, changed = run(bench, text, low=at, high=at + 1, write=True)
    assert (outcome.fault.code, index, outcome.fault.detail) == (BUS, 3, at)
    assert outcome.values["fault_insn"] == case.words[_SETUP_WORDS + 3]
    assert not changed[:0x9000].any() and not changed[0x9000 + 64 * 64 :].any()


def test_a_pad_that_fails(bench):
    outcome, index, _, changed = run(
        bench, "pad 0, 1\npad 64, 2", low=0x9000 + 64 * 8, high=0x9000 + 64 * 8 + 1, write=True
    )
    assert (outcome.fault.code, index) == (BUS, 0)
    assert (
        0x9000 <= outcome.fault.detail <= 0x9000 + 64 * 8 and not changed[0x9000 + 64 * 64 :].any()
    )


def test_a_word_that_cannot_be_read(bench):
    """Only when its turn comes; the instructions before it are whole."""
    text = "pad 0, 1\n" + "@shape.ker 1\n" * 40
    at = 4 * (_SETUP_WORDS + 30)
    outcome, index, case, _ = run(bench, text, low=at, high=at + 4, write=False, count=1 << 20)
    assert (outcome.fault.code, index, outcome.fault.detail) == (BUS, 30, at // 64 * 64)
    assert outcome.values["fault_insn"] == 0
    assert (
        not bench.memory[0x9000 : 0x9000 + 64 * 8].any()
        and outcome.counters["instructions"] == _SETUP_WORDS + 30
    )


def test_words_behind_end_are_not_missed(bench):
    """Read ahead or not, what lies there matters to nobody."""
    case = case_of("behind", PARAMS, _SETUP + "pad 0, 1\nend\n" + ".word 0xffffffff\n" * 64)
    end = 4 * (_SETUP_WORDS + 2)
    bench.load(case.memory)
    bench.inject(low=end, high=0x800, count=1 << 20)
    assert bench.run({"window_limit": case.memory.size, **case.registers}).status == "done"


_LONG = (
    "ld.ifm 0\nld.ker 0\n" + "conv ifm:[0,0], ker:0\n" * 40,
    "pad 0, 15\n" * 20,
    "ld.ifm 0\nld.ker 0\nconv ifm:[0,0], ker:0\n@post res, pool\n@pool [8,8], [7,7]\n"
    + "store 0\n" * 20,
)


@pytest.mark.parametrize("text", _LONG, ids=("conv", "pad", "store"))
def test_an_abort_ends_at_once(bench, text):
    """In each unit, at many moments; then a run as if nothing had been."""
    case = case_of("abort", PARAMS, _SETUP + text)
    registers = {"window_limit": case.memory.size, **case.registers}
    bench.load(case.memory)
    total = bench.run(registers).counters["cycles"]
    for number in range(fewer(12)):
        cycle = total * number // 12
        bench.load(case.memory)
        bench.start(registers)
        bench.step(cycle)
        bench.control(2)
        assert not bench.wait(BOUND), cycle
        outcome = bench.outcome()
        assert (
            outcome.status == "aborted"
            and outcome.fault.code == ABORTED
            and outcome.fault.detail == 0
        )
        assert outcome.values["fault_insn"] == 0
    problems, outcome = check_case(bench, case, IDEAL)
    assert not problems and outcome.counters["cycles"] == total


def test_a_bus_error_ends_the_run_at_once(bench):
    """Twenty long convolutions wait behind a load that fails: nobody waits for them."""
    text = "ld.ifm 0\nld.ker 0\n" + "conv ifm:[0,0], ker:0\n" * 20 + "ld.ifm 0\n"
    whole, _, _, _ = run(bench, text)
    outcome, index, _, _ = run(bench, text, low=0x1000, high=0x1001, write=False)
    assert (outcome.fault.code, index) == (BUS, 0)
    assert whole.counters["cycles"] > 20_000 and outcome.counters["cycles"] < BOUND


@pytest.mark.parametrize(
    "behaviour",
    [IDEAL, Behaviour(latency=30, latency_spread=20, gap=6, gap_percent=40, stall_percent=30)],
    ids=("ideal", "slow"),
)
def test_the_same_run_twice(bench, behaviour):
    """Whatever ran in between, a program takes the same cycles and gives the same counters."""
    case = opu_programs.random_case(5, bench.params, budget=6000)
    bench.behave(behaviour, seed=3)
    first = None
    for seed in range(6):
        other = opu_programs.random_case(100 + seed, bench.params, legal=seed % 2 == 0, budget=3000)
        check_case(bench, other)
        problems, outcome = check_case(bench, case)
        assert not problems and outcome == (first or outcome)
        first = first or outcome


def test_nothing_is_retired_twice(bench):
    """A memory that answers at random: configuration, loads, stores and convolutions are all
    counted once."""
    for seed in range(10):
        rng = random.Random(seed)
        case = opu_programs.random_case(rng.randrange(1 << 20), bench.params, budget=3000)
        problems, outcome = check_case(bench, case, Behaviour.random(rng), seed)
        assert (
            not problems
            and outcome.counters["instructions"]
            == case.words.index(next(w for w in case.words if w & 63 == 0)) + 1
        )
