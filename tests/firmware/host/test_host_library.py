# SPDX-License-Identifier: BSD-2-Clause
"""The C host library against the model of the board's side of the link."""

import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import zlib

import pytest

from quintet.tools.link.device_model import DeviceModel, WordMemory
from tests.firmware.host.library import (
    HOST,
    STATUSES,
    WARNINGS,
    CHost,
    HostError,
    compiled,
    compilers,
    load,
)
from tests.support.link_faults import Runs
from tests.tools.link.fake_pipe import FakePipe
from tests.tools.link.test_link_client import CONTROL, Board, faults, header

#: Data bytes of a request for which it is compiled: least, default and most.
CHUNKS = [64, 256, 512]


@pytest.fixture(scope="session", params=CHUNKS, ids="chunk{}".format)
def loaded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    return load(compiled(folder, flags=[f"-DQUINTET_CHUNK={request.param}"]))


@pytest.fixture(scope="session")
def default(tmp_path_factory):
    return load(compiled(tmp_path_factory.mktemp("host")))


def host(loaded, board=None, *, timeout_ms=2000, retry_ms=100, **pipe):
    return CHost(
        loaded, FakePipe(board or Board(), **pipe), timeout_ms=timeout_ms, retry_ms=retry_ms
    )


@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
def test_compiles_without_warnings(compiler, level, tmp_path):
    subprocess.run(
        [compiler, *WARNINGS, level, "-c", HOST / "quintet.c", "-o", tmp_path / "out.o"], check=True
    )


def test_header_is_one_of_cpp(tmp_path):
    source = tmp_path / "use.cpp"
    source.write_text('#include "quintet.h"\nint main() { return QUINTET_OK; }\n')
    subprocess.run(["c++", "-Wall", "-Werror", "-fsyntax-only", "-I", HOST, source], check=True)


@pytest.mark.parametrize(
    "flag, message",
    [
        ("-DQUINTET_CHUNK=63", "QUINTET_CHUNK: expected 64 to 512"),
        ("-DQUINTET_CHUNK=513", "QUINTET_CHUNK: expected 64 to 512"),
        ("-DQUINTET_WINDOW=0", "QUINTET_WINDOW: expected 1 to 100"),
        ("-DQUINTET_WINDOW=101", "QUINTET_WINDOW: expected 1 to 100"),
    ],
)
def test_sizes_out_of_range_do_not_compile(flag, message):
    done = subprocess.run(
        ["cc", "-fsyntax-only", flag, HOST / "quintet.c"], capture_output=True, text=True
    )
    assert done.returncode and message in done.stderr


def test_every_status_has_a_text(default):
    text = (HOST / "quintet.h").read_text()
    enum = re.search(r"enum quintet_status \{(.*?)\};", text, re.S)[1]
    names = [name.lower() for name in re.findall(r"^    QUINTET_(\w+)", enum, re.M)]
    assert names == STATUSES
    texts = [default.quintet_status_text(number).decode() for number in range(len(STATUSES))]
    assert len(set(texts)) == len(STATUSES) and "unknown status" not in texts
    assert default.quintet_status_text(len(STATUSES)) == b"unknown status"


def test_calls(loaded):
    link = host(loaded)
    memory = link.pipe.device.memory.data
    link.identify()
    info = link.info
    assert (info.version, info.isa, info.board) == (2, b"TEST", b"model")
    assert (info.memory_size, info.control_base, info.soc_base) == (1 << 16, CONTROL, 0x8001_0000)
    assert (info.params_hash, info.clock_hz) == (1, 80_000_000)
    image = random.Random(2).randbytes(5000)
    link.write(0x123, image)
    assert memory[0x123 : 0x123 + 5000] == image
    assert link.read(0x100, 6000) == memory[0x100 : 0x100 + 6000]
    for address, size in ((0, 1 << 16), (1, 65535), (77, 1000), (5, 0)):
        assert link.checksum(address, size) == zlib.crc32(memory[address : address + size])
    link.fill(3, 20_000, 0xA5)
    assert memory[2:3] + memory[20_003:20_004] != b"\xa5\xa5"
    assert memory[3:20_003] == b"\xa5" * 20_000
    assert link.read(0, 0) == b"" and link.repeats == 0
    link.write(0, b"")
    link.write_word(CONTROL + 0x28, 0x1234_5678)
    assert link.read_word(CONTROL + 0x28) == 0x1234_5678
    link.reset_core()
    assert link.pipe.device.log[-1] == (CONTROL + 0x10, b"\4\0\0\0")


