# SPDX-License-Identifier: BSD-2-Clause
"""The scratchpad: every port reads what any port wrote, at the latencies that it promises."""

import random
import re

import pytest
from amaranth.back import rtlil

from quintet.gateware.cores.cherry.engine.memory.scratchpad import (
    DMA_LATENCY,
    READ_LATENCY,
    Scratchpad,
)
from quintet.gateware.cores.cherry.params import SPACE
from tests.support.simulating import simulate


def params_of(preset, **others):
    return SPACE.resolve(preset, others)


@pytest.mark.parametrize(("banks", "log_mem", "lanes"), [(4, 12, 2), (2, 13, 1)])
def test_both_sides(banks, log_mem, lanes):
    params = params_of("sim", banks=banks, log_mem=log_mem)
    dut, rnd = Scratchpad(params=params, lanes=lanes), random.Random(banks)
    spread = [rnd.randrange(1 << log_mem) for _ in range(40)]
    mem = dict.fromkeys(spread, 0)
    expected = {}  # cycle -> [(signal, element)]
    count = 0

    async def drive(ctx):
        nonlocal count
        recent = []  # what DMA writes reaches the block a cycle later: nobody looks then
        for cycle in range(700):
            for signal, element in expected.pop(cycle, ()):
                assert ctx.get(signal) == element, cycle
                count += 1
            free = [a for a in spread if a not in recent]
            recent = []
            taken = set()
            for face in dut.dma:
                choice = [a for a in free if a % banks not in taken]
                at, write, value = (
                    rnd.choice(choice or [0]),
                    rnd.random() < 0.5,
                    rnd.getrandbits(18),
                )
                enable = bool(choice) and rnd.random() < 0.8
                for name, given in (
                    ("address", at),
                    ("write", write),
                    ("write_data", value),
                    ("enable", enable),
                ):
                    ctx.set(getattr(face, name), given)
                if not enable:
                    continue
                taken.add(at % banks)
                recent.append(at)
                if write:
                    mem[at] = value
                else:
                    expected.setdefault(cycle + DMA_LATENCY, []).append((face.read_data, mem[at]))
            for bank in range(banks):
                here = [a for a in free if a % banks == bank and a not in recent]
                if not here:
                    ctx.set(dut.banks[bank].write, 0)
                    continue
                at, write, value = rnd.choice(here), rnd.random() < 0.4, rnd.getrandbits(18)
                for name, given in (("row", at // banks), ("write", write), ("write_data", value)):
                    ctx.set(getattr(dut.banks[bank], name), given)
                if write:
                    mem[at] = value
                    recent.append(at)
                else:
                    expected.setdefault(cycle + READ_LATENCY, []).append(
                        (dut.banks[bank].read_data, mem[at])
                    )
            await ctx.tick()

    simulate(dut, drive)
    assert count > 600


def test_one_port_changes_hands():
    params = params_of("sim", slots=1)
    dut, rnd = Scratchpad(params=params), random.Random(3)

    async def drive(ctx):
        values = [rnd.getrandbits(18) for _ in range(64)]
        face, banks = dut.dma[0], len(dut.banks)
        ctx.set(dut.dma_owns, 1)
        ctx.set(face.enable, 1)
        ctx.set(face.write, 1)
        for k, value in enumerate(values):
            ctx.set(face.address, 1000 + k)
            ctx.set(face.write_data, value)
            await ctx.tick()
        ctx.set(face.write, 0)
        await ctx.tick().repeat(2)
        ctx.set(dut.dma_owns, 0)
        for k, value in enumerate(values):
            row, at = divmod(1000 + k, banks)
            bank = dut.banks[at]
            ctx.set(bank.row, row)
            await ctx.tick().repeat(READ_LATENCY)
            assert ctx.get(bank.read_data) == value
        row, at = divmod(1007, banks)
        bank = dut.banks[at]
        ctx.set(bank.write, 1)
        ctx.set(bank.row, row)
        ctx.set(bank.write_data, 0x2BEEF)
        await ctx.tick()
        ctx.set(bank.write, 0)
        ctx.set(dut.dma_owns, 1)
        ctx.set(face.address, 1007)
        await ctx.tick().repeat(DMA_LATENCY)
        assert ctx.get(face.read_data) == 0x2BEEF

    simulate(dut, drive)


@pytest.mark.parametrize(
    ("preset", "family", "cell", "blocks"),
    [
        ("85f", "ecp5", "DP16KD", 80),
        ("45f", "ecp5", "DP16KD", 20),
        ("25f", "ecp5", "DP16KD", 16),
        ("sim", "ecp5", "DP16KD", 4),
        ("one slot", "ice40", "SB_RAM40_4K", 20),
    ],
)
def test_blocks(preset, family, cell, blocks):
    params = params_of("sim", slots=1) if preset == "one slot" else params_of(preset)
    text = rtlil.convert(Scratchpad(params=params, family=family))
    instances = {
        name: len(re.findall(rf"cell \\{cell} ", body))
        for name, body in re.findall(r"(?ms)^module (\S+)(.*?)^end", text)
    }

    def number(module):
        body = re.search(rf"(?ms)^module {re.escape(module)}$(.*?)^end$", text).group(1)
        return instances.get(module, 0) + sum(
            number(sub) for sub in re.findall(r"(?m)^  cell (\\top\S*) \S+$", body)
        )

    assert number("\\top") == blocks


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"params": params_of("sim"), "family": "ice40"},
            "Parameter slots must be 1 where the chip has no true dual-port block RAM (ice40), "
            "not 2",
        ),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError) as error:
        Scratchpad(**arguments)
    assert str(error.value) == message
