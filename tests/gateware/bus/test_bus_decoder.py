# SPDX-License-Identifier: BSD-2-Clause
import pytest
from amaranth.sim import Simulator

from quintet.gateware.bus.decoder import BusDecoder
from quintet.gateware.bus.soclib import wishbone


def plain(width, err=False, **changes):
    return wishbone.Signature(
        **{
            "addr_width": width,
            "data_width": 32,
            "granularity": 8,
            "features": {"err"} if err else (),
            **changes,
        }
    )


WINDOWS = {
    "low": (0, plain(20, err=True)),
    "high": (0x8000_0000, plain(10)),
    "next": (0x8000_1000, plain(4)),
}


def access(dut, ctx, address, *, write=False, value=0):
    """One classic cycle. Returns (data, "ack" or "err", clock cycles)."""

    async def run():
        bus = dut.bus
        ctx.set(bus.adr, address >> 2)
        ctx.set(bus.we, write)
        ctx.set(bus.dat_w, value)
        ctx.set(bus.sel, 0b1010)
        ctx.set(bus.cyc, 1)
        ctx.set(bus.stb, 1)
        for cycle in range(20):
            _, _, ack, err, data = await ctx.tick().sample(bus.ack, bus.err, bus.dat_r)
            if ack or err:
                ctx.set(bus.cyc, 0)
                ctx.set(bus.stb, 0)
                await ctx.tick()
                assert not (ack and err)
                return data, "ack" if ack else "err", cycle
        raise AssertionError("no answer")

    return run()


def slave(bus, data, seen, *, error=None):
    """Answers a cycle after it is asked; notes (address, write data, select) of writes."""

    async def process(ctx):
        answer = False
        async for _, _, cyc, stb, we, adr, dat_w, sel in ctx.tick().sample(
            bus.cyc, bus.stb, bus.we, bus.adr, bus.dat_w, bus.sel
        ):
            answer = bool(cyc and stb and not answer)
            fails = error is not None and adr == error
            ctx.set(bus.ack, answer and not fails)
            if hasattr(bus, "err"):
                ctx.set(bus.err, answer and fails)
            ctx.set(bus.dat_r, data ^ adr)
            if answer:
                seen.append((adr, dat_w, sel, we))

    return process


def run(script, windows=WINDOWS):
    dut = BusDecoder(windows=windows)
    seen = {name: [] for name in windows}

    async def testbench(ctx):
        await script(dut, ctx, seen)

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    for number, name in enumerate(windows):
        sim.add_process(slave(getattr(dut, name), 0x1000_0000 * (number + 1), seen[name], error=7))
    sim.add_testbench(testbench)
    sim.run()


def test_cycles_reach_the_slave_whose_window_it_is_and_no_other():
    async def script(dut, ctx, seen):
        assert await access(dut, ctx, 0x14) == (0x1000_0005, "ack", 2)
        assert await access(dut, ctx, 0x3F_FFFC) == (0x100F_FFFF, "ack", 2)
        assert await access(dut, ctx, 0x8000_0FFC) == (0x2000_03FF, "ack", 2)
        assert await access(dut, ctx, 0x8000_1004, write=True, value=0x89AB_CDEF) == (
            0x3000_0001,
            "ack",
            2,
        )
        assert [len(seen[name]) for name in WINDOWS] == [2, 1, 1]
        assert seen["next"] == [(1, 0x89AB_CDEF, 0b1010, 1)]

    run(script)


@pytest.mark.parametrize("address", [0x40_0000, 0x7FFF_FFFC, 0x8000_1040, 0x8000_2000, 0xFFFF_FFFC])
def test_a_cycle_for_nobody_ends_with_err(address):
    async def script(dut, ctx, seen):
        assert (await access(dut, ctx, address))[1:] == ("err", 1)
        assert not any(seen.values())
        assert await access(dut, ctx, 0) == (0x1000_0000, "ack", 2)

    run(script)


def test_err_of_a_slave_passes():
    async def script(dut, ctx, seen):
        assert (await access(dut, ctx, 4 * 7))[1] == "err"
        assert (await access(dut, ctx, 4 * 8))[1] == "ack"

    run(script)


def test_one_window_may_be_everything():
    async def script(dut, ctx, seen):
        assert (await access(dut, ctx, 0xFFFF_FFFC))[1] == "ack"

    run(script, {"all": (0, plain(30))})


@pytest.mark.parametrize(
    "windows, message",
    [
        ({"bus": (0, plain(4))}, "Name of a window must be a new one, not 'bus'"),
        ({"a": (0, plain(4, data_width=16))}, "Slave a must have 32 data bits, granularity 8"),
        (
            {"a": (32, plain(4))},
            "Base of a must be a multiple of its 64 bytes below 2\\^32, not 32",
        ),
        (
            {"a": ("0", plain(4))},
            "Base of a must be a multiple of its 64 bytes below 2\\^32, not '0'",
        ),
        ({"a": (0, plain(8)), "b": (0x40, plain(4))}, "Windows of a and b overlap"),
    ],
)
def test_arguments(windows, message):
    with pytest.raises(ValueError, match=message):
        BusDecoder(windows=windows)
