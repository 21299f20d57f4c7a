# SPDX-License-Identifier: BSD-2-Clause
"""The asynchronous SRAM's controller against the chip model, which raises at every broken rule."""

import random
from types import SimpleNamespace

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.sram.chip import SRAMChip, SRAMViolation
from quintet.gateware.memory.sram.controller import SRAMController
from quintet.gateware.memory.sram.parts import PARTS, SRAMPart
from quintet.gateware.memory.sram.phy import SRAMPhy
from tests.support.memory_model import PortDriver
from tests.support.shares import shares, some

SMALL = SRAMPart("small", address_bits=10, t_aa=10, t_wp=8, t_sd=6)


def simulate(dut, chip, driver, bench):
    """The registers of the I/O cells stand here: levels a cycle late, data of the pads a cycle
    late."""
    pins = dut.pins

    async def sampled(ctx):
        # Levels at the end of a cycle are those that the I/O registers take.
        level, seen = (0, 0, 0, 0, 0, 0), 0
        async for values in ctx.tick().sample(
            pins.a, pins.oe, pins.we, pins.be, pins.d.o, pins.d.oe
        ):
            seen = chip.cycle(*level)
            level = tuple(values[2:])
            ctx.set(pins.d.i, seen)

    done = []

    async def wrapped(ctx):
        await bench(ctx)
        done.append(True)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(sampled, background=True)
    sim.add_testbench(driver.process, background=True)
    sim.add_testbench(wrapped)
    sim.run()
    assert done


@shares
@pytest.mark.parametrize("beat", [2, 4])
@pytest.mark.parametrize("seed, stall", [(1, 0.0), (2, 0.4), (3, 0.8)])
def test_random_traffic(seed, stall, beat, share):
    dut = SRAMController(part=SMALL, clock_hz=50e6, beat_bytes=beat)
    chip = SRAMChip(part=SMALL, clock_hz=50e6)
    rnd = random.Random(seed)
    driver = PortDriver(dut.port, seed=seed, stall=stall, early_data=bool(seed & 1))
    shadow, checks = bytearray(dut.size), []
    for _ in range(some(120, share)):
        beats = rnd.choice((1, 1, 2, 3, 9, 40))
        at = rnd.choice((0, 512, dut.size - 60)) + beat * rnd.randrange(20)
        if rnd.random() < 0.1:
            at += rnd.choice((dut.size, 1 << 20, 1 << 31))
        outside = at + beat * beats > dut.size
        if rnd.random() < 0.5:
            data = rnd.randbytes(beat * beats)
            masks = [rnd.randrange(1 << beat) for _ in range(beats)]
            checks.append((driver.write(at, data, masks), outside, None))
            if not outside:
                for i in range(beat * beats):
                    if masks[i // beat] >> i % beat & 1:
                        shadow[at + i] = data[i]
        else:
            checks.append((driver.read(at, beats), outside, bytes(shadow[at : at + beat * beats])))

    async def bench(ctx):
        await driver.drain(ctx)

    simulate(dut, chip, driver, bench)
    for answer, outside, data in checks:
        assert answer.errors == [outside] * len(answer.errors)
        if data is not None and not outside:
            assert bytes(answer.bytes(beat)) == data
    assert bytes(chip.data) == bytes(shadow)


@pytest.mark.parametrize("beat", [2, 4])
@pytest.mark.parametrize("write, cycles", [(False, 1), (True, 2)])
def test_streams_use_the_pins_in_nine_cycles_of_ten(write, cycles, beat):
    dut = SRAMController(part=SMALL, clock_hz=50e6, beat_bytes=beat)
    chip = SRAMChip(part=SMALL, clock_hz=50e6)
    driver = PortDriver(dut.port, seed=1, stall=0)
    for at in range(0, 2048, 128):
        if write:
            driver.write(at, bytes(range(128)), [(1 << beat) - 1] * (128 // beat))
        else:
            driver.read(at, 128 // beat)
    taken = []

    async def bench(ctx):
        start = chip.reads + chip.writes
        count = 0
        while chip.reads + chip.writes - start < 1024:
            await ctx.tick()
            count += 1
        taken.append(count)
        await driver.drain(ctx)

    simulate(dut, chip, driver, bench)
    assert 1024 * cycles <= taken[0] <= 1024 * cycles / 0.9


def test_a_clock_too_fast_is_refused():
    with pytest.raises(
        ValueError, match=r"Clock of 60 MHz is above the 55.56 MHz of SRAM part 'IS61WV25616'"
    ):
        SRAMController(part="IS61WV25616", clock_hz=60e6)
    with pytest.raises(ValueError, match="Clock must be a positive number of Hz, not 0"):
        SRAMController(part="IS61WV25616", clock_hz=0)
    with pytest.raises(SRAMViolation, match="a cycle of 10 ns is too short"):
        SRAMChip(part=SMALL, clock_hz=100e6)


def test_parts_are_checked():
    assert PARTS["IS61WV25616"].size == 512 << 10
    with pytest.raises(
        ValueError, match="SRAM part must be one of IS61WV25616 or a SRAMPart, not 'none'"
    ):
        SRAMController(part="none", clock_hz=30e6)
    with pytest.raises(ValueError, match="address_bits of SRAM part 'x' must be 10 to 22, not 30"):
        SRAMPart("x", address_bits=30, t_aa=10, t_wp=8, t_sd=6)
    with pytest.raises(ValueError, match="t_wp of SRAM part 'x' must be a positive number, not 0"):
        SRAMPart("x", address_bits=18, t_aa=10, t_wp=0, t_sd=6)
    ports = SimpleNamespace(a=range(17), d=range(16), dm=range(2))
    with pytest.raises(ValueError, match="Port a has 17 pins, but SRAM part 'IS61WV25616' has 18"):
        SRAMPhy(part="IS61WV25616", ports=ports)


# Levels of two cycles after an idle one: a, oe, we, be, d, d_oe.
@pytest.mark.parametrize(
    "levels, message",
    [
        ([(1, 0, 2, 3, 7, 1), (1, 0, 0, 3, 7, 1)], "ends when address and data may change"),
        ([(1, 0, 1, 3, 7, 1)], "begins when the address may change"),
        ([(1, 0, 2, 3, 7, 1), (2, 0, 1, 3, 7, 1)], "address, byte enables or data change"),
        ([(1, 0, 2, 3, 7, 0)], "without driven data"),
        ([(1, 1, 0, 3, 7, 1)], "both sides drive"),
        ([(1, 1, 0, 3, 0, 0), (1, 0, 0, 3, 7, 1)], "both sides drive"),
        ([(1, 0, 0, 3, 7, 1), (1, 1, 0, 3, 0, 0)], "both sides drive"),
        ([(1, 0, 2, 3, 7, 1), (1, 0, 3, 3, 7, 1)], "longer than a cycle"),
    ],
)
def test_the_chip_knows_its_rules(levels, message):
    chip = SRAMChip(part=SMALL, clock_hz=50e6)
    with pytest.raises(SRAMViolation, match=message):
        for level in levels:
            chip.cycle(*level)


def test_byte_enables_of_the_chip():
    chip = SRAMChip(part=SMALL, clock_hz=50e6)
    chip.cycle(3, 0, 2, 1, 0x1234, 1)
    chip.cycle(3, 0, 1, 1, 0x1234, 1)
    assert list(chip.data[6:8]) == [0x34, 0]
    chip.cycle(0, 0, 0, 0, 0, 0)
    assert chip.cycle(3, 1, 0, 3, 0, 0) == 0x0034 and (chip.reads, chip.writes) == (1, 1)
