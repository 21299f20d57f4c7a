# SPDX-License-Identifier: BSD-2-Clause
import random
import struct
import zlib

import pytest

from quintet.gateware.link.protocol import INFO_ADDRESS, Operation
from quintet.tools.link.client import LinkClient
from quintet.tools.link.crc import combine
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.errors import BoardError, LinkError
from quintet.tools.link.frames import Decoder, Request, cobs_decode, cobs_encode
from tests.tools.link.fake_pipe import FakePipe

CONTROL = 0x8000_0000


def header(version=2, control_size=4096):
    return struct.pack(
        "<4sHH4s9I16s",
        b"QNTT",
        version,
        16,
        b"TEST",
        1,
        0,
        1 << 16,
        CONTROL,
        control_size,
        0x8001_0000,
        0,
        0,
        80_000_000,
        b"model",
    )


class Board(DeviceModel):
    """64 KiB of memory, a control block without a core, an info header. ``log``: what was written,
    in order."""

    def __init__(self, **arguments):
        self.memory = WordMemory(1 << 16)
        self.memory.data[:] = random.Random(1).randbytes(1 << 16)
        self.control = WordMemory(4096, CONTROL)
        self.rom = WordMemory(64, INFO_ADDRESS)
        self.rom.data[:] = header()
        self.log = []
        super().__init__([self.memory, self.control, self.rom], **arguments)

    def _write(self, address, data):
        self.log.append((address, data))
        return super()._write(address, data)


def client(board=None, **arguments):
    pipe_arguments = {
        name: arguments.pop(name)
        for name in ("rate", "spoil", "seed", "line_rate")
        if name in arguments
    }
    pipe = FakePipe(board or Board(), **pipe_arguments)
    return LinkClient(pipe, seed=3, **arguments)


def test_calls():
    link = client()
    memory = link.pipe.device.memory.data
    assert link.identify() == header()
    image = random.Random(2).randbytes(5000)
    link.write(0x123, image)
    assert memory[0x123 : 0x123 + 5000] == image
    assert link.read(0x100, 6000) == memory[0x100 : 0x100 + 6000]
    for address, size in ((0, 1 << 16), (1, 65535), (77, 1000), (5, 0)):
        assert link.checksum(address, size) == zlib.crc32(memory[address : address + size])
    assert link.read(0, 0) == b"" and link.repeats == 0
    link.write(0, b"")
    link.write_word(CONTROL + 0x28, 0x1234_5678)
    assert link.read_word(CONTROL + 0x28) == 0x1234_5678
    link.reset_core()
    assert link.pipe.device.log[-1] == (CONTROL + 0x10, b"\4\0\0\0")


@pytest.mark.parametrize("call", ["read", "write"])
def test_bulk_fills_the_line(call):
    link = client()
    link.identify()
    start = link.pipe.now()
    link.read(0, 1 << 14) if call == "read" else link.write(0, bytes(range(256)) * 64)
    assert (1 << 14) / 300_000 / (link.pipe.now() - start) >= 0.95


def test_progress():
    seen = []
    client().write(0, bytes(3000), progress=seen.append)
    assert seen[-1] == 3000 and seen == sorted(seen) and len(seen) == 6


def test_silence_is_an_error_that_says_what_was_waited_for():
    link = client(timeout=1.5)
    link.pipe.alive = False
    start = link.pipe.now()
    with pytest.raises(
        LinkError, match=r"no answer to identify from fake for 1\.5 s \(\d+ tries\)"
    ):
        link.read(0, 4)
    assert link.pipe.now() - start <= 1.6
    link.pipe.alive = True
    link.identify()
    link.pipe.alive = False
    start = link.pipe.now()
    with pytest.raises(
        LinkError, match=r"to the write of 512 bytes at 0x00000100 for 1\.5 s .* 0 of 600 bytes"
    ):
        link.write(0x100, bytes(600))
    assert link.pipe.now() - start <= 1.6
    link.pipe.alive = True
    link.write(0x100, bytes(600))
    assert link.read(0x100, 600) == bytes(600)


