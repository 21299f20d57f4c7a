# SPDX-License-Identifier: BSD-2-Clause
"""A core with a clock domain of its own: two real clocks, in every simulation there is."""

import json
import zlib
from fractions import Fraction

import numpy as np
import pytest
from amaranth.sim import Simulator

from quintet.boards import open_board
from quintet.boards.top import BoardTop
from quintet.boards.virtual.bench import IDEAL, Behaviour, CoreBench
from quintet.gateware.shell.core import CoreShell
from quintet.gateware.shell.domains import DomainRequest, requested_domain
from quintet.gateware.shell.engine import Engine
from tests.support.memory_model import MemoryModel
from tests.support.stream_core import PACKAGE

SIZE = 1 << 14
JOB = {"program_address": 0, "program_length": 4096, "target": 0x2000, "key": 0x3C}


def image(seed=1):
    return np.random.default_rng(seed).integers(0, 256, SIZE, dtype=np.uint8)


@pytest.fixture(scope="module")
def bench():
    with CoreBench(
        PACKAGE,
        overrides={"own_clock": True, "ratio": 2},
        beat_bytes=4,
        memory_size=SIZE,
        ports="shell",
    ) as bench:
        yield bench


def copied(bench):
    expected = bench.memory.copy()
    expected[0x2000:0x3000] = expected[:0x1000]
    expected[0x2000:0x3000:4] ^= 0x3C
    return expected


@pytest.mark.parametrize(
    "ratio", [Fraction(1, 4), Fraction(1), Fraction(7, 5), Fraction(2), Fraction(3, 16)]
)
def test_two_clocks_compiled(bench, ratio):
    """The far side does a beat in each of its cycles, and the memory one, read or written, in each
    of the main clock's."""
    bench.second_clock(ratio)
    bench.behave(IDEAL)
    bench.load(image())
    expected = copied(bench)
    outcome = bench.run(JOB)
    assert outcome.status == "done" and (bench.memory == expected).all()
    assert (
        outcome.values["sum"] == int(image()[:4096].view("<u4").sum(dtype=np.uint64)) & 0xFFFF_FFFF
    )
    cycles = outcome.counters["cycles"]
    least = max(2048, 1024 / ratio)
    assert least <= cycles < 1.1 * least + 300, cycles


def test_core_reset_reaches_both_domains(bench):
    """In any state of a run, and with a far clock much slower than the reset is long."""
    bench.second_clock(Fraction(3, 16))
    bench.load(image(2))
    for length in range(20, 900, 97):
        bench.behave(Behaviour(latency=20, latency_spread=9, stall_percent=20), seed=length)
        bench.start(JOB)
        bench.step(length)
        bench.reset()
        bench.behave(IDEAL)
        expected = copied(bench)
        assert bench.run(JOB).status == "done"
        assert (bench.memory == expected).all(), length


def test_two_clocks_in_pysim():
    params = PACKAGE.params.SPACE.resolve(None, {"own_clock": True, "ratio": 6})
    dut = CoreShell(package=PACKAGE, params=params, beat_bytes=4, memory_size=SIZE)
    assert (dut.domain.name, dut.domain.ratio) == ("array", Fraction(3, 2))
    model = MemoryModel(dut.memory, size=SIZE, seed=1, stall=0.1)
    model.memory[:] = image(3)
    expected = model.memory.copy()
    expected[0x2000:0x2400] = expected[:0x400]
    expected[0x2000:0x2400:4] ^= 0x3C
    done = []

    async def access(ctx, offset, data=None):
        bus = dut.bus
        for signal, value in (
            (bus.adr, offset // 4),
            (bus.we, data is not None),
            (bus.dat_w, data or 0),
            (bus.sel, 15),
            (bus.cyc, 1),
            (bus.stb, 1),
        ):
            ctx.set(signal, value)
        (value,) = await ctx.tick().sample(bus.dat_r).until(bus.ack)
        ctx.set(bus.cyc, 0)
        ctx.set(bus.stb, 0)
        return value

    async def testbench(ctx):
        for offset, value in ((0x24, 1024), (0x100, 0x2000), (0x104, 0x3C), (0x10, 1)):
            await access(ctx, offset, value)
        while await access(ctx, 0x14) & 1:
            pass
        assert await access(ctx, 0x14) == 2
        done.append(True)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_clock(1e-6 / 1.5, phase=0.21e-6, domain="array")
    sim.add_testbench(testbench)
    sim.add_testbench(model.process, background=True)
    sim.run()
    assert done and (model.memory == expected).all()


@pytest.mark.parametrize(
    "name, ratio, cell",
    [
        ("ulx3s-25f", 8, "CLKOS3"),
        ("ulx3s-25f", 10, "CLKOS3"),
        ("icebreaker", 8, "SB_PLL40_2F_PAD"),
        ("icebreaker", 5, None),
    ],
)
def test_boards_make_the_clock(name, ratio, cell):
    """An ECP5 any, an iCE40 twice its own; where there is none the domain is that of the main
    clock."""
    board = open_board(name)
    soc = board.make_soc(package=PACKAGE, preset="sim", params={"own_clock": True, "ratio": ratio})
    platform = board.platform_class()()
    type(platform).required_tools = ()
    text = platform.prepare(BoardTop(board=board, soc=soc)).files["top.il"]
    text = text if isinstance(text, str) else text.decode()
    told = json.loads(zlib.decompress(soc.info[64:]))
    if cell is None:
        assert soc.domain is None and "2F" not in text and "domains" not in told
    else:
        assert cell in text and soc.domain_hz == soc.clock_hz * ratio // 4
        assert told["domains"] == {"array": soc.domain_hz}


@pytest.mark.parametrize(
    "name, ratio, message",
    [
        (
            "sync",
            2,
            "Name of a clock domain must be an identifier other than sync, boot, sdram and "
            "comb, not 'sync'",
        ),
        ("an array", 2, "Name of a clock domain must be an identifier"),
        (3, 2, "Name of a clock domain"),
        ("array", 0.01, "Ratio of clock domain array must be a number from 1/16 to 16, not 0.01"),
        ("array", "2", "Ratio of clock domain array must be a number from 1/16 to 16, not '2'"),
        ("array", True, "Ratio of clock domain array must be a number from 1/16 to 16, not True"),
    ],
)
def test_requests_are_checked(name, ratio, message):
    with pytest.raises(ValueError, match=message):
        DomainRequest(name, ratio)


def test_one_domain_at_most():
    class Asking(Engine):
        @staticmethod
        def domains(params):
            return params

    assert requested_domain(Engine, {}) is None and requested_domain(Asking, {}) is None
    assert requested_domain(Asking, {"array": 1.5}).ratio == Fraction(3, 2)
    for wrong in ({"a": 1, "b": 2}, ("array", 2)):
        with pytest.raises(
            ValueError, match="An engine may ask for one clock domain, name -> ratio, not"
        ):
            requested_domain(Asking, wrong)
