# SPDX-License-Identifier: BSD-2-Clause
"""The I/O cells' registers and their twin: the same lines at the same time."""

import random
from types import SimpleNamespace

import pytest
from amaranth import Module
from amaranth.lib import io, wiring

from quintet.gateware.memory.sdram.parts import PARTS
from quintet.gateware.memory.sdram.phy import SDRAMPhy, SDRAMPins
from tests.support.simulating import simulate

PART = PARTS["W9825G6"]


def board_ports(width=16):
    def out(width, invert=False):
        return io.SimulationPort("o", width, invert=invert)

    return SimpleNamespace(
        clk_en=out(1),
        cs=out(1, True),
        ras=out(1, True),
        cas=out(1, True),
        we=out(1, True),
        ba=out(2),
        a=out(13),
        dqm=out(2),
        dq=io.SimulationPort("io", width),
    )


def test_ports_and_twin_agree():
    ports = board_ports()
    m = Module()
    m.submodules.real = real = SDRAMPhy(part=PART, ports=ports)
    m.submodules.twin = twin = SDRAMPhy(part=PART)
    rnd = random.Random(1)
    done = []

    async def bench(ctx):
        driven = 0
        for cycle in range(100):
            lines = {
                name: rnd.getrandbits(width)
                for name, width in dict(
                    cke=1, cs_n=1, ras_n=1, cas_n=1, we_n=1, ba=2, a=13, dqm=2
                ).items()
            }
            o, oe, i = rnd.getrandbits(16), rnd.getrandbits(1), rnd.getrandbits(16)
            for phy in (real, twin):
                for name, value in lines.items():
                    ctx.set(getattr(phy.controller, name), value)
                ctx.set(phy.controller.dq.o, o)
                ctx.set(phy.controller.dq.oe, oe)
            ctx.set(ports.dq.i, i)
            ctx.set(twin.pads.dq.i, i)
            await ctx.tick()
            pads = twin.pads
            assert ctx.get(pads.cke) == ctx.get(ports.clk_en.o) == lines["cke"]
            for name, port in (
                ("cs_n", ports.cs),
                ("ras_n", ports.ras),
                ("cas_n", ports.cas),
                ("we_n", ports.we),
            ):
                # The simulated port shows the level of the pin.
                assert ctx.get(getattr(pads, name)) == ctx.get(port.o) == lines[name], (cycle, name)
            for name in ("ba", "a", "dqm"):
                assert (
                    ctx.get(getattr(pads, name)) == ctx.get(getattr(ports, name).o) == lines[name]
                )
            assert ctx.get(pads.dq.o) == ctx.get(ports.dq.o) == o
            assert ctx.get(ports.dq.oe) == (0xFFFF if oe else 0) and ctx.get(pads.dq.oe) == oe
            # While the pins are driven, a real port reads back what it drives; no one looks at it
            # then.
            assert ctx.get(twin.controller.dq.i) == i
            if not oe and not driven:
                assert ctx.get(real.controller.dq.i) == i
            driven = oe
        done.append(True)

    simulate(m, bench)
    assert done


def test_double_rate_registers():
    """Lines reach the pads after three cycles; a word at a rising edge comes with that at the
    falling edge behind it."""
    phy = SDRAMPhy(part=PART, rate=2)
    rnd = random.Random(2)
    widths = dict(cke=1, cs_n=1, ras_n=1, cas_n=1, we_n=1, ba=2, a=13, dqm=4)
    given, stood, done = [], [(0, 0)] * 2, []

    async def bench(ctx):
        pads = phy.pads
        assert ctx.get(pads.cs_n) == ctx.get(pads.cke) == ctx.get(pads.ras_n) == 1
        for cycle in range(100):
            lines = {name: rnd.getrandbits(width) for name, width in widths.items()}
            o, oe, words = rnd.getrandbits(32), rnd.getrandbits(1), (rnd.getrandbits(16),) * 2
            for name, value in lines.items():
                ctx.set(getattr(phy.controller, name), value)
            ctx.set(phy.controller.dq.o, o)
            ctx.set(phy.controller.dq.oe, oe)
            ctx.set(pads.dq.i, words[0] | words[1] << 16)
            given.append((lines, o, oe))
            stood.append(words)
            await ctx.tick()
            assert ctx.get(phy.controller.dq.i) == stood[-2][1] | stood[-1][0] << 16, cycle
            if cycle < 2:
                continue
            lines, o, oe = given[-3]
            assert {name: ctx.get(getattr(pads, name)) for name in widths} == lines, cycle
            assert (ctx.get(pads.dq.o), ctx.get(pads.dq.oe)) == (o, oe), cycle
        done.append(True)

    simulate(phy, bench)
    assert done


def test_pins_of_another_width():
    with pytest.raises(ValueError, match="Port dq has 32 pins, but SDRAM part 'W9825G6' has 16"):
        SDRAMPhy(part=PART, ports=board_ports(32))


def test_pins_signature():
    assert SDRAMPins("W9825G6") == SDRAMPins(PART) != SDRAMPins("M12L64322A")
    assert SDRAMPins(PART, 2) == SDRAMPins(PART, 2) != SDRAMPins(PART)
    assert isinstance(SDRAMPins(PART).create(), wiring.PureInterface)
