# SPDX-License-Identifier: BSD-2-Clause
"""Rounding of section 4.4: the model's arithmetic and the document's rule for hardware, against
exact fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest

from quintet.gateware.cores.opu.model import arithmetic
from quintet.gateware.cores.opu.types import TYPE_SETS
from tests.gateware.cores.opu.oracle.slow import kappa, power
from tests.support.shares import fewer

COUNT = fewer(4000)


def clamp(x, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, x))


def place(x, places):
    return x << places if places >= 0 else x >> -places


def hardware_acc(before, s, e, t):
    """``conv`` and ``conv.acc`` as section 4.4 builds them, with the numbers of 2.3."""
    if e >= 0:
        x = s << min(e, t.left_most)
    else:
        x = 0 if -e > t.right_most else s + (1 << -e - 1) >> -e
    return clamp(before + clamp(x, t.term_bits), t.ofm)


def hardware_bias(bias, s, f, b, t):
    """``conv.bias`` as section 4.4 builds it."""
    m, F, D = min(f, b), t.fraction_bits, t.left_cap
    if m <= 0:
        total = place(s, min(f, D) + F) + place(bias, min(b, D) + F)
        return clamp(total + (1 << F - 1) >> F, t.ofm)
    return clamp((s << min(f - m, D)) + (bias << min(b - m, D)) << min(m, t.ofm + 1), t.ofm)


def some(rng, bits, bound=None):
    """Numbers of ``bits`` signed bits, of any magnitude, ends often."""
    top = (1 << bits - 1) - 1 if bound is None else bound
    low = -(1 << bits - 1) if bound is None else -bound
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice((low, low + 1, -1, 0, 1, top - 1, top))
    if kind == 1:
        return max(
            low, min(top, rng.choice((-1, 1)) * ((1 << rng.randrange(bits)) + rng.randrange(-1, 2)))
        )
    return rng.randrange(low, top + 1) >> rng.randrange(bits)


def shift(rng, t):
    edge = (
        0,
        1,
        -1,
        t.left_most,
        t.left_cap,
        -t.right_most,
        -t.right_most - 1,
        -t.fraction_bits,
        -t.fraction_bits - 1,
        127,
        -128,
    )
    return rng.choice((rng.randrange(-128, 128), rng.randrange(-40, 41), rng.choice(edge)))


def column(values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("types", TYPE_SETS)
def test_conv_and_conv_acc(types):
    rng, t = random.Random(types), TYPE_SETS[types]
    for _ in range(COUNT // 4):
        e = shift(rng, t)
        before, sums = (
            column([some(rng, bits, bound) for _ in range(4)])
            for bits, bound in ((t.ofm, None), (t.dot_bits, 1 << t.dot_log2))
        )
        got = arithmetic.conv_acc(before, sums, e, t)
        for k in range(4):
            exact = kappa(before[k].item() + sums[k].item() * power(e), t.ofm)
            assert got[k] == exact == hardware_acc(before[k].item(), sums[k].item(), e, t), (
                before[k],
                sums[k],
                e,
            )


@pytest.mark.parametrize("types", TYPE_SETS)
def test_conv_bias(types):
    rng, t = random.Random(types), TYPE_SETS[types]
    for _ in range(COUNT // 4):
        f, b = shift(rng, t), shift(rng, t)
        if rng.random() < 0.4:
            b = max(-128, min(127, f + rng.randrange(-t.dot_bits, t.bias)))
        bias, sums = (
            column([some(rng, bits, bound) for _ in range(4)])
            for bits, bound in ((t.bias, None), (t.dot_bits, 1 << t.dot_log2))
        )
        if rng.random() < 0.3:  # terms that cancel
            one = 1 << rng.randrange(t.bias - 1)
            bias[0], sums[0], b = one, -1, max(-128, min(127, f - one.bit_length() + 1))
        got = arithmetic.conv_bias(bias, sums, f, b, t)
        assert got.dtype == np.int64
        for k in range(4):
            exact = kappa(bias[k].item() * power(b) + sums[k].item() * power(f), t.ofm)
            assert got[k] == exact == hardware_bias(bias[k].item(), sums[k].item(), f, b, t), (
                bias[k],
                sums[k],
                f,
                b,
            )


@pytest.mark.parametrize("types", TYPE_SETS)
def test_store_rounds_half_up(types):
    t = TYPE_SETS[types]
    half, low, high = 1 << t.store_shift - 1, *t.ofm_range
    values = [
        low,
        low + half - 1,
        low + half,
        -3 * half - 1,
        -3 * half,
        -half - 1,
        -half,
        -1,
        0,
        half - 1,
        half,
        3 * half - 1,
        3 * half,
        high - half,
        high - half + 1,
        high,
    ]
    got = arithmetic.requantise(column(values), t)
    assert got.tolist() == [kappa(Fraction(v) * power(-t.store_shift), t.ifm) for v in values]


def test_ties_go_up():
    t = TYPE_SETS["8-8-16-16"]
    sums = column([-3, -1, 1, 3])
    assert arithmetic.conv_acc(0, sums, -1, t).tolist() == [-1, 0, 1, 2]
    assert arithmetic.conv_acc(column([5, 5, 5, 5]), sums, -1, t).tolist() == [4, 5, 6, 7]
    assert arithmetic.conv_bias(column([1, 1, 1, 1]), sums, -1, -2, t).tolist() == [-1, 0, 1, 2]
    # Two halves make a whole: one rounding, not two.
    assert arithmetic.conv_bias(column([1, -1]), column([1, -1]), -1, -1, t).tolist() == [1, -1]


def test_dot_is_exact_at_its_bound():
    for t in TYPE_SETS.values():
        window = np.full((1, 1, 64), -(1 << t.ifm - 1), np.int64)
        taps = np.full((1, 64), -(1 << t.ker - 1), np.int64)
        assert arithmetic.dot(window, taps)[0, 0, 0] == 1 << t.dot_log2
        assert arithmetic.conv_acc(-1, arithmetic.dot(window, taps), 0, t) == min(
            (1 << t.dot_log2) - 1, t.ofm_range[1]
        )


def test_pool_of_windows_that_overlap_and_leave_rows():
    x = np.arange(5 * 7).reshape(5, 7, 1) * np.array([1, -1])
    got = arithmetic.pool(x, (2, 3, 2, 3))
    assert (
        got.shape == (2, 2, 2)
        and got[..., 0].tolist() == [[9, 12], [23, 26]]
        and got[..., 1].tolist() == [[0, -3], [-14, -17]]
    )
    assert arithmetic.pool(x, (1, 1, 1, 1)).tolist() == x.tolist()
    assert arithmetic.pool(x, (5, 7, 7, 7)).tolist() == [[[34, 0]]]
