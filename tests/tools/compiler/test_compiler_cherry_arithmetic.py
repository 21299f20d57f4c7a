# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's arithmetic in float64 against the golden model's in whole numbers."""

import numpy as np
import pytest

from quintet.gateware.cores.cherry.model import arithmetic as whole
from quintet.gateware.cores.cherry.model import special
from quintet.gateware.cores.cherry.model.transfers import from_words
from quintet.tools.compiler.backends.cherry import arithmetic

ALL = np.arange(1 << 18)


def values(patterns):
    """float64 of patterns; a subnormal is a zero of its sign."""
    patterns = np.asarray(patterns, np.int64)
    with np.errstate(invalid="ignore"):
        found = (patterns << 14).astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(patterns >> 9 & 255, found, np.where(patterns >> 17, -0.0, 0.0))


def patterns(random, shape, spread):
    """Patterns of exponents about 1 with zeros and a few infinities; ``spread`` 0: any pattern."""
    if not spread:
        return random.integers(0, 1 << 18, shape)
    exponent = random.integers(128 - spread, 128 + spread, shape)
    found = random.integers(0, 2, shape) << 17 | exponent << 9 | random.integers(0, 512, shape)
    found = np.where(random.random(shape) < 0.1, random.integers(0, 2, shape) << 17, found)
    return np.where(random.random(shape) < 0.003, 0x1FE00, found)


@pytest.mark.parametrize("spread", [0, 4, 14, 40])
@pytest.mark.parametrize("terms", [1, 4])
@pytest.mark.parametrize("addend", [False, True])
def test_a_sum_of_products_rounds_in_the_machines_window(spread, terms, addend):
    random = np.random.default_rng([spread, terms, addend])
    a, b = patterns(random, (20_000, terms), spread), patterns(random, (20_000, terms), spread)
    c = patterns(random, 20_000, spread) if addend else None
    found = arithmetic.accumulate(None if c is None else values(c), values(a), values(b))
    assert (arithmetic.bits(found) == whole.dot(a, b, c)).all()


def test_a_wide_accumulator_keeps_eighteen_digits():
    random = np.random.default_rng(5)
    a, b = patterns(random, (5_000, 4), 6), patterns(random, (5_000, 4), 6)
    wide = whole.dot(a, b, None, frac=17)
    again = whole.dot(b, a, wide, frac=17)
    found = arithmetic.accumulate(
        arithmetic.accumulate(None, values(a), values(b), 18), values(b), values(a), 18
    )
    narrow = whole.dot(a[:, :0], b[:, :0], again, frac=17)  # the pattern itself
    finite = (narrow >> 17 & 255) < 255
    mantissa, exponent = np.frexp(np.abs(found[finite]))
    assert (
        (mantissa * 2**18).astype(np.int64)[found[finite] != 0] - (1 << 17)
        == (narrow & 0x1FFFF)[finite][found[finite] != 0]
    ).all()
    assert (
        exponent[found[finite] != 0] + 126 == (narrow >> 17 & 255)[finite][found[finite] != 0]
    ).all()


def test_functions_of_one_element_on_every_pattern():
    x = values(ALL)
    for found, wanted in (
        (arithmetic.exp(x), special.exp(ALL)),
        (arithmetic.log2(x), special.log(ALL)),
        (arithmetic.relu(x), whole.relu(ALL)),
        (arithmetic.gtz(x), whole.gtz(ALL)),
        (arithmetic.power(x, 0.5), special.power(ALL, np.full(ALL.shape, 0x0FC00))),
        (arithmetic.power(x, -0.5), special.power(ALL, np.full(ALL.shape, 0x2FC00))),
    ):
        assert (arithmetic.bits(found) == wanted).all()


@pytest.mark.parametrize("spread", [0, 10])
def test_functions_of_two_elements(spread):
    random = np.random.default_rng(spread)
    x, y = patterns(random, 50_000, spread), patterns(random, 50_000, spread)
    for mine, theirs in (
        (arithmetic.add, whole.add),
        (arithmetic.subtract, whole.sub),
        (arithmetic.multiply, whole.mul),
        (arithmetic.divide, special.div),
    ):
        assert (arithmetic.bits(mine(values(x), values(y))) == theirs(x, y)).all()
    four = patterns(random, (20_000, 4), spread)
    assert (arithmetic.bits(arithmetic.maximum(values(four), -1)) == whole.maximum(four, -1)).all()


def test_real_numbers_become_elements_as_dma_makes_them():
    random = np.random.default_rng(3)
    words = np.concatenate(
        [
            random.integers(0, 1 << 32, 50_000),
            [0x7F7FE000, 0x007FFFFF, 0x80000001, 0xFF800001, 0x3F806000],
        ]
    )
    with np.errstate(invalid="ignore"):
        single = words.astype(np.uint32).view(np.float32)
        assert (
            arithmetic.bits(arithmetic.to_element(single)) == from_words("fp32", words, words.size)
        ).all()
