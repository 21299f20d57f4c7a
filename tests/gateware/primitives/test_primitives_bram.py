# SPDX-License-Identifier: BSD-2-Clause
"""Block RAM: the twin's latency and its answer to a collision, the shapes and pins of the chips'
blocks."""

import random
import re

import pytest
from amaranth.back import rtlil

from quintet.gateware.primitives.bram import BlockRAM, best_shape
from tests.support.simulating import simulate


@pytest.mark.parametrize("latency", [1, 2, 3])
def test_twin_reads_what_was_written(latency):
    dut = BlockRAM(width=20, depth=32, latency=latency)
    rng = random.Random(latency)

    async def drive(ctx):
        contents = [0] * 32
        expected, before = [], 0
        for cycle in range(400):
            if cycle >= latency:
                assert ctx.get(dut.read_data) == expected[cycle - latency]
            write, at, value, read = (
                rng.random() < 0.6,
                rng.randrange(32),
                rng.getrandbits(20),
                rng.randrange(32),
            )
            ctx.set(dut.write_en, write)
            ctx.set(dut.write_addr, at)
            ctx.set(dut.write_data, value)
            ctx.set(dut.read_addr, read)
            # A collision gives the complement of what was there.
            seen, asked = (read, len(expected)) if latency < 3 else (before, len(expected) - 1)
            expected.append(None)
            if asked >= 0:
                expected[asked] = contents[seen] ^ (0xF_FFFF if write and at == seen else 0)
            before = read
            if write:
                contents[at] = value
            await ctx.tick()

    simulate(dut, drive)


@pytest.mark.parametrize(
    ("family", "width", "depth", "shape"),
    [
        ("ecp5", 64, 4096, (4096, 4)),
        ("ecp5", 256, 512, (512, 36)),
        ("ecp5", 96, 2048, (2048, 9)),
        ("ecp5", 64, 32, (512, 36)),
        ("ecp5", 64, 32768, (16384, 1)),
        ("ice40", 32, 1024, (1024, 4)),
        ("ice40", 128, 256, (256, 16)),
        ("ice40", 32, 16, (256, 16)),
    ],
)
def test_shape_with_the_fewest_blocks(family, width, depth, shape):
    assert best_shape(family, width, depth) == shape
    blocks = -(-width // shape[1]) * -(-depth // shape[0])
    text = rtlil.convert(BlockRAM(width=width, depth=depth, family=family))
    assert len(re.findall(r"cell \\(?:DP16KD|SB_RAM40_4K) ", text)) == blocks


@pytest.mark.parametrize(("latency", "mode"), [(1, "NOREG"), (2, "OUTREG"), (3, "OUTREG")])
def test_output_register_is_the_blocks_own(latency, mode):
    text = rtlil.convert(BlockRAM(width=36, depth=512, latency=latency, family="ecp5"))
    for port in "AB":
        assert f'parameter \\REGMODE_{port} "{mode}"' in text


def test_copies_of_the_address_on_an_ecp5():
    """One for every eight blocks, and synthesis keeps them apart: they are instances."""
    text = rtlil.convert(BlockRAM(width=64, depth=8192, latency=3, family="ecp5"))
    assert len(re.findall(r"cell \\?TRELLIS_FF ", text)) == 4 * 13
    assert "TRELLIS_FF" not in rtlil.convert(
        BlockRAM(width=64, depth=8192, latency=2, family="ecp5")
    )
