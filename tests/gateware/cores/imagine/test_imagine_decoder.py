# SPDX-License-Identifier: BSD-2-Clause
"""The decoder's faults are those of the table, for random words and all that lie close to legal
ones."""

import random

import pytest

from quintet.gateware.cores.imagine.engine.decode import Decoder
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.engine.ops import FAULTS
from quintet.gateware.cores.imagine.isa import ISA
from tests.support.shares import fewer
from tests.support.simulating import simulate


def some_words(rng, count):
    for _ in range(count):
        opcode = rng.choice((3, 3, 3, 7, 7, 1, 4, 5, 6, 8, 16, rng.randrange(64)))
        a, b, c = (rng.choice((rng.randrange(64), rng.randrange(16))) for _ in range(3))
        if rng.random() < 0.6:
            # Registers that are or follow one another.
            b = (a + rng.randrange(-1, 2)) % 64
            c = (rng.choice((a, b)) + rng.randrange(-1, 2)) % 64
        word = opcode << 26 | rng.choice((0, 0, rng.randrange(16))) << 22 | c << 16 | b << 6 | a
        yield word ^ (1 << rng.randrange(32) if rng.random() < 0.2 else 0)


@pytest.mark.parametrize(
    ("ram", "rows", "cols", "width", "depth"),
    [("tdp", 16, 3, 16, 1024), ("sdp1", 4, 2, 16, 256), ("sdp2", 3, 3, 8, 128)],
)
def test_faults_are_the_tables(ram, rows, cols, width, depth):
    params = {"rows": rows, "cols": cols, "reg_width": width, "depth": depth}
    dut = Decoder(mapping=Mapping(rows, cols, width, depth, ram))
    words = list(some_words(random.Random(ram), fewer(1200, 600)))
    found = []

    async def drive(ctx):
        ctx.set(dut.ops.gate.ready, 1)
        ctx.set(dut.ops.moves, -1)
        for k in range(len(words) + 8):
            ctx.set(dut.words.valid, k < len(words))
            if k < len(words):
                ctx.set(dut.words.payload.word, words[k])
            await ctx.tick()
            if ctx.get(dut.ops.put):
                bits = ctx.get(dut.ops.op.fault)
                found.append(
                    next((name for i, name in enumerate(FAULTS.values()) if bits >> i & 1), None)
                )

    simulate(dut, drive)
    assert len(found) == len(words)
    for word, fault in zip(words, found, strict=True):
        assert fault == ISA.decode(word, params).fault, f"{word:#010x}"