def test_bus_error():
    link = client()
    with pytest.raises(
        BoardError, match="bus error at 0x00010000, in the read of 1024 bytes at 0x0000fe00"
    ) as caught:
        link.read(0xE00 + 0xF000 - 1024, 8192)
    assert caught.value.address == 0x10000
    with pytest.raises(BoardError, match="write of 512 bytes"):
        link.write(0xFF00, bytes(2000))
    # Nothing behind the failure was executed.
    assert max(address for address, _ in link.pipe.device.log) == 0xFF00
    assert link.read(0, 4) == link.pipe.device.memory.data[:4]


def test_no_board_and_no_info_rom():
    board = Board()
    board.rom.data[:4] = b"MPTY"
    with pytest.raises(LinkError, match="no quintet board: .* 4d 50 54 59"):
        client(board).identify()
    board.rom.data[:] = header(version=3)
    with pytest.raises(
        LinkError, match="version 3 of the link protocol, this program versions 1 to 2"
    ):
        client(board).identify()
    board.rom.data[:] = header(control_size=0)
    with pytest.raises(LinkError, match="no core"):
        client(board).reset_core()
    board.regions.remove(board.rom)
    with pytest.raises(BoardError, match="info ROM: bus error at 0x80020000"):
        client(board).identify()


def test_core_that_stays_busy():
    board = Board()
    board.control.data[0x14] = 1
    with pytest.raises(LinkError, match="still busy"):
        client(board, timeout=0.2).reset_core()


def test_stopped_session_of_another_host():
    link = client()
    with pytest.raises(BoardError):
        link.read(0x20000, 4)
    other = LinkClient(link.pipe, seed=3)
    other._nonce = link._nonce - 1  # which makes it choose the same session byte
    assert other.identify() == header()


def test_another_host_takes_over():
    link = client()
    link.write(0, b"mine")
    other = LinkClient(link.pipe, seed=9)
    other.write(0, b"his!")
    link.write(0, b"mine")  # memory: opens a new session
    assert link.pipe.device.memory.data[:4] == b"mine"
    other.write(4, b"his!")
    with pytest.raises(
        LinkError, match="whether the write of 4 bytes at 0x80000010 was executed is not known"
    ):
        link.write_word(CONTROL + 0x10, 1)
    assert (CONTROL + 0x10, b"\1\0\0\0") not in link.pipe.device.log
    link.write_word(CONTROL + 0x10, 1)


def test_what_opening_cut_off_is_not_damaged():
    """The rest of an answer to another host, and the beginning of one; behind the first answer of
    our own they are."""
    board = Board()
    pipe = FakePipe(board)
    pipe._coming = [(0.0, piece) for piece in (b"\5rest of an answer\0", b"\7beg\0")]
    made = LinkClient(pipe)
    made.identify()
    assert (made.damaged, made.repeats) == (0, 0)
    pipe._coming.append((pipe.now(), b"\7beg\0"))
    made.identify()
    assert made.damaged == 1


def test_board_reset_in_between():
    link = client()
    link.write(0, b"mine")
    link.pipe.device.reset()
    assert link.read(0, 4) == b"mine"
    link.pipe.device.reset()
    with pytest.raises(LinkError, match="the board was reset"):
        link.write_word(CONTROL + 0x10, 1)


