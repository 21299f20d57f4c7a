# SPDX-License-Identifier: BSD-2-Clause
"""Plan images: packed and read, with every byte damaged."""

import random

import pytest

from quintet.gateware.standalone.image import (
    BootReason,
    ImageError,
    Segment,
    build_hash,
    pack,
    regions,
    unpack,
)

BUILD = build_hash("OTPU", 0x1234)
SEGMENTS = (
    Segment(0x40, random.Random(1).randbytes(3900)),
    Segment(0x8000, b"\0\0\0\0", 100),
    Segment(0x8000_0020, bytes(range(8))),
)
IMAGE = pack(BUILD, SEGMENTS)


def test_what_is_packed_is_read():
    image = unpack(IMAGE, BUILD)
    assert image.build == BUILD and image.segments == SEGMENTS
    assert unpack(IMAGE + b"\xff" * 100).segments == SEGMENTS, "what lies behind is not read"


def test_every_damaged_byte_is_found():
    """Of a 4 KiB image, every byte with every other value of two bits and some more."""
    image = pack(BUILD, [Segment(0x40, random.Random(2).randbytes(4096 - 12 - 12 - 4 - 12))])
    assert len(image) == 4096
    draw = random.Random(3)
    for at in range(len(image)):
        for change in (1, 0x80, 0xFF, draw.randrange(1, 256)):
            spoilt = bytearray(image)
            spoilt[at] ^= change
            with pytest.raises(ImageError) as caught:
                unpack(bytes(spoilt), BUILD)
            assert caught.value.reason in (BootReason.DAMAGED, BootReason.NO_IMAGE), at


@pytest.mark.parametrize("end", [0, 2, 3, 11, 12, 16, 23, 24, 100, len(IMAGE) - 1])
def test_image_that_is_cut_off(end):
    with pytest.raises(ImageError, match="plan image: "):
        unpack(IMAGE[:end], BUILD)


def test_image_of_another_build():
    with pytest.raises(ImageError, match="plan image for build .*: expected 00000007") as caught:
        unpack(IMAGE, 7)
    assert caught.value.reason == BootReason.BUILD


def test_image_of_another_version(monkeypatch):
    monkeypatch.setattr("quintet.gateware.standalone.image.VERSION", 9)
    other = pack(BUILD, SEGMENTS)
    monkeypatch.undo()
    with pytest.raises(ImageError, match="plan image of version 9: expected 2"):
        unpack(other)


@pytest.mark.parametrize(
    "segment, message",
    [
        (Segment(2, bytes(4)), "segment at 0x2 of 4 bytes: expected whole words"),
        (Segment(0, bytes(6)), "segment at 0x0 of 6 bytes: expected whole words"),
        (Segment(0, b""), "segment at 0x0 of 0 bytes: expected whole words, one or more"),
        (Segment(0, bytes(8), 2), "segment at 0x0: expected one word to repeat, found 8 bytes"),
        (Segment(4, bytes(4), 1 << 29), "segment at 0x4 of 2147483648 bytes: expected one that en"),
    ],
)
def test_segments_that_cannot_be_packed(segment, message):
    with pytest.raises(ValueError, match=message):
        pack(BUILD, [segment])


def test_regions_are_rounded_to_words_and_filled():
    memory = bytearray(range(1, 201)) + bytes(400)
    found = regions(bytes(memory), [(5, 9), (9, 10), (180, 520), (101, 102)])
    assert [(s.address, s.size, s.repeat) for s in found] == [
        (4, 8, 1),
        (100, 4, 1),
        (180, 20, 1),
        (200, 320, 80),
    ]
    assert found[0].data == bytes(memory[4:12])
