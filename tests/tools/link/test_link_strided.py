# SPDX-License-Identifier: BSD-2-Clause
"""Strided calls of the client: shapes, boards without strided requests, bytes on the line, what is
refused."""

import random
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.link.protocol import MAX_RUN, Operation, step_of, stride_of
from quintet.tools.link.access import Access
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.errors import BoardError, LinkError
from quintet.tools.link.frames import Decoder, Request
from tests.tools.link.test_link_client import CONTROL, Board, client, faults, header

SIZE = 1 << 16


class Counted(Board):
    """``kinds``: operations of the requests that it was sent; ``requests``: their contents but for
    session and number."""

    def __init__(self, version=2, **arguments):
        super().__init__(**arguments)
        self.kinds, self.requests = [], []
        self.rom.data[:] = header(version)

    def _request(self, contents):
        self.kinds.append(contents[0])
        self.requests.append(contents[:1] + contents[4:])
        return super()._request(contents)


def places(address, run, stride, count):
    return [address + n * stride + at for n in range(count) for at in range(run)]


shapes = st.tuples(
    st.integers(0, 3000),
    st.one_of(st.integers(1, 12), st.integers(250, 260), st.integers(1, 1100)),
    st.one_of(st.integers(0, 9), st.integers(0, 1500)),
    st.integers(0, 12),
)


@settings(max_examples=100, deadline=None)
@given(shapes, st.sampled_from([1, 2]), st.sampled_from([16, 100, 512]), st.integers(0, 1 << 30))
def test_shapes(shape, version, chunk, seed):
    """Runs of any length at any address: memory is what it was, but for them."""
    address, run, gap, count = shape
    board = Counted(version)
    link = client(board, chunk=chunk, line_rate=False)
    where = places(address, run, run + gap, count)
    data = random.Random(seed).randbytes(len(where))
    image = bytearray(board.memory.data)
    link.write(address, data, run, run + gap)
    for place, byte in zip(where, data, strict=True):
        image[place] = byte
    assert board.memory.data == image
    assert link.read(address, run * count, run, run + gap) == data
    assert link.checksum(address, run * count, run, run + gap) == zlib.crc32(data)
    assert version == 2 or max(board.kinds, default=0) < Operation.FILL


@settings(max_examples=100, deadline=None)
@given(
    shapes,
    st.sampled_from([1, 2]),
    st.one_of(st.integers(0, 255), st.binary(min_size=1, max_size=5)),
)
def test_fills(shape, version, value):
    """The pattern begins anew with each run."""
    address, run, gap, count = shape
    board = Counted(version)
    image = bytearray(board.memory.data)
    client(board, line_rate=False).fill(address, run, value, stride=run + gap, count=count)
    pattern = bytes([value]) if isinstance(value, int) else value
    for number in range(count):
        start = address + number * (run + gap)
        image[start : start + run] = (pattern * run)[:run]
    assert board.memory.data == image
    assert version == 2 or max(board.kinds, default=0) < Operation.FILL


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=6)), max_size=8),
    st.sampled_from([1, 2]),
)
def test_pieces_in_order(pieces, version):
    """Those in a row of one length at one distance, forward or back, are one request; of several
    that overlap the last one stays."""
    board = Counted(version)
    link, image = client(board, line_rate=False), bytearray(board.memory.data)
    link.identify()
    link.transfer([Access(address, data=data) for address, data in pieces])
    for address, data in pieces:
        image[address : address + len(data)] = data
    assert board.memory.data == image
    board.kinds.clear()
    link.transfer(
        [
            Access(96, data=b"1234"),
            Access(64, data=b"5678"),
            Access(32, data=b"9abc"),
            Access(40, data=b"defg"),
        ]
    )
    assert board.kinds == (
        [Operation.WRITE_STRIDED, Operation.WRITE] if version == 2 else [Operation.WRITE] * 4
    )
    link.transfer([Access(0, data=b"1234"), Access(40_000, data=b"5678")])
    assert board.kinds[-2:] == [Operation.WRITE] * 2


def test_shape_of_frames():
    for run in (1, 3, 4, 5, 255, 256):
        for stride in (run, run + 1, run + 500, 32_767):
            assert stride_of(run, step_of(run, stride)) == stride
    assert (
        step_of(1, 32_775) == 0x7FFF
        and step_of(1, 32_776) is None
        and step_of(1, -32_760) == -0x8000
        and step_of(1, -32_761) is None
    )


