# SPDX-License-Identifier: BSD-2-Clause
"""The front end's operations, their order, faults and counts against the golden model's canonical
order."""

import random

import pytest

from quintet.gateware.cores.cherry.image import ProgramImage, Unit
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.params import SPACE
from tests.gateware.cores.cherry.bench.faults import spoilt
from tests.gateware.cores.cherry.bench.frontend import Bench, check
from tests.gateware.cores.cherry.bench.programs import random_case
from tests.support.shares import fewer

SIM = {"contexts": 4}


def words(*lines):
    return [ISA.encode(name, **values) for name, values in lines]


def image(program, loops=(), units=(), **needs):
    return ProgramImage(loops=dict(loops), units=dict(units), words=words(*program), **needs)


def timing(rnd):
    return {
        "speed": [rnd.choice((0.2, 0.5, 1.0)) for _ in range(4)],
        "latency": [rnd.choice((2, 6, 20, 40)) for _ in range(4)],
        "slot": rnd.randrange(2),
    }


@pytest.mark.parametrize("contexts, seed", [(1, 0), (4, 1), (16, 3)])
def test_random_programs(contexts, seed):
    params = SPACE.resolve("sim", {"contexts": contexts})
    rnd = random.Random(seed)
    cases = [(random_case(100 * seed + k, params).image, timing(rnd)) for k in range(fewer(2))]
    for result in Bench(params, seed).run(cases):
        assert result["expected"].fault is None
        check(result)


@pytest.mark.parametrize("seed", range(2))
def test_random_faults(seed):
    params = SPACE.resolve("sim", SIM)
    rnd = random.Random(seed)
    cases = [(spoilt(rnd, params), timing(rnd)) for k in range(fewer(6))]
    for result in Bench(params, seed).run(cases):
        check(result)


def test_every_fault_of_loops():
    params = SPACE.resolve("sim", SIM)
    ind, start, end = (
        (lambda k: ("start_independent_loop", {"loop": k})),
        (lambda k: ("start_loop", {"loop": k})),
        (lambda k: ("end_loop_or_jump_if_needed", {"loop": k})),
    )
    nop = "nop", {}
    programs = [
        image([], {}),
        image([ind(0), nop, ind(1), end(1), end(0)], {0: (9, 3), 1: (1, 0)}),
        image([start(0), nop, start(0), end(0)], {0: (2, 2)}),
        image([start(1), nop, start(0), end(0), end(1)], {1: (2, 3)}),
        image([nop, end(3)], {3: (1, 0)}),
        image([start(0), start(1), end(0), end(1)], {0: (1, 2), 1: (1, 0)}),
        image([start(0), nop, end(0)], {0: (1, 0)}),
        image([start(0), nop, end(0)], {0: (1, 0x3FFFE)}),
        image([ind(0), nop, end(0)], {0: (3, 1)}, contexts=2),
        image([start(0), nop, nop], {0: (3, 1)}),
        image([ind(0), nop, nop], {0: (7, 1)}),
        image([start(0), nop, end(0)], {0: (0, 2)}),
        image([start(0), nop, end(0)], {0: (0, 1)}),
        image([ind(0), nop, end(0), ind(0), nop, end(0)], {0: (9, 1)}),
        image(
            [start(k) for k in range(8)] + [nop] + [end(k) for k in reversed(range(8))],
            {k: (2, 15 - 2 * k) for k in range(8)},
        ),
        image([ind(0), end(0)], {0: (0x3FFFF, 0)}),
        image([ind(0), ("load", {"apu": 0, "reg": 0}), end(0)], {0: (4, 1)}),
        image(
            [ind(0), ("load", {"apu": 0, "reg": 0}), end(0)],
            {0: (16, 1)},
            {0: Unit(3900, 1, 4, {0: 16})},
        ),
        image(
            [ind(0), ("zero", {"reg": 1}), ("store", {"apu": 0, "reg": 0}), end(0)],
            {0: (16, 2)},
            {0: Unit(3900, 1, 4, {0: 16})},
        ),
        image([("store", {"apu": 9, "reg": 0}), ("matmul", {})], {}, {9: Unit(0x3FFF8, 1, 4, {})}),
    ]
    programs[15].loops[0] = 99, 0
    for result in Bench(params, 5).run([(p, {}) for p in programs]):
        check(result)


