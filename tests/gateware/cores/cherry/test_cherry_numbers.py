# SPDX-License-Identifier: BSD-2-Clause
"""Arithmetic of Cherry floats against the specification's checksums and exact fractions."""

import random
import zlib
from fractions import Fraction

import numpy as np
import pytest

from quintet.gateware.cores.cherry.asm.decimals import element, value
from quintet.gateware.cores.cherry.model import arithmetic, special
from quintet.gateware.cores.cherry.model.arithmetic import is_nan, narrow, widen
from quintet.gateware.cores.cherry.tables import INF, NAN

EVERY = np.arange(1 << 18)


def checksum(values):
    return f"{zlib.crc32(np.asarray(values).astype('<u4').tobytes()):08X}"


def test_tables():
    assert checksum(special.logt()) == "8FD49E58"
    assert checksum(special.expt()) == "33EDA612"
    assert checksum(special.rect()) == "DDA239E7"


@pytest.mark.parametrize(
    "function, crc",
    [
        (special.exp, "0C78710A"),
        (special.log, "0B480054"),
        (arithmetic.relu, "1220458A"),
        (arithmetic.gtz, "9C6D5221"),
    ],
)
def test_unary_over_every_element(function, crc):
    assert checksum(function(EVERY)) == crc


def test_quotients_of_all_significands():
    f = np.arange(512)
    assert checksum(special.div(0xFE00 + f[:, None], 0xFE00 + f)) == "A3D28D2D"


def test_powers():
    x = (64 * np.arange(4096) + 7) % (1 << 18)
    y = (4096 * np.arange(64) + 0x135) % (1 << 18)
    assert checksum(special.power(x[:, None], y)) == "B253DACA"


@pytest.mark.parametrize("near, crc", [(False, "DE08C52E"), (True, "C0DF76A7")])
def test_sums_of_products(near, crc):
    state, values = 1, []
    for _ in range(9 * 20000):
        state = state * 1664525 + 1013904223 & 0xFFFF_FFFF
        values.append(state >> 14)
    v = np.array(values).reshape(-1, 9)
    if near:
        v = v & ~(0xFF << 9) | 120 + (v >> 9 & 15) << 9
    assert checksum(arithmetic.dot(v[:, 0:8:2], v[:, 1:8:2], v[:, 8])) == crc


@pytest.mark.parametrize(
    "function, x, y, result",
    [
        (arithmetic.add, 0x20000, 0x20000, 0x20000),
        (arithmetic.add, 0x00000, 0x20000, 0x00000),
        (arithmetic.add, 0x0FE00, 0x0EA00, 0x0FE00),
        (arithmetic.add, 0x0FE01, 0x0EA00, 0x0FE02),
        (arithmetic.add, 0x1FDFF, 0x1F400, 0x1FE00),
        (arithmetic.mul, 0x00201, 0x0FDFF, 0x00200),
        (arithmetic.mul, 0x20200, 0x0FC00, 0x20000),
        (arithmetic.mul, 0x1FE00, 0x00000, 0x1FF00),
        (special.div, 0x0FE00, 0x10100, 0x0FAAB),
        (special.div, 0x2FE00, 0x00000, 0x3FE00),
        (special.power, 0x10000, 0x0FC00, 0x0FED4),
        (special.power, 0x10480, 0x30000, 0x0F08F),
        (special.power, 0x10100, 0x10680, 0x13D3F),
        (special.power, 0x0FDFF, 0x311E8, 0x100A8),
        (special.power, 0x20000, 0x30100, 0x3FE00),
        (special.power, 0x30000, 0x10100, 0x30400),
        (special.power, 0x30000, 0x0FC00, 0x1FF00),
        (special.power, 0x1FF00, 0x00000, 0x0FE00),
    ],
)
def test_golden_pairs(function, x, y, result):
    assert f"{int(function(x, y)):05X}" == f"{result:05X}"


@pytest.mark.parametrize(
    "function, x, result",
    [
        (special.exp, 0x0FE00, 0x100B8),
        (special.exp, 0x10AC4, 0x1FD33),
        (special.exp, 0x10AC8, 0x1FE00),
        (special.exp, 0x30AB8, 0x002CD),
        (special.exp, 0x30AC0, 0x00000),
        (special.log, 0x10480, 0x10152),
        (special.log, 0x0FDFF, 0x2EAE3),
    ],
)
def test_golden_unary(function, x, result):
    assert f"{int(function(x)):05X}" == f"{result:05X}"


@pytest.mark.parametrize(
    "a, b, c, frac, result",
    [
        ([0x0FE00] * 4, [0x0FE00] * 4, 0, 9, 0x10200),
        (
            [0x0FF00, 0x30100, 0x0FAAB, 0x0F733],
            [0x10000, 0x0FE00, 0x10100, 0x0F733],
            0x0FA00,
            9,
            0x0FE85,
        ),
        ([0x10E58, 0x30E58, 0x0EA0C, 0], [0x10E58, 0x10E58, 0x0EA0C, 0x10280], 0, 9, 0x0F200),
        ([0x0FE00, 0x0EA00, 0x0EA00, 0x0EA00], [0x0FE00] * 4, None, 9, 0x0FE02),
        ([element(k) for k in (1, 2, 3, 4)], [0x0FE00] * 4, element("10.5"), 9, 0x10690),
        ([0x0F733] * 4, [0x0F733] * 4, 0, 17, 0xF48F0A),
    ],
)
def test_golden_sums(a, b, c, frac, result):
    assert int(arithmetic.dot(a, b, c, frac)) == result


