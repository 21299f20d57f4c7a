# SPDX-License-Identifier: BSD-2-Clause
"""The link through its UART, wire by wire, at 3 Mbaud."""

import random

import pytest

from quintet.tools.link.client import LinkClient
from quintet.tools.measure.link.bench import BenchPipe
from quintet.tools.measure.link.rates import BAUD, HEADER, open_wire, wire_shares


def check_bulk(bench, link, size):
    """Payload over line rate, to the board and back."""
    to_board, back = wire_shares(link, size)
    print(
        f"\n{size} bytes at {bench.clock_hz / 1e6:g} MHz: to the board {to_board:.1%}, back "
        f"{back:.1%} of the line rate"
    )
    assert to_board >= 0.95 and back >= 0.95


@pytest.mark.parametrize("clock_hz", [24_000_000, 80_000_000])
def test_bulk_16k(clock_hz):
    bench, link = open_wire(clock_hz)
    with bench:
        check_bulk(bench, link, 1 << 14)


@pytest.mark.long
@pytest.mark.parametrize("clock_hz", [24_000_000, 80_000_000])
def test_bulk_256k(clock_hz):
    bench, link = open_wire(clock_hz)
    with bench:
        check_bulk(bench, link, 1 << 18)


@pytest.mark.parametrize("error", [-0.02, 0.02])
def test_host_with_another_rate(error):
    """The host's UART is two percent off."""
    bench, link = open_wire(24_000_000, line_baud=BAUD * (1 + error))
    with bench:
        data = random.Random(1).randbytes(2000)
        link.write(3, data)
        assert link.read(3, 2000) == data


def test_dead_host_leaves_the_board_free_within_100_ms():
    bench, link = open_wire(24_000_000)
    with bench:

        def die(done):
            raise InterruptedError

        for call in (
            lambda: link.read(0, 40_000, progress=die),
            lambda: link.write(0, bytes(40_000), progress=die),
        ):
            with pytest.raises(InterruptedError):
                call()
            newcomer = LinkClient(BenchPipe(bench, rate=BAUD / 10), seed=7)
            bench.push(b"\x55" * 100)  # a frame cut in the middle
            started = newcomer.pipe.now()
            assert newcomer.identify() == HEADER
            assert newcomer.pipe.now() - started < 0.1
