# SPDX-License-Identifier: BSD-2-Clause
"""The small engine against the golden model, as on an UP5K and on an HX8K: random programs, faults,
aborts, resets, bus errors; cycles of mvmul."""

import random

import numpy as np
import pytest
from amaranth.back import rtlil

from quintet.boards.virtual.bench import IDEAL
from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.small.core import SmallEngine
from quintet.gateware.cores.pim.small.units import Units
from tests.gateware.cores.pim.bench import compare, directed, programs, runs
from tests.gateware.cores.pim.test_pim_runs import model_runs
from tests.support.campaigns import random_behaviour
from tests.support.checks import Checks
from tests.support.comparing import bench_fixture, first_difference, registers_of
from tests.support.shares import fewer, parts, shares, some

#: Random legal programs of each build, into how many tests they are cut, programs of each fault.
COUNT, PARTS, FAULTS = 250, 5, fewer(4)

CHECKS = Checks(compare, programs.random_case)
bench = bench_fixture(compare.open_build, ("up5k", "hx8k"))
large = bench_fixture(compare.open_build, ("up5k",))


def check(bench, cases):
    for seed, case in cases:
        problems, outcome = compare.check_case(
            bench, case, IDEAL if seed % 3 == 0 else random_behaviour(seed), seed
        )
        assert not problems, (case.name, problems)
        yield case, outcome


@parts(PARTS)
def test_random_programs(bench, part):
    list(
        check(
            bench,
            (
                (seed, programs.random_case(seed, bench.params))
                for seed in range(part * COUNT // PARTS, (part + 1) * COUNT // PARTS)
            ),
        )
    )


@pytest.mark.parametrize("fault", programs.FAULTS)
def test_every_fault(bench, fault):
    for case, outcome in check(
        bench,
        ((seed, programs.random_case(seed, bench.params, fault=fault)) for seed in range(FAULTS)),
    ):
        if case.notes.get("fault"):
            assert outcome.fault is not None and outcome.fault.name == fault


@pytest.mark.parametrize("group", directed.GROUPS)
def test_directed_programs(bench, group):
    list(check(bench, ((0, case) for case in directed.directed_cases(bench.params, group))))


@pytest.mark.parametrize("name", runs.SEQUENCES)
def test_runs_in_a_row(bench, name):
    bench.reset()
    bench.behave(IDEAL)
    for case, expected, memory in model_runs(bench.params, name):
        bench.load(case.memory)
        got = bench.run(registers_of(case), compare.CYCLES)
        assert (got.status, got.fault) == (expected.status, expected.fault), case.name
        assert first_difference(bench.memory[: memory.size], memory) is None, case.name


@pytest.mark.parametrize(
    "width, bias, most",
    [(8, False, 11_100), (16, False, 10_800), (8, True, 11_900), (16, True, 11_900)],
)
def test_cycles_of_a_product(large, width, bias, most):
    """mvmul 64x64, 12,000 cycles at most."""
    rng = np.random.default_rng(1)
    weights = rng.integers(-128, 128, (64, 64)).astype(np.int8)
    group = Group(
        64,
        64,
        (0,),
        8,
        8,
        1,
        weights,
        rng.integers(-999, 999, 64).astype(np.int32) if bias else None,
    )
    cycles, memory = [], programs.random_memory(random.Random(1))
    for text in ("nop", "mvmul $1, $0, 8, 1, 0"):
        words = directed.words_of(
            f"setbw {width}, {width}\ngaddr $2, 0\nsldi $1, 500\nld $0, $2, 200\n{text}"
        )
        image = Image([CoreProgram(groups=[group])], 64, 64, programs.MEMORY // 2, 0)
        [(_, outcome)] = check(
            large,
            [
                (
                    0,
                    make_case(
                        "product", large.params, image, [(0, word) for word in words], memory, 0
                    ),
                )
            ],
        )
        cycles.append(outcome.counters["cycles"])
    assert cycles[1] - cycles[0] <= most


@pytest.mark.parametrize(
    "params, message",
    [(SPACE.resolve("sim"), "The small engine needs the parameter engine = small, not pipelined")],
)
def test_refused(params, message):
    with pytest.raises(ValueError) as error:
        SmallEngine(params=params, beat_bytes=4, memory_size=1 << 16)
    assert str(error.value) == message


def test_which_memories_are_built():
    for preset, sprams in (("up5k", 3), ("hx8k", 0)):
        engine = SmallEngine(
            params=SPACE.resolve(preset), beat_bytes=4, memory_size=1 << 15, family="ice40"
        )
        assert engine.spram_blocks(engine.params) == sprams
        text = rtlil.convert(Units(params=engine.params, family="ice40"), name="units")
        assert text.count("cell \\SB_SPRAM256KA ") == sprams and len(engine.program.words) <= 2048


@shares
def test_aborts_and_restarts(bench, share):
    CHECKS.aborts(bench, some(20, share), 60000, IDEAL)


@shares
def test_bus_errors(bench, share):
    least = some(4, share)
    CHECKS.bus_errors(
        bench, some(40, share, 20), least, IDEAL, address=compare.some_address, every=10
    )


@shares
def test_core_resets_at_random_cycles(bench, share):
    CHECKS.core_resets(bench, some(10, share), latest=50000)