def test_requests_of_accesses():
    """Byte for byte, of a call with one access and with several."""
    board = Counted()
    link = client(board, line_rate=False)
    link.identify()
    data = random.Random(1).randbytes(600)
    word = data[:4]
    cases = [
        (
            [Access(7, data=data)],
            [
                Request(Operation.WRITE, 7, data=data[:512]),
                Request(Operation.WRITE, 519, data=data[512:]),
            ],
        ),
        (
            [Access(7, data=data, run=6, stride=20)],
            [
                Request(Operation.WRITE_STRIDED, 7, data=data[:510], run=6, stride=20),
                Request(Operation.WRITE_STRIDED, 1707, data=data[510:], run=6, stride=20),
            ],
        ),
        (
            [*(Access(at, data=word) for at in (96, 64, 32)), Access(40, data=b""), Access(0, 0)],
            None,
        ),
        (
            [*(Access(at, data=word) for at in (96, 64, 32)), Access(40, data=b"")],
            [Request(Operation.WRITE_STRIDED, 96, data=3 * word, run=4, stride=-32)],
        ),
        # Accesses in runs keep requests of their own.
        (
            [Access(at, data=word, run=4, stride=8) for at in (0, 8)],
            [Request(Operation.WRITE, at, data=word) for at in (0, 8)],
        ),
        (
            [Access(5, 1200), Access(9, 90, 3, 11), Access(100, 0), Access(64, 12, 4, 4)],
            [
                Request(Operation.READ, 5, 1024),
                Request(Operation.READ, 1029, 176),
                Request(Operation.READ_STRIDED, 9, 90, run=3, stride=11),
                Request(Operation.READ, 64, 12),
            ],
        ),
    ]
    for accesses, requests in cases:
        board.requests.clear()
        if requests is None:
            with pytest.raises(ValueError, match="accesses: expected reads or writes, found both"):
                link.transfer(accesses)
            assert not board.requests
            continue
        link.transfer(accesses)
        (*expected,) = (Decoder().feed(request.encode(b"--", 0))[0] for request in requests)
        assert board.requests == [contents[:1] + contents[4:] for contents in expected]


def test_requests_carry_many_runs():
    board = Counted()
    link = client(board, line_rate=False)
    link.write(0, bytes(1024 * 3), 3, 64)
    assert board.kinds == [Operation.IDENTIFY] + [Operation.WRITE_STRIDED] * 7
    board.kinds.clear()
    link.read(0, 3072, 3, 64)
    assert board.kinds == [Operation.READ_STRIDED] * 4
    board.kinds.clear()
    link.fill(0, SIZE, 7)
    assert board.kinds == [Operation.FILL] * 8 and board.memory.data == b"\7" * SIZE
    board.kinds.clear()
    # Runs that touch, a single one, and those that no frame takes several of are plain.
    link.write(0, bytes(64), 8, 8)
    link.write(0, bytes(8), 8, 100)
    link.write(0, bytes(2 * MAX_RUN + 2), MAX_RUN + 1, 1000)
    link.write(0, b"ab", 1, 40_000)
    assert board.kinds == [Operation.WRITE] * (1 + 1 + 2 + 2)


@pytest.mark.parametrize(
    "run, stride, count",
    [
        (3, 64, 1024),
        (1, 16, 1000),
        (5, 8, 500),
        (16, 33, 100),
        (64, 100, 64),
        (256, 300, 20),
        (300, 512, 20),
    ],
)
def test_bytes_on_the_line(run, stride, count):
    """docs/how/link.md, "Measured": an input takes at most 1.1 times its bytes and 64 to the board,
    and so does an output back."""
    board = Board()
    link = client(board)
    link.identify()
    data, sent = random.Random(run).randbytes(run * count), link.pipe.sent
    link.write(1, data, run, stride)
    there = link.pipe.sent - sent
    got = link.pipe.received
    assert link.read(1, run * count, run, stride) == data
    back = link.pipe.received - got
    print(
        f"\n{count} runs of {run} bytes, {stride} apart: {len(data)} bytes are {there} to the "
        f"board, {back} back"
    )
    assert there <= 1.1 * len(data) + 64 and back <= 1.1 * len(data) + 64


def test_strided_fills_the_line():
    link = client()
    link.identify()
    start = link.pipe.now()
    link.write(0, bytes(range(256)) * 12, 3, 64)
    assert 3072 / 300_000 / (link.pipe.now() - start) >= 0.9


def test_progress():
    seen = []
    link = client(line_rate=False)
    link.write(0, bytes(3000), 3, 64, progress=seen.append)
    assert seen[-1] == 3000 and seen == sorted(seen) and len(seen) == 6
    seen.clear()
    link.fill(0, 20_000, progress=seen.append)
    assert seen == [8192, 16384, 20_000]


