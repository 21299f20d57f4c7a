# SPDX-License-Identifier: BSD-2-Clause
"""The SPI slave at its pins: a host with a clock of its own, at any phase, that stops anywhere."""

import random

import pytest
from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from quintet.gateware.link.spi import SPILink
from quintet.gateware.link.spi_format import HEADER, MARK, MOST, SPACE_UNIT, SPI_HZ

#: Bytes of the queue to the SoC, and of that to the host: in block RAM, in flip-flops.
INWARD, OUTWARD, SMALL = 512, 256, 16
#: Half a period of the fastest host, in nanoseconds.
HALF = 5e8 / SPI_HZ


class Host:
    """Host and SoC of an :class:`SPILink` in simulation.

    ``taken``: bytes that the SoC has got, ``offered``: bytes that it has for the host;
    ``slow``: cycles that it needs for each byte it takes, ``None``: it takes none.
    """

    def __init__(self, *, main_hz, seed=1, jitter=0.0, small=False):
        self.link = SPILink(small=small)
        self.reset = Signal()
        self.random = random.Random(seed)
        self.main_hz, self.jitter = main_hz, jitter
        self.taken, self.offered, self.slow = [], [], 0

    async def soc(self, ctx):
        rest = 0
        while True:
            takes = self.slow is not None and rest == 0
            ctx.set(self.link.rx.ready, takes)
            offers = bool(self.offered)
            ctx.set(self.link.tx.valid, offers)
            ctx.set(self.link.tx.payload, self.offered[0] if offers else 0)
            *_, valid, byte, ready = await ctx.tick().sample(
                self.link.rx.valid, self.link.rx.payload, self.link.tx.ready
            )
            rest = max(0, rest - 1)
            if takes and valid:
                self.taken.append(byte)
                rest = self.slow
            if offers and ready:
                self.offered.pop(0)

    async def half(self, ctx):
        """Half a period of the host's clock, early or late by the jitter."""
        ns = HALF * (1 + self.jitter * (2 * self.random.random() - 1))
        await ctx.delay(ns * 1e-9)

    async def transfer(self, ctx, data, bits=None, stop_at=None):
        """Clocks ``bits`` of ``data`` (all of it); rests for a while before bit ``stop_at``.
        Returns the bytes that came, the last one perhaps in part."""
        pins = self.link.pins
        got = bytearray(len(data))
        assert not ctx.get(pins.cipo_oe)
        ctx.set(pins.cs, 1)
        for number in range(8 * len(data) if bits is None else bits):
            at, shift = number // 8, 7 - number % 8
            ctx.set(pins.copi, data[at] >> shift & 1)
            await self.half(ctx)
            if number == stop_at:
                await ctx.delay(7e-6)
            assert ctx.get(pins.cipo_oe)
            got[at] |= ctx.get(pins.cipo) << shift
            ctx.set(pins.sck, 1)
            await self.half(ctx)
            ctx.set(pins.sck, 0)
        await self.half(ctx)
        ctx.set(pins.cs, 0)
        await self.half(ctx)
        return bytes(got)

    async def exchange(self, ctx, data=b"", place=0, **how):
        """A whole transfer: bytes for the board, and ``place`` for its own; returns ``(space,
        bytes that waited, those of them that came)``."""
        size = HEADER + max(len(data), place)
        got = await self.transfer(
            ctx, (bytes((0, 0, len(data))) + data).ljust(size, b"\xa5"), **how
        )
        assert got[0] == MARK
        assert not any(got[HEADER + got[2] :])
        return SPACE_UNIT * got[1], got[2], got[HEADER : HEADER + got[2]]

    async def rest(self, ctx, us=5):
        await ctx.delay(us * 1e-6)

    def run(self, bench):
        simulator = Simulator(ResetInserter(self.reset)(self.link))
        period = 1 / self.main_hz
        simulator.add_clock(period, phase=self.random.random() * period)
        simulator.add_testbench(self.soc, background=True)
        simulator.add_testbench(bench)
        simulator.run()


def test_header_at_rest():
    host = Host(main_hz=24e6)

    async def bench(ctx):
        for _ in range(3):
            assert await host.exchange(ctx) == (2 * 255, 0, b"")
        assert not ctx.get(host.link.pins.ready)

    host.run(bench)


@pytest.mark.parametrize("main_hz", [8e6, 20e6, 24e6, 25e6, 80e6])
@pytest.mark.parametrize("jitter, small", [(0, False), (0.3, True)])
def test_bytes_both_ways(main_hz, jitter, small):
    """At 20 MHz from clocks slower and faster than that, at any phase: what goes in comes out, and
    nothing else."""
    host = Host(main_hz=main_hz, seed=int(main_hz), jitter=jitter, small=small)
    to_board, back = host.random.randbytes(400), host.random.randbytes(400)
    host.offered = list(back)
    came = bytearray()

    async def bench(ctx):
        left, space = to_board, 0
        while left or len(came) < len(back):
            part = left[: min(space, host.random.choice((0, 1, 20, MOST)))]
            place = host.random.choice((0, 1, 30, MOST))
            told, waited, here = await host.exchange(ctx, part, place)
            space, left = told - len(part), left[len(part) :]
            assert len(here) == min(waited, max(place, len(part)))
            came.extend(here)
        await host.rest(ctx)
        assert not ctx.get(host.link.pins.ready)

    host.run(bench)
    assert bytes(host.taken) == to_board and bytes(came) == back