@pytest.mark.parametrize("zeros", [0, 0.01, 0.5, 1])
def test_frames_of_any_contents(default, zeros):
    """Blocks of 254 bytes, zeros at their ends: every length around the limits of COBS."""
    link, chance = host(default), random.Random(int(zeros * 100))
    for size in (1, 240, 241, 242, 243, 244, 245, 246, 253, 254, 255, 256):
        data = bytes(
            0 if chance.random() < zeros else chance.randrange(1, 256) for _ in range(size)
        )
        link.write(0, data)
        assert link.pipe.device.memory.data[:size] == data
        assert link.read(0, size) == data
    assert link.repeats == 0


def test_crc(default):
    for size in (0, 1, 100):
        data = random.Random(size).randbytes(size)
        assert default.quintet_crc32(data, ctypes.c_size_t(size)) == zlib.crc32(data)


@pytest.mark.parametrize("seed", range(40))
def test_runs_of_any_shape(loaded, seed):
    """Memory is what it was, but for the runs."""
    chance = random.Random(seed)
    run = chance.choice([chance.randrange(1, 13), chance.randrange(250, 261), 64, 1100])
    stride = run + chance.choice([0, 1, 4, chance.randrange(1500)])
    count = chance.randrange(1, 12)
    address = chance.randrange(3000)
    board = Board()
    link = host(loaded, board)
    places = [address + n * stride + at for n in range(count) for at in range(run)]
    data, image = chance.randbytes(len(places)), bytearray(board.memory.data)
    link.write(address, data, run, stride)
    for place, byte in zip(places, data, strict=True):
        image[place] = byte
    assert board.memory.data == image
    assert link.read(address, run * count, run, stride) == data
    link.identify()
    assert link.read(address, run, run, 40_000) == data[:run]


def test_runs_too_far_apart_for_a_frame(default):
    link = host(default)
    link.write(5, b"abcd", 2, 40_000)
    memory = link.pipe.device.memory.data
    assert memory[5:7] + memory[40_005:40_007] == b"abcd"


@pytest.mark.parametrize(
    "run, stride, count", [(0, 4, 1), (5, 4, 2), (4, 0x8000_0000, 3)], ids=["none", "over", "wrap"]
)
def test_shapes_that_make_no_sense(default, run, stride, count):
    link = host(default)
    with pytest.raises(HostError, match="argument"):
        link.call("read_strided", 0, ctypes.create_string_buffer(16), run, stride, count)
    assert link.pipe.sent == 0


def test_range_over_the_end_of_addresses(default):
    with pytest.raises(HostError, match="argument"):
        host(default).read(0xFFFF_FFFF, 2)


def test_silence(default):
    link = host(default, timeout_ms=1500)
    link.pipe.alive = False
    start = link.pipe.now()
    with pytest.raises(HostError, match="timeout"):
        link.read(0, 4)
    assert link.pipe.now() - start <= 1.7
    link.pipe.alive = True
    link.identify()
    link.pipe.alive = False
    start = link.pipe.now()
    with pytest.raises(HostError, match="timeout"):
        link.write(0x100, bytes(600))
    assert link.pipe.now() - start <= 1.7 and link.repeats > 3
    link.pipe.alive = True
    link.write(0x100, bytes(600))
    assert link.read(0x100, 600) == bytes(600)


