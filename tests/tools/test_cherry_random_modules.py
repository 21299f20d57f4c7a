# SPDX-License-Identifier: BSD-2-Clause
"""Random sequences of Cherry's operations on matrices of random shapes, in the scratchpad and in
main memory: each is refused with a
:class:`KernelError`, which leaves the module as it was, or equal to float64 of what its operands
hold."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.kernels.cherry import KernelError, Stored
from tests.support.campaigns import Campaign
from tests.tools.cherry_operations import OPERATIONS, STEP, Bench, product

ALONE = [(label, make) for operations in OPERATIONS.values() for label, make in operations]


def _two(op, exact):
    return f"{op} of two", lambda b, x, y: (
        b.m.binary(op, x, y),
        lambda x, y: (exact(x, y), 2 * STEP * np.abs(exact(x, y))),
    )


PAIRS = [
    _two("add", np.add),
    _two("sub", np.subtract),
    _two("mul", np.multiply),
    _two("div", np.divide),
    ("product of two", lambda b, x, y: (b.m.matmul(x, y), product)),
    (
        "maximum of two",
        lambda b, x, y: (
            b.m.maximum(x, y),
            lambda x, y: (np.maximum(x, y), 2 * STEP * (np.abs(x) + np.abs(y))),
        ),
    ),
]
#: Views of a matrix and of its values; one in main memory is read as it lies.
VIEWS = (
    *3 * (lambda m: m,),
    lambda m: m.transposed,
    lambda m: m.broadcast(5, m.cols),
    lambda m: m.broadcast(m.rows, 6),
)


def play(choose):
    """Builds and checks a module of up to twelve operations; ``choose``: a sequence -> one of it.
    Gives operations done and refused."""
    b, done, refused = Bench(choose(range(1000)), choose((12, 13, 15))), 0, 0
    # Few enough that shapes often fit each other.
    sizes = choose(((1, 5, 6), (4, 6, 18), (1, 3, 9), (8, 2, 7), (21, 5, 12)))
    pool = [
        b.input(
            choose(sizes),
            choose(sizes),
            mean=choose((-10.0, 0.5, 10.0)),
            stored=choose((False, False, False, True)),
        )[0]
        for _ in range(4)
    ]
    for _ in range(choose(range(1, 13))):
        label, make = choose(ALONE + 2 * PAIRS)
        operands = [choose(pool) for _ in range(2 if (label, make) in PAIRS else 1)]
        try:
            operands = [m if isinstance(m, Stored) else choose(VIEWS)(m) for m in operands]
            made = make(b, *operands)
        except KernelError:
            refused += 1
            continue
        if made is not None:
            b.expect(label, made[0], made[1], *(b.kept(m) for m in operands))
            pool.append(made[0])
            done += 1
    b.check()
    return done, refused


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_random_modules(data):
    play(lambda choices: data.draw(st.sampled_from(choices)))


def test_most_operations_are_not_refused():
    rng = random.Random(5)
    played = [play(rng.choice) for _ in range(60)]
    done, refused = map(sum, zip(*played, strict=True))
    assert done > refused > 30


@pytest.mark.long
def test_random_modules_campaign():
    for seed in Campaign("cherry-modules", 0.5).seeds("model"):
        try:
            play(random.Random(f"module {seed}").choice)
        except AssertionError as error:
            raise AssertionError(f"module of seed {seed}") from error
