# SPDX-License-Identifier: BSD-2-Clause
"""A virtual board that starts from flash memory: ready in time, and refusals after which it still
talks."""

import random

import pytest

from quintet.boards import open_board
from quintet.boards.virtual.board import FlashContents, VirtualBoard
from quintet.gateware.info import CONTROL_BASE, SOC_BASE
from quintet.gateware.isa.parameters import params_hash
from quintet.gateware.standalone.image import (
    BootReason,
    BootStatus,
    Segment,
    build_hash,
    pack,
)
from quintet.tools.link.client import LinkClient
from tests.support.tiny_core import PACKAGE

SOC_BOOT = SOC_BASE + 0x14
DATA = random.Random(4).randbytes(4096)
BUILD = build_hash("TINY", params_hash({"size": 4}))
SEGMENTS = (
    Segment(0x100, DATA),
    Segment(0x4000, b"abcd", 64),
    Segment(CONTROL_BASE + 0x20, b"\0\1\0\0\x40\0\0\0"),
)
IMAGE = pack(BUILD, SEGMENTS)


def _board(flash, name="icebreaker"):
    board = open_board(name)
    soc = board.make_soc(package=PACKAGE, preset="sim", family=None, boot=True)
    return VirtualBoard(board=board, soc=soc, flash=flash)


def _status(virtual):
    client = LinkClient(virtual.pipe, seed=1, timeout=0.25, retry=0.1)
    client.identify()
    while (status := client.read_word(SOC_BOOT)) & BootStatus.BUSY:
        virtual.pipe.sleep(1e-4)
    return client, status


@pytest.mark.parametrize("quad", [True, False], ids=["four lines", "one line"])
def test_board_with_flash_memories_of_several_makers(quad):
    """A ULX3S: the same bitstream reads on four lines, or on one where the chip does not take
    that."""
    with _board(FlashContents(IMAGE, quad=quad), "ulx3s-25f") as virtual:
        began = virtual.cycle
        virtual.pipe.sleep(virtual.soc.backing.powerup_ns * 1e-9)
        while not virtual.ready and virtual.cycle < began + 400_000:
            virtual.advance(64)
        client, status = _status(virtual)
        assert status == BootStatus.READY
        assert client.read(0x100, len(DATA)) == DATA
        assert client.read(0x4000, 256) == b"abcd" * 64
        # Eight clocks of four cycles a byte, or two.
        started = virtual.cycle - began
        assert (started > 32 * len(IMAGE)) == (not quad)


def test_image_is_in_memory_in_time():
    image = pack(BUILD, [Segment(0x100, DATA)])
    with _board(FlashContents(image)) as virtual:
        began = virtual.cycle
        while not virtual.ready and virtual.cycle < began + 60_000:
            virtual.advance(16)
        # 128 clocks of commands, dummies and pauses, then two clocks a byte; a clock is two cycles.
        spi = 2 * (128 + 2 * len(image))
        assert virtual.ready and virtual.cycle - began <= 1.05 * spi
        client, status = _status(virtual)
        assert status == BootStatus.READY
        assert client.read(0x100, len(DATA)) == DATA


def test_fills_and_registers():
    with _board(FlashContents(IMAGE)) as virtual:
        client, status = _status(virtual)
        assert status == BootStatus.READY
        assert client.read(0x4000, 256) == b"abcd" * 64
        assert client.read(CONTROL_BASE + 0x20, 8) == b"\0\1\0\0\x40\0\0\0"
        assert not virtual.blink and not virtual.fault


def _spoilt():
    image = bytearray(IMAGE)
    image[2000] ^= 4
    return bytes(image)


@pytest.mark.parametrize(
    "flash, reason",
    [
        (FlashContents(), BootReason.NO_IMAGE),
        (FlashContents(_spoilt()), BootReason.DAMAGED),
        (FlashContents(pack(BUILD ^ 1, SEGMENTS)), BootReason.BUILD),
        (FlashContents(IMAGE[:3] + b"\7" + IMAGE[4:]), BootReason.DAMAGED),
        (FlashContents(IMAGE, dies_after=1000), BootReason.DAMAGED),
        (FlashContents(pack(BUILD, [Segment(0x7000_0000, b"1234")])), BootReason.BUS),
    ],
    ids=["erased", "damaged", "another build", "damaged version", "power lost", "nowhere"],
)
def test_refused_image_leaves_a_board_that_talks(flash, reason):
    with _board(flash) as virtual:
        client, status = _status(virtual)
        assert status == BootStatus.REFUSED | int(reason) << 4
        assert not virtual.ready
        # The host loads it as any board.
        client.write(0x200, DATA)
        assert client.read(0x200, len(DATA)) == DATA
        client.write_word(CONTROL_BASE + 0x20, 0x200)
        assert client.read_word(CONTROL_BASE + 0x20) == 0x200


@pytest.mark.long
def test_reason_is_told_in_blinks():
    with _board(FlashContents(pack(BUILD ^ 1, SEGMENTS))) as virtual:
        _status(virtual)
        row = 8 << 22  # cycles: blinks of 2^21, as long apart
        step = 1 << 18
        lit = []
        for _ in range(2 * row // step):
            virtual.advance(step)
            lit.append(virtual.blink)
        blinks = sum(now and not before for before, now in zip(lit, lit[1:], strict=False))
        assert blinks == 2 * int(BootReason.BUILD)


def test_image_that_does_not_fit():
    with pytest.raises(ValueError, match="flash memory of icebreaker: an image of .* at 0x100000"):
        _board(FlashContents(bytes(16 << 20)))