def test_a_wide_element_is_stored_rounded():
    assert int(narrow(0xF48F0A, 17)) == 0x0F48F
    # Nearest, ties to even, and overflow to infinity.
    assert [int(narrow(widen(0x0FE00, 17) + k, 17)) for k in (127, 128, 129)] == [
        0x0FE00,
        0x0FE00,
        0x0FE01,
    ]
    assert int(narrow(widen(0x1FDFF, 17) + 128, 17)) == INF
    assert bool(is_nan(narrow(widen(INF, 17) + 1, 17)))
    assert (narrow(widen(EVERY, 17), 17) == EVERY).all()


# An oracle of exact fractions


def number(pattern):
    return value(pattern)


def exact_dot(pairs, addend):
    """Section 4.1 word by word, for finite terms; the window by fractions of its lowest bit."""
    terms = [number(a) * number(b) for a, b in pairs] + ([] if addend is None else [number(addend)])
    scales = [(a >> 9 & 0xFF) + (b >> 9 & 0xFF) - 254 for a, b in pairs] + (
        [] if addend is None else [(addend >> 9 & 0xFF) - 127]
    )
    signs = [(a ^ b) >> 17 for a, b in pairs] + ([] if addend is None else [addend >> 17])
    if not any(terms):
        return (1 << 17) * all(signs)
    unit = Fraction(2) ** (max(s for s, t in zip(scales, terms, strict=True) if t) - 22)
    total = 0
    for term in terms:
        whole, rest = divmod(abs(term) / unit, 1)
        jammed = int(whole) | (rest != 0)
        total += jammed if term > 0 else -jammed
    return element(total * unit) if total else 0


def random_element(rnd):
    kind = rnd.random()
    if kind < 0.1:
        return rnd.choice((0, 1 << 17, 0x001, 0x20155, 0x1FDFF, 0x00200, 0x0FE00))
    exponent = rnd.randrange(118, 137) if kind < 0.8 else rnd.randrange(1, 255)
    return rnd.randrange(2) << 17 | exponent << 9 | rnd.choice((0, 511, rnd.randrange(512)))


def test_sums_against_exact_fractions():
    rnd = random.Random(5)
    for count in (1, 2, 3, 4):
        cases = [
            (
                [(random_element(rnd), random_element(rnd)) for _ in range(count)],
                random_element(rnd),
            )
            for _ in range(400)
        ]
        for with_addend in (True, False):
            a = np.array([[p[0] for p in pairs] for pairs, _ in cases])
            b = np.array([[p[1] for p in pairs] for pairs, _ in cases])
            got = arithmetic.dot(a, b, np.array([c for _, c in cases]) if with_addend else None)
            assert [int(g) for g in got] == [
                exact_dot(pairs, c if with_addend else None) for pairs, c in cases
            ]


def test_sums_of_two_are_correctly_rounded():
    rnd = random.Random(6)
    pairs = [(random_element(rnd), random_element(rnd)) for _ in range(2000)]
    x, y = np.array(pairs).T
    for function, exact in (
        (arithmetic.add, lambda a, b: a + b),
        (arithmetic.sub, lambda a, b: a - b),
        (arithmetic.mul, lambda a, b: a * b),
    ):
        for got, (a, b) in zip(function(x, y), pairs, strict=True):
            want = exact(number(a), number(b))
            assert int(got) == element(want) if want else not int(got) & 0x1FFFF
        if exact(3, 2) == 5:
            # Total cancellation gives +0.
            assert int(arithmetic.add(0x0FE55, 0x2FE55)) == 0


@pytest.mark.parametrize(
    "terms, addend, result",
    [
        ([(INF, 0x0FE00)], 0, INF),
        ([(INF, 0x2FE00)], 0, INF | 1 << 17),
        ([(INF, 0)], 0, NAN),
        ([(INF, INF)], INF | 1 << 17, NAN),
        ([(0x0FE00, 0x0FE00)], NAN, NAN),
        ([(0x1FE01, 0)], 0, NAN),
        ([(0x20000, 0x0FE00), (0x20000, 0x0FE00)], 0x20000, 0x20000),
        ([(0x20000, 0x0FE00), (0x00000, 0x0FE00)], 0x20000, 0),
        ([(0x0FE00, 0x0FE00)], 0x2FE00, 0),
    ],
)
def test_special_values(terms, addend, result):
    a, b = zip(*terms, strict=True)
    assert int(arithmetic.dot(a, b, addend)) == result


def test_maximum():
    order = [INF | 1 << 17, 0x2FE01, 0x2FE00, 0x20000, 0, 0x0FE00, 0x0FE01, INF]
    for low in range(len(order)):
        for high in range(low, len(order)):
            assert int(arithmetic.maximum(np.array([order[high], order[low]]), -1)) == order[high]
    assert int(arithmetic.maximum(np.array([INF, 0x3FE05]), -1)) == NAN
    assert int(arithmetic.maximum(np.array([0x20155, 0x2FE00]), -1)) == 0x20000


def test_decimals():
    assert [f"{element(t):05X}" for t in ("0", "1.0", "-1.0", "2", "0.5", "0.1")] == [
        "00000",
        "0FE00",
        "2FE00",
        "10000",
        "0FC00",
        "0F733",
    ]
    assert (
        element(Fraction(1, 3)) == 0x0FAAB
        and element(value(0x1FDFF)) == 0x1FDFF
        and element("1e39") == INF
    )
    assert (
        element("-1e-40") == 1 << 17
        and element(Fraction(1025, 1024)) == 0x0FE00
        and element(Fraction(1027, 1024)) == 0x0FE02
    )
