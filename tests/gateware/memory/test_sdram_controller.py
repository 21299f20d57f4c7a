# SPDX-License-Identifier: BSD-2-Clause
"""The SDRAM controller against the chip model, which raises at every broken rule."""

import os
import random
import time
from dataclasses import replace

import pytest
from amaranth.sim import Simulator

from quintet.gateware.memory.sdram.bench import SDRAMSystem, measure
from quintet.gateware.memory.sdram.controller import SDRAMController
from quintet.gateware.memory.sdram.parts import PARTS, SDRAMPart
from tests.support.memory_model import PortDriver


def traffic(*, part, clock_hz, capture, seed, stall, requests, pauses=True, rate=1):
    rnd = random.Random(seed)
    system = SDRAMSystem(part=part, clock_hz=clock_hz, capture=capture, rate=rate)
    beat, size = system.beat_bytes, system.size
    driver = PortDriver(system.port, seed=seed, stall=stall, early_data=bool(seed & 1))
    row = beat << system.controller.part.at_rate(rate).column_bits
    shadow, checks = {}, []
    # A few places, ends of rows and of the memory among them, so that what is written is read
    # again.
    places = [k * row + d for k in (0, 1, 2, 4, 8, 12, 16) for d in (0, row - 24 * beat)] + [
        size // 2,
        size - 24 * beat,
    ]

    def ask():
        beats = rnd.choice((1, 1, 2, 4, 9, 40, 256 if not stall else 20))
        at = rnd.choice(places) + beat * rnd.randrange(12)
        if rnd.random() < 0.05:
            at += size * rnd.choice((1, 7))
        outside = at + beats * beat > size
        if rnd.random() < 0.5:
            data = rnd.randbytes(beats * beat)
            full = (1 << beat) - 1
            masks = [rnd.choice((full, full, rnd.randrange(full + 1))) for _ in range(beats)]
            checks.append((driver.write(at, data, masks), outside, None))
            if not outside:
                for i in range(beats * beat):
                    if masks[i // beat] >> i % beat & 1:
                        shadow[at + i] = data[i]
        else:
            checks.append(
                (
                    driver.read(at, beats),
                    outside,
                    [shadow.get(at + i, 0) for i in range(beats * beat)],
                )
            )

    done = []

    async def bench(ctx):
        for _ in range(requests // 10):
            for _ in range(10):
                ask()
            await driver.drain(ctx)
            if pauses and rnd.random() < 0.3:
                await ctx.tick().repeat(rnd.choice((3, 40, 900)))
        done.append(True)

    sim = Simulator(system)
    system.add_to(sim)
    sim.add_testbench(driver.process, background=True)
    sim.add_testbench(bench)
    sim.run()
    assert done
    for answer, outside, data in checks:
        assert answer.errors == [outside] * len(answer.errors)
        if data is not None and not outside:
            assert list(answer.bytes(beat)) == data
    for at, value in shadow.items():
        assert system.chip.data[at] == value
    return system


@pytest.mark.parametrize(
    "part,mhz,capture,stall",
    [
        ("W9825G6", 100, 1, 0.0),
        ("W9825G6", 60, 0, 0.3),
        ("W9825G6", 133, 2, 0.1),
        ("M12L64322A", 100, 1, 0.2),
    ],
)
def test_random_traffic(part, mhz, capture, stall):
    part = replace(PARTS[part], masks=True)
    system = traffic(
        part=part, clock_hz=mhz * 1e6, capture=capture, seed=mhz, stall=stall, requests=150
    )
    assert system.chip.counts["refresh"] >= 1


@pytest.mark.parametrize(
    "part,mhz,capture,stall",
    [
        ("W9825G6", 50, 0, 0.0),  # CAS latency 2, the words of a beat in one cycle
        ("W9825G6", 48, 1, 0.3),  # 2, in two cycles
        ("W9825G6", 58, 1, 0.1),  # 3, in one cycle
        ("AS4C16M16SA-6", 83, 2, 0.0),  # 3, in two cycles
        ("AS4C32M16SB", 71, 3, 0.5),
    ],
)
def test_random_traffic_at_twice_the_clock(part, mhz, capture, stall):
    system = traffic(
        part=PARTS[part],
        clock_hz=mhz * 1e6,
        capture=capture,
        seed=mhz,
        stall=stall,
        requests=150,
        rate=2,
    )
    assert system.chip.burst == 2 and system.beat_bytes == 4
    assert system.chip.counts["refresh"] >= 1


@pytest.mark.parametrize("seed, rate", [(1, 1), (2, 1), (3, 2)])
def test_refreshes_in_any_state(seed, rate):
    """A part that wants a refresh every 64 cycles of its clock: they interrupt bursts, stalls and
    changes of row at every point."""
    part = replace(PARTS["W9825G6"], refreshes=100_000)
    system = traffic(
        part=part,
        clock_hz=100e6 / rate,
        capture=1,
        seed=seed,
        stall=0.0,
        requests=200,
        rate=rate,
    )
    assert system.chip.counts["refresh"] > 60


@pytest.mark.long
def test_random_traffic_campaign():
    seed = int(os.environ.get("QUINTET_SEED", 1))
    end = time.monotonic() + 60 * float(os.environ.get("QUINTET_MINUTES", 1)) / 4
    runs = 0
    while time.monotonic() < end:
        rnd = random.Random(seed)
        rate = rnd.choice((1, 2))
        part = SDRAMPart(
            "random",
            data_bits=rnd.choice((16, 32)) if rate == 1 else 16,
            bank_bits=2,
            row_bits=rnd.choice((11, 12, 13)),
            column_bits=rnd.choice((8, 9, 10) if rate == 1 else (9, 10)),
            t_rcd=rnd.choice((15, 18, 20)),
            t_rp=rnd.choice((15, 18, 20)),
            t_wr=rnd.choice((12, 15, 20)),
            t_ras=rnd.choice((37, 42, 45)),
            t_rc=rnd.choice((55, 60, 70)),
            t_rfc=rnd.choice((60, 70, 80)),
            t_rrd=rnd.choice((10, 12, 15)),
            refreshes=rnd.choice((8192, 40_000, 90_000)),
        )
        traffic(
            part=part,
            clock_hz=rnd.choice((50e6, 75e6, 100e6, 125e6, 143e6)) / rate,
            capture=rnd.randrange(4),
            seed=seed,
            stall=rnd.choice((0.0, 0.1, 0.5)),
            requests=100,
            rate=rate,
        )
        seed += 1
        runs += 1
    print(f"{runs} runs")


def test_refreshes_interrupt_a_stalled_write():
    """A write whose data do not come holds the port for ever, but not the refreshes."""
    system = SDRAMSystem(part="W9825G6", clock_hz=100e6)
    port = system.port
    done = []

    async def bench(ctx):
        ctx.set(port.req.payload, {"address": 0x2000, "beats": 2, "write": 1})
        ctx.set(port.req.valid, 1)
        while not ctx.get(port.req.ready):
            await ctx.tick()
        await ctx.tick()
        ctx.set(port.req.valid, 0)
        ctx.set(port.ack.ready, 1)
        ctx.set(port.w.valid, 1)
        ctx.set(port.w.payload, {"data": 0x1234, "mask": 3})
        while not ctx.get(port.w.ready):
            await ctx.tick()
        await ctx.tick()
        ctx.set(port.w.valid, 0)
        await ctx.tick().repeat(20000)
        assert system.chip.counts["refresh"] >= 16
        ctx.set(port.w.valid, 1)
        ctx.set(port.w.payload, {"data": 0x5678, "mask": 1})
        while not ctx.get(port.ack.valid):
            await ctx.tick()
        await ctx.tick().repeat(10)
        assert system.chip.data[0x2000:0x2006].tolist() == [0x34, 0x12, 0x78, 0, 0x78, 0]
        done.append(True)

    sim = Simulator(system)
    system.add_to(sim)
    sim.add_testbench(bench)
    sim.run()
    assert done


@pytest.mark.parametrize(
    "pattern,bar,mhz",
    [
        ("sequential read", 0.97, 60),
        ("sequential write", 0.97, 100),
        ("sequential read", 0.97, 100),
        ("64-beat bursts, read and write in turn, different banks, new rows", 0.92, 60),
        ("64-beat bursts, read and write in turn, different banks, new rows", 0.92, 100),
        ("64-beat bursts, read and write in turn, one bank, another row", 0.85, 60),
        ("64-beat bursts, read and write in turn, one bank, another row", 0.85, 100),
    ],
)
def test_throughput(pattern, bar, mhz):
    fraction, refreshes = measure(pattern=pattern, clock_hz=mhz * 1e6, cycles=6000)
    assert fraction >= bar
    assert 0.95 <= refreshes <= 1.1, "the figure counts too few refreshes"


@pytest.mark.parametrize(
    "pattern, bar, mhz",
    [
        ("sequential read", 0.97, 58),
        ("sequential write", 0.97, 71),
        ("64-beat bursts, read and write in turn, different banks, new rows", 0.92, 50),
        ("64-beat bursts, read and write in turn, one bank, another row", 0.85, 58),
    ],
)
def test_throughput_at_twice_the_clock(pattern, bar, mhz):
    """Of 4 bytes in each cycle of the controller, refreshes and changes of row included."""
    fraction, refreshes = measure(pattern=pattern, clock_hz=mhz * 1e6, cycles=6000, rate=2)
    assert fraction >= bar
    assert 0.95 <= refreshes <= 1.1, "the figure counts too few refreshes"


@pytest.mark.parametrize(
    "mhz, capture, rate, cycles",
    [
        (100, 1, 1, 10 + 2 + 1),
        (50, 0, 2, 13 + (2 + 0) // 2),
        (50, 1, 2, 13 + (2 + 1 + 1) // 2),
        (58, 1, 2, 13 + (3 + 1) // 2),
    ],
)
def test_latency_of_an_open_row(mhz, capture, rate, cycles):
    system = SDRAMSystem(part="W9825G6", clock_hz=mhz * 1e6, capture=capture, rate=rate)
    driver = PortDriver(system.port)
    done = []

    async def bench(ctx):
        driver.read(0, 1)
        await driver.drain(ctx)
        start = driver.cycles
        answer = driver.read(64, 1)
        await driver.drain(ctx)
        # One cycle for the driver to offer the request.
        assert answer.time - start == 1 + cycles
        done.append(True)

    sim = Simulator(system)
    system.add_to(sim)
    sim.add_testbench(driver.process, background=True)
    sim.add_testbench(bench)
    sim.run()
    assert done


@pytest.mark.parametrize(
    "kwargs,message",
    [
        (dict(part="W9825"), "SDRAM part must be one of W9825G6, .* or a SDRAMPart, not 'W9825'"),
        (dict(clock_hz=200e6), "Clock of 200 MHz is above the 143 MHz of SDRAM part 'W9825G6'"),
        (
            dict(clock_hz=72e6, rate=2),
            "SDRAM part 'W9825G6' at twice the main clock of 72 MHz: expected at most 143 MHz, "
            "found 144$",
        ),
        (
            dict(part="AS4C16M16SA-6", clock_hz=84e6, rate=2),
            "'AS4C16M16SA-6' at twice the main clock of 84 MHz: expected at most 166 MHz, "
            "found 168$",
        ),
        (dict(rate=3), "SDRAM rate = 3: expected 1 or 2"),
        (
            dict(part="M12L64322A", clock_hz=50e6, rate=2),
            "SDRAM part 'M12L64322A' at a rate of 2: expected at most 16 bits and at least 512 "
            "columns, found 32 and 256",
        ),
        (dict(clock_hz=4e5), "Clock of 0.4 MHz is too slow to refresh SDRAM part 'W9825G6'"),
        (dict(clock_hz=0), "Clock must be a positive number of Hz, not 0"),
        (dict(powerup_ns=-1), "Power-up time must be a number of nanoseconds, not -1"),
        (
            dict(part=SDRAMPart("narrow", 8, 2, 12, 9)),
            "SDRAM part must be 16 or 32 bits wide, not 8",
        ),
    ],
)
def test_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        SDRAMController(**{"part": "W9825G6", "clock_hz": 100e6, **kwargs})


@pytest.mark.parametrize(
    "kwargs,message",
    [
        (dict(data_bits=12), r"data_bits of SDRAM part 'x' must be in \(8, 16, 32\), not 12"),
        (dict(t_rp=0), "t_rp of SDRAM part 'x' must be a positive number, not 0"),
    ],
)
def test_part_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        SDRAMPart(
            **{
                "name": "x",
                "data_bits": 16,
                "bank_bits": 2,
                "row_bits": 12,
                "column_bits": 9,
                **kwargs,
            }
        )
