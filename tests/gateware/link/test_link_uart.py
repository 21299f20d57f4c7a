# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest
from amaranth.sim import Simulator

from quintet.gateware.link.uart import UARTReceiver, UARTTransmitter, divider

CLOCKS = (12e6, 16e6, 24e6, 25e6, 48e6, 50e6, 66.7e6, 80e6, 100e6, 133e6)
BAUDS = (9600, 57600, 115200, 230400, 460800, 921600, 1e6, 1.5e6, 2e6, 3e6)


def test_any_rate_from_any_clock():
    for clock in CLOCKS:
        for baud in BAUDS:
            increment, width = divider(clock, baud)
            assert abs(clock * increment / 2**width / baud - 1) <= 0.002
            assert 0 < increment < 2**width and width <= 24


@pytest.mark.parametrize(
    "clock, baud, error, message",
    [
        ("x", 1, TypeError, "clock_hz"),
        (1e6, None, TypeError, "baud"),
        (True, 1, TypeError, "clock_hz"),
        (0, 1, ValueError, "clock_hz"),
        (1e6, -1, ValueError, "baud"),
        (float("inf"), 1, ValueError, "clock_hz"),
        (12e6, 3.01e6, ValueError, "baud must be at most a quarter"),
    ],
)
def test_divider_refuses(clock, baud, error, message):
    with pytest.raises(error, match=message):
        divider(clock, baud)


def levels(data, cycles_per_bit, *, stop=1, idle=0):
    """Line levels, one a cycle, of bytes sent back to back at an exact rate."""
    bits = [bit for byte in data for bit in (0, *(byte >> i & 1 for i in range(8)), stop)] + [
        1
    ] * idle
    edges = [round(number * cycles_per_bit) for number in range(len(bits) + 1)]
    return [
        bit for number, bit in enumerate(bits) for _ in range(edges[number + 1] - edges[number])
    ]


def receive(line, *, clock_hz=24e6, baud=3e6, ready=lambda cycle: 1):
    """Bytes taken, framing errors and overruns for these levels."""
    dut = UARTReceiver(clock_hz=clock_hz, baud=baud)
    taken, errors = [], [0, 0]

    async def bench(ctx):
        for cycle, level in enumerate([1] * 8 + line + [1] * int(3 * clock_hz / baud)):
            ctx.set(dut.line, level)
            ctx.set(dut.o.ready, ready(cycle))
            *_, valid, payload, framing, overrun = await ctx.tick().sample(
                dut.o.valid, dut.o.payload, dut.framing, dut.overrun
            )
            if valid and ready(cycle):
                taken.append(payload)
            errors[0] += framing
            errors[1] += overrun

    simulator = Simulator(dut)
    simulator.add_clock(1 / clock_hz)
    simulator.add_testbench(bench)
    simulator.run()
    return taken, *errors


@pytest.mark.parametrize(
    "clock_hz, baud", [(12e6, 3e6), (24e6, 3e6), (80e6, 3e6), (25e6, 921600), (24e6, 1e6)]
)
@pytest.mark.parametrize("error", [-0.02, 0, 0.02])
def test_receives(clock_hz, baud, error):
    data = [0, 0xFF, 0x55, 0xAA, *random.Random(1).randbytes(8)]
    assert receive(levels(data, clock_hz / baud / (1 + error)), clock_hz=clock_hz, baud=baud) == (
        data,
        0,
        0,
    )


def test_bad_stop_bit_drops_the_byte():
    line = levels([0x12], 8) + levels([0x34], 8, stop=0) + [1] * 8 + levels([0x56], 8)
    assert receive(line) == ([0x12, 0x56], 1, 0)


def test_break_is_one_error_and_no_bytes():
    assert receive([0] * 1000 + [1] * 8 + levels([0x42], 8)) == ([0x42], 1, 0)


@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_short_pulses_are_no_start_bits(cycles):
    pulse = [0] * cycles + [1] * 20
    assert receive(pulse * 3 + levels([0x42], 8)) == ([0x42], 0, 0)


def test_overrun_keeps_the_byte_that_waits():
    line = levels([0x11, 0x22, 0x33], 8) + [1] * 40 + levels([0x44], 8)
    assert receive(line, ready=lambda cycle: cycle > 260) == ([0x11, 0x44], 0, 2)


@pytest.mark.parametrize("clock_hz, baud", [(12e6, 3e6), (24e6, 3e6), (80e6, 3e6), (25e6, 921600)])
def test_transmits_back_to_back(clock_hz, baud):
    data = [0, 0xFF, 0x55, *random.Random(2).randbytes(9)]
    dut = UARTTransmitter(clock_hz=clock_hz, baud=baud)
    line = []

    async def send(ctx):
        for byte in data:
            ctx.set(dut.i.payload, byte)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def watch(ctx):
        for _ in range(int(len(data) * 10 * clock_hz / baud) + 40):
            *_, level = await ctx.tick().sample(dut.line)
            line.append(level)

    simulator = Simulator(dut)
    simulator.add_clock(1 / clock_hz)
    simulator.add_testbench(send)
    simulator.add_testbench(watch)
    simulator.run()
    start = line.index(0)
    wanted = levels(data, clock_hz / baud)
    # Every bit is right in its middle, and the end comes when an exact sender's would.
    for number in range(len(data) * 10):
        middle = int((number + 0.5) * clock_hz / baud)
        assert line[start + middle] == wanted[middle], number
    assert (
        all(line[start + len(wanted) + 2 :])
        and receive(line, clock_hz=clock_hz, baud=baud)[0] == data
    )
