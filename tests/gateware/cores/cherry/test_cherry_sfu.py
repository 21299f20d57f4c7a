# SPDX-License-Identifier: BSD-2-Clause
"""The special-function lane against the golden model."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.cherry.engine.units.sfu import SpecialLane, SpecialOp
from quintet.gateware.cores.cherry.model import special
from tests.support.shares import fewer
from tests.support.simulating import simulate

GOLDEN = {
    SpecialOp.DIV: special.div,
    SpecialOp.POW: special.power,
    SpecialOp.EXP: lambda x, y: special.exp(x),
    SpecialOp.LOG: lambda x, y: special.log(x),
}
SPECIAL = (
    0,
    0x20000,
    0x001,
    0x20155,
    0x1FE00,
    0x3FE00,
    0x1FF00,
    0x3FE01,
    0x0FE00,
    0x2FE00,
    0x0FC00,
    0x2FC00,
    0x10000,
    0x30000,
    0x10100,
    0x30100,
    0x1FDFF,
    0x3FDFF,
    0x00200,
    0x20200,
    0x0FE01,
    0x0FDFF,
    0x11200,
    0x111FF,
    0x13200,
)


def element(rnd):
    if rnd.random() < 0.1:
        return rnd.choice(SPECIAL)
    spread = rnd.choice((2, 8, 127))
    exponent = rnd.randrange(max(1, 127 - spread), min(255, 128 + spread))
    return rnd.randrange(2) << 17 | exponent << 9 | rnd.choice((0, 511, rnd.randrange(512)))


def run(rows):
    dut, got = SpecialLane(), []

    async def bench(ctx):
        for k in range(len(rows) + SpecialLane.LATENCY):
            if k < len(rows):
                op, x, y = rows[k]
                ctx.set(dut.op, op)
                ctx.set(dut.x, x)
                ctx.set(dut.y, y)
            if k >= SpecialLane.LATENCY:
                got.append(ctx.get(dut.result))
            await ctx.tick()

    simulate(dut, bench)
    return got


def check(rows):
    want = [int(GOLDEN[op](np.array(x), np.array(y))) for op, x, y in rows]
    wrong = [
        (op.name, hex(x), hex(y), hex(g), hex(w))
        for (op, x, y), g, w in zip(rows, run(rows), want, strict=True)
        if g != w
    ]
    assert not wrong, (len(wrong), wrong[:5])


def test_special_values():
    check(
        [(op, x, y) for op in (SpecialOp.DIV, SpecialOp.POW) for x in SPECIAL for y in SPECIAL]
        + [(op, x, 0) for op in (SpecialOp.EXP, SpecialOp.LOG) for x in SPECIAL]
    )


@pytest.mark.parametrize("op", SpecialOp)
def test_random_elements(op):
    rnd = random.Random(op.value)
    check([(op, element(rnd), element(rnd)) for _ in range(fewer(500))])


def test_mixed_operations():
    rnd = random.Random(9)
    check([(rnd.choice(list(SpecialOp)), element(rnd), element(rnd)) for _ in range(300)])