@pytest.mark.parametrize("small", [False, True])
def test_selection_that_ends_at_any_bit(small):
    """A byte counts with its eighth rising edge, each way: none is lost, none comes twice."""
    host = Host(main_hz=24e6, small=small)
    bytes_of_transfer = HEADER + 3
    sent, came = bytearray(), bytearray()

    async def bench(ctx):
        for bits in range(8 * bytes_of_transfer + 1):
            data, answer = host.random.randbytes(3), host.random.randbytes(3)
            host.offered += answer
            await host.rest(ctx)
            got = await host.transfer(ctx, b"\0\0\3" + data, bits=bits)
            whole = max(0, bits // 8 - HEADER)
            sent.extend(data[:whole])
            came.extend(got[HEADER : HEADER + whole])
            _, waited, here = await host.exchange(ctx, place=8)
            assert waited == 3 - whole, bits
            came.extend(here)
            assert bytes(came[-3:]) == answer, bits

    host.run(bench)
    assert host.taken == list(sent) and len(came) == 3 * (8 * bytes_of_transfer + 1)


def test_clock_that_stops_at_any_bit():
    host = Host(main_hz=20e6)
    came, sent = bytearray(), bytearray()

    async def bench(ctx):
        for stop_at in range(8 * (HEADER + 2)):
            data, answer = host.random.randbytes(2), host.random.randbytes(2)
            host.offered += answer
            await host.rest(ctx, 2)
            _, waited, here = await host.exchange(ctx, data, stop_at=stop_at)
            assert waited == 2, stop_at
            sent.extend(data)
            came.extend(here)
            assert here == answer, stop_at
        await host.rest(ctx)

    host.run(bench)
    assert host.taken == list(sent)


def test_bytes_without_space_are_dropped():
    """A host that ignores the space loses what is beyond it, and nothing of what it sends when
    there is space again."""
    host = Host(main_hz=24e6)
    host.slow = None
    data = host.random.randbytes(3 * MOST)

    async def bench(ctx):
        for part in range(3):
            await host.exchange(ctx, data[part * MOST : (part + 1) * MOST])
        assert (await host.exchange(ctx))[0] == 0
        host.slow = 0
        await host.rest(ctx, 100)
        assert (await host.exchange(ctx, b"again"))[0] == 2 * 255
        await host.rest(ctx)

    host.run(bench)
    # One byte waits at the SoC beside those in the queue.
    kept = len(host.taken) - len(b"again")
    assert kept == INWARD + 1
    assert bytes(host.taken) == data[:kept] + b"again"


def test_space_that_was_told_is_there():
    """The SoC takes its time for each byte."""
    host = Host(main_hz=24e6)
    host.slow = 40
    data = host.random.randbytes(1200)
    spaces = []

    async def bench(ctx):
        left = data
        while left:
            space, _, _ = await host.exchange(ctx)
            spaces.append(space)
            part, left = left[: min(space, MOST)], left[min(space, MOST) :]
            await host.exchange(ctx, part)
        await host.rest(ctx, 1200)

    host.run(bench)
    assert bytes(host.taken) == data and min(spaces) < MOST


@pytest.mark.parametrize("small", [False, True])
def test_answers_wait_in_the_queue(small):
    """The SoC is held up when the queue to the host is full, and nothing is lost."""
    host = Host(main_hz=24e6, small=small)
    data = host.random.randbytes(350)
    host.offered = list(data)
    came = bytearray()

    async def bench(ctx):
        await host.rest(ctx, 100)
        assert len(host.offered) == len(data) - (SMALL if small else OUTWARD)
        assert ctx.get(host.link.pins.ready)
        while len(came) < len(data):
            came.extend((await host.exchange(ctx, place=MOST))[2])
        await host.rest(ctx)
        assert not ctx.get(host.link.pins.ready)

    host.run(bench)
    assert bytes(came) == data


def test_reset_of_the_soc_moves_no_queue():
    host = Host(main_hz=24e6)
    host.slow = None

    async def bench(ctx):
        await host.exchange(ctx, b"kept")
        host.offered = list(b"waits")
        await host.rest(ctx)
        ctx.set(host.reset, 1)
        await host.rest(ctx)
        ctx.set(host.reset, 0)
        host.slow = 0
        assert (await host.exchange(ctx, b" and more", MOST))[1:] == (5, b"waits")
        await host.rest(ctx)

    host.run(bench)
    assert bytes(host.taken) == b"kept and more"