def test_port_that_fails(default):
    link = host(default)
    link.identify()
    for name in ("write", "read"):

        def failing(*_):
            raise OSError("unplugged")

        before, link.pipe.__dict__[name] = getattr(link.pipe, name), failing
        with pytest.raises(HostError, match="port_failed"):
            link.read(0, 4)
        link.pipe.__dict__[name] = before
    assert link.read(0, 4) == link.pipe.device.memory.data[:4]


def test_bus_error_names_its_word(default):
    link = host(default)
    with pytest.raises(HostError, match="bus_error"):
        link.read((1 << 16) - 600, 1000)
    assert link.error_address == 1 << 16
    with pytest.raises(HostError, match="bus_error"):
        link.write(0x7000_0001, b"123")
    assert link.error_address == 0x7000_0000
    assert link.read(0, 4) == link.pipe.device.memory.data[:4]


@pytest.mark.parametrize(
    "head, status",
    [(b"ELSE", "not_a_board"), (header(1)[:8], "version"), (header(3)[:8], "version")],
    ids=["magic", "older", "newer"],
)
def test_what_answers_is_no_board_of_ours(default, head, status):
    board = Board()
    board.rom.data[: len(head)] = head
    with pytest.raises(HostError, match=status):
        host(default, board).identify()


def test_board_without_a_core(default):
    board = Board()
    board.rom.data[8:12] = bytes(4)
    with pytest.raises(HostError, match="no_core"):
        host(default, board).state()


def test_no_info_rom(default):
    board = DeviceModel([WordMemory(64)])
    link = host(default, board)
    with pytest.raises(HostError, match="bus_error"):
        link.identify()
    assert link.error_address == 0x8002_0000


def test_session_of_the_same_first_byte_that_has_stopped(default):
    """By chance the last host took the byte that this one takes first."""
    board = Board()
    first = host(default, board)
    with pytest.raises(HostError, match="bus_error"):
        first.read(0x7000_0000, 4)
    second = host(default, board)
    assert second.read(0, 4) == board.memory.data[:4]


def test_board_reset_in_between(default):
    link = host(default)
    link.write(0, b"mine")
    link.pipe.device.reset()
    assert link.read(0, 4) == b"mine"
    link.pipe.device.reset()
    with pytest.raises(HostError, match="unsure"):
        link.write_word(CONTROL + 0x10, 1)


class Core(Board):
    """A core that ends a run at the ``looks``-th look at its status, with the bits ``ending``."""

    def __init__(self, looks=3, ending=2):
        super().__init__()
        self.left, self.looks, self.ending = 0, looks, ending

    def _write(self, address, data):
        failed = super()._write(address, data)
        if address == CONTROL + 0x10:
            command = data[0]
            self.left = self.looks if command == 1 else 0
            state = {1: 1, 2: 10, 4: 0}[command]
            self.control.data[0x14:0x18] = struct.pack("<I", state)
        return failed

    def _read(self, address, length):
        if address == CONTROL + 0x14 and self.left:
            self.left -= 1
            if not self.left:
                self.control.data[0x14:0x18] = struct.pack("<I", self.ending)
        return super()._read(address, length)


@pytest.mark.parametrize("looks", [1, 40])
def test_run(default, looks):
    board = Core(looks)
    board.control.data[0x80:0x98] = struct.pack("<3Q", 7 << 33, 5, 1 << 40)
    link = host(default, board)
    link.run({0x20: 0x100, 0x24: 64, 0x104: 9})
    written = [entry for entry in board.log if entry[0] >= CONTROL]
    assert written == [
        (CONTROL + 0x20, struct.pack("<2I", 0x100, 64)),
        (CONTROL + 0x104, struct.pack("<I", 9)),
        (CONTROL + 0x10, struct.pack("<I", 1)),
    ]
    state = link.state()
    assert (state.busy, state.done, state.fault, state.aborted) == (False, True, False, False)
    assert (state.cycles, state.instructions, state.operations) == (7 << 33, 5, 1 << 40)


