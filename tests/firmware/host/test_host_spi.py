# SPDX-License-Identifier: BSD-2-Clause
"""The C host's port for SPI against a model of the board's side, and on a virtual board's wires."""

import ctypes
import random
import subprocess

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.tools.link.client import LinkClient
from quintet.tools.link.pipe import Pipe
from tests.firmware.host.library import HOST, WARNINGS, compilers
from tests.tools.link.test_spi_pipe import FakeBus, board

SOURCE = HOST / "examples" / "spi" / "quintet_spi.c"
_EXCHANGE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t
)
_NOW = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)


class _State(ctypes.Structure):
    _fields_ = [
        ("exchange", _EXCHANGE),
        ("now_ms", _NOW),
        ("user", ctypes.c_void_p),
        *((name, ctypes.c_uint16) for name in ("space", "first", "last")),
        ("came", ctypes.c_uint8 * 512),
    ]


class CPipe(Pipe):
    """The port as a pipe."""

    def __init__(self, library, bus):
        self.bus, self._c, self.name = bus, library, "spi in C"
        self.bytes_per_second = bus.hz / 8
        self._state = _State(_EXCHANGE(self._exchange), _NOW(self._now_ms))

    def _exchange(self, _, data, size):
        try:
            answer = self.bus.transfer(bytes(data[:size]))
        except OSError:
            return -1
        ctypes.memmove(data, answer, size)
        return 0

    def _now_ms(self, _):
        self.bus.wait(1e-7)  # the processor's own time
        return int(1000 * self.bus.now()) & 0xFFFF_FFFF

    def write(self, data):
        if self._c.quintet_spi_write(ctypes.byref(self._state), bytes(data), len(data)):
            raise OSError("the port failed")

    def read(self, limit, timeout):
        buffer = ctypes.create_string_buffer(limit)
        milliseconds = max(0, min(round(1000 * timeout), 1 << 31))
        got = self._c.quintet_spi_read(ctypes.byref(self._state), buffer, limit, milliseconds)
        if got < 0:
            raise OSError("the port failed")
        return buffer.raw[:got]

    def now(self):
        return self.bus.now()

    def sleep(self, seconds):
        self.bus.sleep(seconds)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    out = tmp_path_factory.mktemp("spi") / "spi.so"
    command = ["cc", *WARNINGS, "-O1", "-shared", "-fPIC", SOURCE, "-o", out]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(out))
    loaded.quintet_spi_write.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    loaded.quintet_spi_read.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_uint32,
    ]
    return loaded


@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("level", ["-Os", "-O3"])
def test_compiles_without_warnings(compiler, level, tmp_path):
    subprocess.run([compiler, *WARNINGS, level, "-c", SOURCE, "-o", tmp_path / "out.o"], check=True)


@pytest.mark.parametrize("slow", [0.0, 1e-6])
def test_frames_over_the_port(library, slow):
    bus = FakeBus(board(), slow=slow)
    client = LinkClient(CPipe(library, bus), seed=1)
    client.identify()
    data = random.Random(3).randbytes(3000)
    client.write(0x20, data)
    assert client.read(0x20, len(data)) == data and client.repeats == 0


def test_reads_in_pieces_and_timeouts(library):
    bus = FakeBus(board())
    pipe = CPipe(library, bus)
    bus.outward += bytes(range(40))
    assert pipe.read(5, 1) == bytes(range(5))
    assert b"".join(pipe.read(500, 1) for _ in range(3)) == bytes(range(5, 40))
    began = bus.time
    assert pipe.read(5, 0.02) == b"" and bus.time - began >= 0.019


def test_bytes_that_find_no_place_are_lost(library):
    """A board that has more to say than the buffer holds while the host only writes."""
    bus = FakeBus(board())
    pipe = CPipe(library, bus)
    bus.behind += random.Random(4).randbytes(1500)
    expected = bytes(bus.behind[:512])
    pipe.write(bytes(1500))
    assert pipe.read(512, 0) == expected


def test_no_board(library):
    pipe = CPipe(library, FakeBus(board(), mark=0))
    with pytest.raises(OSError, match="failed"):
        pipe.write(b"x")
    with pytest.raises(OSError, match="failed"):
        pipe.read(1, 0)


def test_on_a_virtual_boards_wires(library):
    with open_virtual("icebreaker", None, link="spi") as virtual:
        client = LinkClient(CPipe(library, virtual.spi), seed=1, timeout=0.25, retry=0.1)
        client.identify()
        data = random.Random(6).randbytes(900)
        client.write(1, data)
        assert client.read(1, len(data)) == data and client.repeats == 0