def test_rebase_and_resident_programs():
    params = SPACE.resolve("sim", SIM)
    rnd = random.Random(9)
    images = [random_case(k, params, words=24).image for k in (71, 72)]
    for k in images[1].units:
        images[1].units[k].address = images[1].units[k].address - 512 & 0x3FFFF
    cases = [
        (images[0], {"slot": 0}),
        (images[1], {"slot": 1, "rebase": (512, (1 << 32) - 1)}),
        (images[0], {"slot": 0, "rebase": (64, rnd.getrandbits(32))}),
    ]
    for result in Bench(params, 6).run(cases):
        check(result)


@pytest.mark.parametrize("seed", range(2))
def test_what_comes_next_is_fetched_while_the_units_finish(seed):
    params = SPACE.resolve("sim", SIM)
    rnd = random.Random(20 + seed)
    images = [random_case(300 + 10 * seed + k, params, words=24).image for k in range(fewer(6, 3))]
    cases = []
    for k, (one, following) in enumerate(zip(images, images[1:], strict=False)):
        # Known from its first cycle on, in its midst, or not before its end.
        options = {
            "slot": k % 2,
            "resident": k > 0,
            "follows": (rnd.choice((0, 40, 10_000)), 1 - k % 2, following),
        }
        cases.append((one, timing(rnd) | options))
    for result in Bench(params, seed).run(cases):
        check(result)


def test_a_prepared_program_begins_earlier():
    params = SPACE.resolve("sim", SIM)
    program = image([("zero", {"reg": 0}), ("exp", {})])
    first = {}
    for known in (0, 10_000):
        _, result = Bench(params, 3).run(
            [(program, {"follows": (known, 1, program)}), (program, {"slot": 1, "resident": True})]
        )
        check(result)
        first[known] = result["first"]
    assert first[0] == first[10_000] - 3


def test_a_prepared_program_that_does_not_start_is_forgotten():
    params = SPACE.resolve("sim", SIM)
    first, second, third = (random_case(k, params, words=20).image for k in (81, 82, 83))
    cases = [(first, {"follows": (0, 1, second)}), (third, {"slot": 1}), (second, {})]
    for result in Bench(params, 5).run(cases):
        check(result)


def test_stop_ends_a_program_and_the_next_one_runs():
    params = SPACE.resolve("sim", SIM)
    rnd = random.Random(4)
    long = image(
        [
            ("start_loop", {"loop": 0}),
            ("start_independent_loop", {"loop": 1}),
            ("load", {"apu": 0, "reg": 0}),
            ("exp", {}),
            ("end_loop_or_jump_if_needed", {"loop": 1}),
            ("end_loop_or_jump_if_needed", {"loop": 0}),
        ],
        {0: (60, 4), 1: (9, 2)},
        {0: Unit(0, 1, 4, {1: 16})},
    )
    cases = []
    for _ in range(2):
        cases.append((long, {"stop_at": rnd.randrange(20, 300)}))
        cases.append((random_case(rnd.randrange(1000), params, words=20).image, {}))
    for k, result in enumerate(Bench(params, 7).run(cases)):
        if k % 2:
            check(result)
        else:
            assert (
                result["fault_code"] == ISA.fault_codes["aborted"]
                and result["cycles"] < 400
                and result["index"] < 6
            )


def test_a_matmul_needs_few_cycles():
    params = SPACE.resolve("85f")
    steps = 12
    program = image(
        [
            ("start_loop", {"loop": 0}),
            ("start_independent_loop", {"loop": 1}),
            ("load", {"apu": 0, "reg": 0}),
            ("load", {"apu": 1, "reg": 1}),
            ("matmul", {}),
            ("end_loop_or_jump_if_needed", {"loop": 1}),
            ("end_loop_or_jump_if_needed", {"loop": 0}),
        ],
        {0: (steps, 5), 1: (16, 3)},
        {0: Unit(0, 1, 4, {0: 4}), 1: Unit(4096, 1, 4, {0: 256, 1: 4})},
    )
    fast = {"speed": (1.0,) * 4, "latency": (5, 14, 5, 5)}
    (result,) = Bench(params, 8).run([(program, fast)])
    check(result)
    # The load/store unit's 17 slots a step bound it, but for the random pauses of the bench.
    assert result["cycles"] < 26 * steps