def faults(rate):
    def spoil(chance, data):
        if chance.random() >= rate:
            return [data]
        kind = chance.randrange(6)
        at = chance.randrange(len(data))
        return [
            [],
            [data, data],
            [data[:at]],
            [data[at:]],
            [chance.randbytes(chance.randrange(1, 40)), data],
            [data[:at], bytes([data[at] ^ 1 << chance.randrange(8)]), data[at + 1 :]],
        ][kind]

    return spoil


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_faults(rate, seed):
    """Registers are written exactly once and in order, memory holds what was written, reads are
    right."""
    board = Board()
    link = client(board, spoil=faults(rate), seed=seed, timeout=20, retry=0.02)
    chance = random.Random(seed)
    image = bytearray(board.memory.data)
    wanted = []
    for number in range(60):
        address, size = chance.randrange(60000), chance.choice([1, 4, 100, 3000, 5000])
        kind = chance.randrange(4)
        if kind == 0:
            data = chance.randbytes(size)
            link.write(address, data)
            image[address : address + size] = data
        elif kind == 1:
            assert link.read(address, size) == image[address : address + size]
        elif kind == 2:
            assert link.checksum(address, size) == zlib.crc32(image[address : address + size])
        else:
            link.write_word(CONTROL + 0x100, number)
            wanted.append((CONTROL + 0x100, struct.pack("<I", number)))
        assert board.memory.data == image
    assert [entry for entry in board.log if entry[0] >= CONTROL] == wanted
    assert link.repeats > 0


def test_slow_lines_carry_less_at_a_time():
    link = client(rate=11520)
    link.identify()
    assert link._window <= 11520 * 0.03 and link._chunk >= 16
    assert link.read(0, 3000) == link.pipe.device.memory.data[:3000]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda link: link.read(-1, 4), "address"),
        (lambda link: link.read(1 << 32, 4), "address"),
        (lambda link: link.read(0xFFFF_FFFF, 2), "size"),
        (lambda link: link.read(0, -1), "size"),
        (lambda link: link.write(0xFFFF_FFFF, b"12"), "size"),
        (lambda link: link.checksum(0, -1), "size"),
    ],
)
def test_bad_ranges(call, message):
    with pytest.raises(ValueError, match=message):
        call(client())


@pytest.mark.parametrize(
    "name, value",
    [
        ("timeout", 0),
        ("retry", -1),
        ("window", 0),
        ("checksum_rate", 0),
        ("chunk", 0),
        ("chunk", 513),
    ],
)
def test_bad_arguments(name, value):
    with pytest.raises(ValueError, match=name):
        client(**{name: value})


@pytest.mark.parametrize("size", [0, 1, 253, 254, 255, 256, 508, 509, 600])
def test_cobs(size):
    chance = random.Random(size)
    for zeros in (0, 0.01, 0.5, 1):
        for tail in (b"", b"\0", b"\1", b"\0\0"):
            data = (
                bytes(
                    0 if chance.random() < zeros else chance.randrange(1, 256) for _ in range(size)
                )
                + tail
            )
            encoded = cobs_encode(data)
            assert 0 not in encoded and cobs_decode(encoded) == data
            assert len(encoded) <= len(data) + 1 + len(data) // 254
    assert cobs_decode(b"\5abc") is None


def test_longest_write():
    """docs/how/link.md, "Request": 1,005 bytes whatever they are, 1,009 if zeros happen to lie
    well, never more."""

    def taken(data):
        board = DeviceModel([WordMemory(4096), WordMemory(64, INFO_ADDRESS)])
        session = Decoder().feed(
            board.feed(Request(Operation.IDENTIFY, length=64).encode(b"\1\0", 0))
        )[0][1:3]
        board.feed(Request(Operation.WRITE, 0, data=data).encode(session, 0))
        return board.regions[0].data[: len(data)] == data

    chance = random.Random(5)
    for _ in range(20):
        assert taken(bytes(chance.randrange(1, 256) for _ in range(1005)))
    lucky = b"\1" + bytes(1008)
    assert taken(lucky) and not taken(lucky + b"\0") and not taken(b"\1" * 1009)


def test_decoder_survives_noise():
    decoder = Decoder()
    decoder.feed(b"\7" * 1_000_000)
    assert len(decoder._rest) < 100_000
    decoder.feed(b"\0")
    good = Request(Operation.READ, 0, 4).encode(b"\1\1", 0)
    assert len(decoder.feed(good)) == 1 and decoder.damaged == 1


def test_crcs_combine():
    data = random.Random(4).randbytes(1000)
    for at in (0, 1, 3, 500, 999, 1000):
        assert combine(zlib.crc32(data[:at]), zlib.crc32(data[at:]), 1000 - at) == zlib.crc32(data)
