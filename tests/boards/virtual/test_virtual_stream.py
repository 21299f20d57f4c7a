# SPDX-License-Identifier: BSD-2-Clause
"""SDRAM bandwidth of a core on a whole board: through its arbiter, its guard, the SoC's arbiter
and the controller, with the core's function in a clock domain of its own."""

import random

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.gateware.info import CONTROL_BASE, parse_header, parse_info
from quintet.tools.link.client import LinkClient
from tests.support.stream_core import PACKAGE

LENGTH = 1 << 14
#: mode -> least per cent of the pins' peak, one beat of 16 bits a cycle; a copy turns the bus round
#: once in 64 beats.
BARS = {"read": (1, 97), "write": (2, 97), "copy": (3, 90)}


@pytest.fixture(scope="module")
def board():
    with open_virtual(
        "ulx3s-85f", PACKAGE, preset="sim", params={"own_clock": True, "ratio": 6}
    ) as board:
        board.pipe.sleep(0.00025)
        yield board


@pytest.mark.parametrize("name", BARS)
def test_streams_reach_the_peak(board, name):
    mode, least = BARS[name]
    link = LinkClient(board.pipe, seed=1)
    data = random.Random(mode).randbytes(LENGTH)
    link.write(0, data)
    target = 0x40_0400 + LENGTH * mode  # other rows of the same banks
    for offset, value in (
        (0x20, 0),
        (0x24, LENGTH),
        (0x100, target),
        (0x104, 0x69),
        (0x108, mode),
        (0x10, 1),
    ):
        link.write_word(CONTROL_BASE + offset, value)
    while link.read_word(CONTROL_BASE + 0x14) & 1:
        pass
    assert link.read_word(CONTROL_BASE + 0x14) == 2
    cycles = link.read_word(CONTROL_BASE + 0x80)
    beats = LENGTH // 2 * (2 if mode == 3 else 1)
    print(f"\n{name}: {beats} beats in {cycles} cycles, {100 * beats / cycles:.1f} %")
    assert 100 * beats / cycles >= least
    written = board.chip[target : target + LENGTH].tobytes()
    if mode == 2:
        assert written == b"\x69\0" * (LENGTH // 2)
    if mode == 3:
        assert written == bytes(b ^ 0x69 * (i % 2 == 0) for i, b in enumerate(data))


def test_the_info_text_names_the_clock(board):
    link = LinkClient(board.pipe, seed=2)
    info = parse_header(link.identify())
    text = parse_info(link.read(info.info_address, info.info_length))
    assert text["domains"] == {"array": 120_000_000} and text["clock_hz"] == 80_000_000
