# SPDX-License-Identifier: BSD-2-Clause
"""Local memory: unaligned words with masks at all ports at once, in byte lanes and in one SPRAM."""

import random
from functools import partial

import pytest
from amaranth.back import rtlil

from quintet.gateware.cores.pim.engine.commands import LMemRead
from quintet.gateware.cores.pim.engine.memory.lmem import LocalMemory
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench.sizes import sizes
from tests.support.shares import fewer
from tests.support.simulating import simulate

BUILDS = [
    ("85f", {"lmem_bytes": 1024}),
    ("sim", {"lmem_bytes": 1024}),
    ("tiny", {"lmem_bytes": 1024}),
    ("narrow", {"lmem_bytes": 4096}),
    ("sim", {"vec_bytes": 1, "max_biw": 8, "x_bits": 8, "lmem_bytes": 1024}),
]
NAMES = ["8 bytes", "4 bytes", "2 bytes", "4 KiB", "1 byte"]


@pytest.mark.parametrize(("preset", "overrides"), BUILDS, ids=NAMES)
def test_what_was_written_is_read(preset, overrides):
    """Each of three writers has a third of the bytes; readers read what no writer has under way,
    neighbours as they please."""
    params = sizes(preset, overrides)
    dut = LocalMemory(params=params)
    word, size = params["vec_bytes"], params["lmem_bytes"]
    rng = random.Random(preset)
    known = {}  # byte -> value; absent while a write of it waits
    landing = {}  # byte -> (cycle from which on it is read, value)
    third = 64
    state = {"zeroed": False, "cycle": 0, "writing": 3}

    async def clock(ctx):
        ctx.set(dut.zero, 1)
        await ctx.tick()
        ctx.set(dut.zero, 0)
        cycles = 0
        while ctx.get(dut.zeroing):
            await ctx.tick()
            cycles += 1
        assert cycles == size // word
        await ctx.tick()
        known.update((at, 0) for at in range(size))
        state["zeroed"] = True
        while True:
            await ctx.tick()
            state["cycle"] += 1
            for place in [
                place for place, (cycle, _) in landing.items() if cycle <= state["cycle"]
            ]:
                known[place] = landing.pop(place)[1]

    async def write(ctx, number):
        face = dut.write[number].request
        while not state["zeroed"]:
            await ctx.tick()
        for _ in range(fewer(100)):
            at = number * third + rng.randrange(third - word + 1)
            if rng.random() < 0.1 and number == 2:
                at = size - rng.randrange(1, word + 1) if word > 1 else size - 1
            mask, value = rng.getrandbits(word), rng.randbytes(word)
            places = [((at + k) % size, value[k]) for k in range(word) if mask >> k & 1]
            if any(place < 2 * third for place, _ in places) and number == 2:
                continue
            for place, _ in places:
                known.pop(place, None)
                landing.pop(place, None)
            ctx.set(
                face.payload, {"address": at, "data": int.from_bytes(value, "little"), "mask": mask}
            )
            ctx.set(face.valid, 1)
            await ctx.tick().until(face.ready)
            ctx.set(face.valid, 0)
            landing.update((place, (state["cycle"] + 2, byte)) for place, byte in places)
            if rng.random() < 0.4:
                await ctx.tick()
        state["writing"] -= 1

    async def read(ctx, number):
        face = dut.read[number]
        while not state["zeroed"]:
            await ctx.tick()
        while state["writing"]:
            at = rng.choice((rng.randrange(3 * third), size - rng.randrange(1, word + 1)))
            ctx.set(face.request.payload, at)
            ctx.set(face.request.valid, 1)
            # What is known before the cycle of the request, and still after it, must be in the
            # word.
            taken = False
            while not taken:
                expected = [known.get((at + k) % size) for k in range(word)]
                # As it stands at the end of the cycle: the memory of one port may yet have
                # preferred another.
                _, _, taken = await ctx.tick().sample(face.request.ready)
            ctx.set(face.request.valid, 0)
            after = [known.get((at + k) % size) for k in range(word)]
            cycles = 1
            while not ctx.get(face.valid):
                await ctx.tick()
                cycles += 1
            assert cycles == LMemRead.READ_LATENCY
            got = ctx.get(face.data).to_bytes(word, "little")
            for k in range(word):
                if expected[k] is not None and expected[k] == after[k]:
                    assert got[k] == expected[k], f"byte {k} of the word at {at:#x}"

    benches = [partial(bench, number=number) for number in range(3) for bench in (write, read)]
    simulate(dut, *benches, surroundings=[clock])


def test_vector_unit_writes_at_once_and_yields():
    """Its writes never wait in byte lanes; while others' do, its reads leave every other cycle
    free."""
    params = SPACE.resolve("sim", {"lmem_bytes": 1024})
    dut = LocalMemory(params=params)

    async def drive(ctx):
        ctx.set(dut.read[1].request.valid, 1)
        for writer in (0, 1):
            ctx.set(dut.write[writer].request.valid, 1)
        granted = 0
        for _ in range(40):
            assert ctx.get(dut.write[1].request.ready)
            granted += ctx.get(dut.read[1].request.ready)
            await ctx.tick()
        assert 15 <= granted <= 25
        ctx.set(dut.write[1].request.valid, 0)
        await ctx.delay(1e-9)
        assert ctx.get(dut.write[0].request.ready)

    simulate(dut, drive)


def test_sizes_of_the_chips():
    """A block RAM a lane on an ECP5 with 16 KiB."""
    text = rtlil.convert(LocalMemory(params=SPACE.resolve("85f"), family="ecp5"))
    assert text.count("cell \\DP16KD ") == 8 and text.count('parameter \\REGMODE_B "OUTREG"') == 8
    assert (
        rtlil.convert(LocalMemory(params=sizes("tiny"), family="ice40")).count(
            "cell \\SB_RAM40_4K "
        )
        == 4
    )