def test_fault_of_a_run(default):
    board = Core(ending=6)
    board.control.data[0x40:0x4C] = struct.pack("<3I", 5, 0x40, 77)
    link = host(default, board)
    with pytest.raises(HostError, match="fault"):
        link.run({0x20: 0})
    state = link.state()
    assert (state.fault, state.fault_code, state.fault_pc, state.fault_detail) == (True, 5, 64, 77)


def test_run_past_its_limit_is_aborted(default):
    board = Core(looks=1 << 30)
    link = host(default, board)
    with pytest.raises(HostError, match="aborted"):
        link.run({0x20: 0}, limit_ms=300)
    assert board.log[-1] == (CONTROL + 0x10, b"\2\0\0\0")


def test_run_of_a_busy_core(default):
    board = Core()
    board.control.data[0x14] = 1
    with pytest.raises(HostError, match="busy"):
        host(default, board).run({0x20: 0})
    assert not board.log


def test_core_that_stays_in_reset(default):
    board = Board()
    board.control.data[0x14] = 1
    with pytest.raises(HostError, match="busy"):
        host(default, board).reset_core()


def spoilt_calls(loaded, seed, rate, calls):
    """Random calls over a line with faults: registers are written exactly once and in order, memory
    holds what was written, reads are right. Returns frames on the line."""
    board = Board()
    spoil, frames = faults(rate), [0]

    def counted(chance, data):
        frames[0] += 1
        return spoil(chance, data)

    link = host(loaded, board, spoil=counted, seed=seed, timeout_ms=20_000, retry_ms=20)
    chance = random.Random(seed)
    image, wanted = bytearray(board.memory.data), []
    for number in range(calls):
        address, size = chance.randrange(60000), chance.choice([1, 4, 100, 3000, 5000])
        kind = chance.randrange(7)
        if kind == 0:
            data = chance.randbytes(size)
            link.write(address, data)
            image[address : address + size] = data
        elif kind == 1:
            assert link.read(address, size) == image[address : address + size]
        elif kind == 2:
            assert link.checksum(address, size) == zlib.crc32(image[address : address + size])
        elif kind == 3:
            value = chance.randrange(256)
            link.fill(address, size, value)
            image[address : address + size] = bytes([value]) * size
        elif kind in (4, 5):
            runs = Runs(chance, 65536)
            if kind == 4:
                runs.write(link, image, chance.randbytes(len(runs.places)))
            else:
                runs.check(link, image)
        else:
            link.write_word(CONTROL + 0x100, number)
            wanted.append((CONTROL + 0x100, struct.pack("<I", number)))
        assert board.memory.data == image, (seed, number, kind)
    assert [entry for entry in board.log if entry[0] >= CONTROL] == wanted
    assert link.repeats > 0 or not rate
    return frames[0]


@pytest.mark.parametrize("rate", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_faults_of_the_line(loaded, rate, seed):
    spoilt_calls(loaded, seed, rate, 60)


def spoil_frames(path, frames):
    """:func:`spoilt_calls` with the shared object at ``path`` until so many ``frames`` have passed;
    prints how many."""
    loaded, done, seed = load(path), 0, 0
    while done < frames:
        done += spoilt_calls(loaded, seed, [0, 0.02, 0.1, 0.3][seed % 4], 60)
        seed += 1
    print(done)


@pytest.mark.skipif("gcc" not in compilers(), reason="needs gcc and its sanitizers")
@pytest.mark.parametrize(
    "frames", [2_000, pytest.param(100_000, marks=pytest.mark.long)], ids="{}-frames".format
)
def test_sanitizers_find_nothing(frames, tmp_path):
    """Address and undefined-behaviour sanitizers, in a process of its own, which they end at their
    first finding."""
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DQUINTET_CHUNK=64"]
    path = compiled(tmp_path, compiler="gcc", flags=flags)
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from tests.firmware.host.test_host_library import spoil_frames; "
            f"spoil_frames({str(path)!r}, {frames})",
        ],
        env={**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"},
        cwd=HOST.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) >= frames
