# SPDX-License-Identifier: BSD-2-Clause
"""The dot unit against the golden model's sum of products."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.cherry.engine.units.dotunit import ABSENT, DotUnit
from quintet.gateware.cores.cherry.model import arithmetic
from tests.support.shares import fewer
from tests.support.simulating import simulate

SPECIAL = (
    0,
    0x20000,
    0x1FE00,
    0x3FE00,
    0x1FF00,
    0x1FE01,
    0x001,
    0x20155,
    0x1FDFF,
    0x3FDFF,
    0x00200,
    0x20200,
    0x0FE00,
    0x2FE00,
)


def element(rnd, spread):
    if rnd.random() < 0.06:
        return rnd.choice(SPECIAL)
    exponent = rnd.randrange(127 - spread, 128 + spread) if spread < 120 else rnd.randrange(1, 255)
    return (
        rnd.randrange(2) << 17
        | exponent << 9
        | rnd.choice((0, 1, 510, 511, 256, rnd.randrange(512), rnd.randrange(512)))
    )


def vectors(seed, count, frac):
    """Rows of a[0..3], b[0..3], c: random ones near and far, cancellations, absent terms."""
    rnd = random.Random(seed)
    for _ in range(count):
        spread = rnd.choice((1, 3, 8, 20, 127))
        a, b = ([element(rnd, spread) for _ in range(4)] for _ in range(2))
        c = element(rnd, spread)
        kind = rnd.randrange(6)
        if kind == 0:
            # A product and its negative: what is left decides.
            a[1], b[1] = a[0] ^ 0x20000, b[0]
        elif kind == 1:
            for i in range(rnd.randrange(4), 4):
                a[i], b[i] = ABSENT
        elif kind == 2:
            a[0], b[0], c = c, 0x2FE00, c
        c = c << frac - 9 | rnd.choice((0, rnd.randrange(1 << frac - 9)))
        absent = rnd.choice((0, 0, 14, 15, rnd.randrange(16)))
        narrow = frac == 17 and rnd.random() < 0.3
        c = c >> frac - 9 << frac - 9 if narrow else c
        yield (
            *a,
            *b,
            1 << frac + 8 if rnd.random() < 0.2 else c,
            absent,
            int(rnd.random() < 0.2),
            int(narrow),
        )


def run(dut, rows):
    got = []

    async def bench(ctx):
        for k in range(len(rows) + dut.latency):
            if k < len(rows):
                for i in range(4):
                    ctx.set(dut.a[i], rows[k][i])
                    ctx.set(dut.b[i], rows[k][4 + i])
                ctx.set(dut.c, rows[k][8])
                ctx.set(dut.absent, rows[k][9])
                ctx.set(dut.no_c, rows[k][10])
                ctx.set(dut.narrow, rows[k][11])
            if k >= dut.latency:
                got.append(ctx.get(dut.result))
            await ctx.tick()

    simulate(dut, bench)
    return got


@pytest.mark.parametrize("frac, latency", [(9, 16), (9, 10), (17, 11)])
def test_sums_of_products(frac, latency):
    rows = list(vectors(frac, fewer(2500), frac))
    if frac == 9:
        nothing, ones = [ABSENT[0]] * 4, [ABSENT[1]] * 4
        rows += [
            (*row, 0, 0, 0)
            for row in (
                (0x10E58, 0x30E58, 0x0EA0C, 0, 0x10E58, 0x10E58, 0x0EA0C, 0x10280, 0),
                (*nothing, *ones, 0x20000),
                (*nothing, *ones, 0x1FDFF),
                (0x1FDFF, *nothing[:3], 0x0FE00, *ones[:3], 0x1F400),
            )
        ]
    table = np.array(rows)
    for i in range(4):
        gone = table[:, 9] >> i & 1 == 1
        table[gone, i], table[gone, 4 + i] = ABSENT
    addend = np.where(table[:, 10] == 1, 1 << frac + 8, table[:, 8])
    want = np.where(
        table[:, 11] == 1,
        arithmetic.dot(table[:, :4], table[:, 4:8], addend >> frac - 9) << frac - 9,
        arithmetic.dot(table[:, :4], table[:, 4:8], addend, frac),
    )
    got = run(DotUnit(frac=frac, latency=latency), rows)
    wrong = [
        (k, [hex(v) for v in rows[k]], hex(g), hex(int(w)))
        for k, (g, w) in enumerate(zip(got, want, strict=True))
        if g != w
    ]
    assert not wrong, wrong[:3]


def test_arguments():
    with pytest.raises(ValueError, match="Fraction bits must be 9 or 17, not 10"):
        DotUnit(frac=10)
