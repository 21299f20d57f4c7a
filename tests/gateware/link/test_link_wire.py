# SPDX-License-Identifier: BSD-2-Clause
"""The link through its UART, wire by wire, at 3 Mbaud."""
import random

import pytest
from link_bench import Bench, BenchPipe
from test_link_faults import HEADER

from quintet.tools.link.client import LinkClient

BAUD = 3_000_000


def open_wire(clock_hz, **arguments):
    bench = Bench(wire=(clock_hz, BAUD), header=HEADER, **arguments)
    link = LinkClient(BenchPipe(bench, rate=BAUD / 10), seed=1)
    link.identify()
    return bench, link


def check_bulk(bench, link, size):
    """Payload over line rate, to the board and back; contents are checked."""
    data = random.Random(size).randbytes(size)
    shares = []
    for address in range(0, size, 1 << 16):
        piece = data[address:address + (1 << 16)]
        started = link.pipe.now()
        link.write(0, piece)
        written = link.pipe.now()
        assert link.read(0, len(piece)) == piece
        shares.append([len(piece) * 10 / BAUD / seconds for seconds in (written - started, link.pipe.now() - written)])
    assert link.repeats == 0
    print(f"\n{size} bytes at {bench.clock_hz / 1e6:g} MHz: to the board {min(s[0] for s in shares):.1%}, "
          f"back {min(s[1] for s in shares):.1%} of the line rate")
    for to_board, back in shares:
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
        for call in (lambda: link.read(0, 40_000, progress=die), lambda: link.write(0, bytes(40_000), progress=die)):
            with pytest.raises(InterruptedError):
                call()
            newcomer = LinkClient(BenchPipe(bench, rate=BAUD / 10), seed=7)
            bench.push(b"\x55" * 100)           # a frame cut in the middle
            started = newcomer.pipe.now()
            assert newcomer.identify() == HEADER
            assert newcomer.pipe.now() - started < 0.1