def test_bus_errors_name_the_runs():
    link = client()
    with pytest.raises(
        BoardError,
        match=(
            "bus error at 0x00010000, in the write of 30 bytes in runs of 3, 64 apart, at "
            "0x0000ff00"
        ),
    ):
        link.write(0xFF00, bytes(30), 3, 64)
    with pytest.raises(
        BoardError, match="in the read of 30 bytes in runs of 3, 64 apart, at 0x0000ff00"
    ):
        link.read(0xFF00, 30, 3, 64)
    with pytest.raises(BoardError, match="in the fill of 512 bytes at 0x0000ff00"):
        link.fill(0xFF00, 512)


def test_lost_runs_of_registers_are_not_written_again():
    link = client()
    link.identify()
    link.write(0, b"mine")
    link.pipe.device.reset()
    with pytest.raises(
        LinkError,
        match=(
            "whether the write of 2 bytes in runs of 1, 4 apart, at 0x80000100 was executed is "
            "not known"
        ),
    ):
        link.write(CONTROL + 0x100, b"ab", 1, 4)
    link.write(0, b"mine")
    link.pipe.device.reset()
    link.write(0, b"ab", 1, 4)  # memory: opens a new session
    assert link.read(0, 2, 1, 4) == b"ab"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda link: link.write(0, b"abc", 0, 4), "run = 0: expected 1 or more"),
        (
            lambda link: link.write(0, b"abc", 2, 4),
            "size = 3: expected a whole number of runs of 2",
        ),
        (lambda link: link.write(0, b"abcd", 2, 1), "stride = 1: expected 2 or more"),
        (
            lambda link: link.write(-1, b"abcd", 2, 4),
            "address = -0x1: expected 0 to 0xffffffff",
        ),
        (
            lambda link: link.write(0xFFFF_FFF0, bytes(8), 2, 8),
            "size = 26: expected 0 to 16 at address 0xfffffff0",
        ),
        (lambda link: link.read(0, 6, 2, 1), "stride = 1: expected 2 or more"),
        (lambda link: link.read(0, -2, 2, 4), "count = -1: expected 0 or more"),
        (lambda link: link.checksum(0, -1, -1, 4), "run = -1: expected 1 or more"),
        (lambda link: link.fill(0, -1), "size = -1: expected 0 to"),
        (lambda link: link.fill(0, 4, stride=3, count=2), "stride = 3: expected 4 or more"),
        (lambda link: link.fill(0, 4, count=-1), "count = -1: expected 0 or more"),
        (lambda link: link.fill(0, 4, 256), "value = 256: expected a byte, 0 to 255, or bytes"),
        (
            lambda link: link.fill(0, 4, b""),
            "value = b'': expected a byte, 0 to 255, or at least one byte",
        ),
    ],
)
def test_bad_runs(call, message):
    board = Board()
    with pytest.raises(ValueError, match=message):
        call(client(board))
    assert board.log == []


def test_numpy_value():
    link = client()
    link.fill(5, 3, np.uint8(9))
    assert link.read(5, 3) == b"\11\11\11"


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(2))
def test_faults(rate, seed):
    board = Board()
    link = client(board, spoil=faults(rate), seed=seed, timeout=20, retry=0.02)
    chance = random.Random(seed)
    image = bytearray(board.memory.data)
    for number in range(60):
        address, run, count = (
            chance.randrange(2000),
            chance.choice([1, 3, 17, 200]),
            chance.randrange(1, 90),
        )
        stride = run + chance.randrange(100)
        where = places(address, run, stride, count)
        kind = chance.randrange(4)
        if kind == 0:
            data = chance.randbytes(len(where))
            link.write(address, data, run, stride)
        elif kind == 1:
            data = bytes([number]) * len(where)
            link.fill(address, run, number, stride=stride, count=count)
        else:
            data = bytes(image[place] for place in where)
            if kind == 2:
                assert link.read(address, run * count, run, stride) == data
            else:
                assert link.checksum(address, run * count, run, stride) == zlib.crc32(data)
        for place, byte in zip(where, data, strict=True):
            image[place] = byte
        assert board.memory.data == image
    assert link.repeats > 0


def test_bad_request_is_told():
    """A board whose header promises more than it takes."""

    class Old(Board):
        def _request(self, contents):
            return super()._request(
                bytes([8 | contents[0]]) + contents[1:]
                if contents[0] >= Operation.FILL
                else contents
            )

    with pytest.raises(LinkError, match="the board does not know the request: fill of 8 bytes"):
        client(Old()).fill(0, 8)


def test_model_runs_as_the_words_say():
    """The model's own order of runs: a later one lies on an earlier one; one goes backwards."""
    memory = WordMemory(64)
    model = DeviceModel([memory])
    assert list(model._runs(8, 7, 3, 2)) == [(8, 3), (10, 3), (12, 1)]
    assert list(model._runs(4, 6, 2, -8)) == [(4, 2), (0xFFFF_FFFC, 2), (0xFFFF_FFF4, 2)]
