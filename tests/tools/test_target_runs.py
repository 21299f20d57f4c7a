# SPDX-License-Identifier: BSD-2-Clause
"""Targets: runs of bytes and fills, on the model, over the link, and as the base class makes them
of plain reads and writes."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.link.protocol import INFO_ADDRESS
from quintet.tools.errors import TargetError
from quintet.tools.link.client import LinkClient
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.targets.base import Target, TargetInfo
from quintet.tools.targets.link import LinkTarget
from quintet.tools.targets.model import ModelTarget
from tests.tools.link.fake_pipe import FakePipe

SIZE = 1 << 16
TEXT = zlib.compress(b'{"board": "fake"}')


class Plain(Target):
    """Has ``write`` and ``read`` only."""

    def __init__(self):
        self.name, self.info, self.memory = (
            "plain",
            TargetInfo("model", None, {}, SIZE),
            bytearray(SIZE),
        )

    def write(self, address, data, progress=None):
        self.memory[address : address + len(data)] = data
        if progress:
            progress(len(data), len(data))

    def read(self, address, size, progress=None):
        return bytes(self.memory[address : address + size])

    read_register = write_register = reset_core = run = None


def over_link(version):
    rom = WordMemory(1024, INFO_ADDRESS)
    header = struct.pack(
        "<4s2H4s9I16s",
        b"QNTT",
        version,
        16,
        b"",
        0,
        0,
        SIZE,
        0,
        0,
        0,
        INFO_ADDRESS + 64,
        len(TEXT),
        1,
        b"fake",
    )
    rom.data[: 64 + len(TEXT)] = header + TEXT
    device = DeviceModel([WordMemory(SIZE), rom])
    return LinkTarget(client=LinkClient(FakePipe(device, line_rate=False), seed=1), name="fake")


TARGETS = {
    "plain": Plain,
    "model": lambda: ModelTarget(isa="opentpu", memory_size=SIZE),
    "link": lambda: over_link(2),
    "old link": lambda: over_link(1),
}


@pytest.fixture(params=TARGETS)
def target(request):
    return TARGETS[request.param]()


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(TARGETS)),
    st.integers(0, 900),
    st.integers(1, 300),
    st.integers(0, 300),
    st.integers(0, 20),
    st.integers(0, 255),
)
def test_runs_and_fills(name, address, run, gap, count, value):
    target, stride, chance = TARGETS[name](), run + gap, np.random.default_rng(run)
    image = chance.integers(0, 256, SIZE, np.uint8)
    target.write(0, image.tobytes())
    rows = chance.integers(0, 256, (count, run), np.uint8)
    target.write_runs(address, rows, stride)
    for number, row in enumerate(rows):
        image[address + number * stride :][:run] = row
    assert target.read(0, SIZE) == image.tobytes()
    back = target.read_runs(address, run, stride, count)
    assert back.dtype == np.uint8 and back.flags.writeable and np.array_equal(back, rows)
    target.fill(address, run, value)
    image[address : address + run] = value
    assert target.read(0, SIZE) == image.tobytes()


def test_turned_rows(target):
    """Rows that do not lie as C arrays do."""
    rows = np.arange(12, dtype=np.uint8).reshape(3, 4).T
    target.write_runs(100, rows, 16)
    assert np.array_equal(target.read_runs(100, 3, 16, 4), rows)


def test_progress(target):
    told = []
    target.write_runs(0, np.zeros((100, 3), np.uint8), 64, progress=lambda *done: told.append(done))
    target.read_runs(0, 3, 64, 100, progress=lambda *done: told.append(done))
    target.fill(0, 300, progress=lambda *done: told.append(done))
    assert set(told[-1:]) <= {(300, 300)} and told == [pair for pair in told if pair[1] == 300]


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda t: t.write_runs(0, np.zeros(4, np.uint8), 8),
            "rows: expected a 2-D array of uint8, found 1-D of uint8",
        ),
        (
            lambda t: t.write_runs(0, np.zeros((2, 4), np.int8), 8),
            "rows: expected a 2-D array of uint8, found 2-D of int8",
        ),
        (lambda t: t.write_runs(0, np.zeros((2, 0), np.uint8), 8), "run = 0: expected 1 or more"),
        (
            lambda t: t.write_runs(0, np.zeros((2, 4), np.uint8), 3),
            "stride = 3: expected 4 or more",
        ),
        (lambda t: t.read_runs(0, 0, 3, 1), "run = 0: expected 1 or more"),
        (lambda t: t.read_runs(0, 3, 2, 1), "stride = 2: expected 3 or more"),
        (lambda t: t.read_runs(0, 3, 4, -1), "count = -1: expected 0 or more"),
        (
            lambda t: t.fill(0, -1),
            "fill of size = -1, value = 0: expected a size of 0 or more and a value from 0 to 255",
        ),
        (
            lambda t: t.fill(0, 1, 256),
            "fill of size = 1, value = 256: expected a size of 0 or more and a value from 0 to 255",
        ),
    ],
)
def test_refused(target, call, message):
    with pytest.raises(TargetError) as error:
        call(target)
    assert str(error.value) == f"{target.name}: {message}"


@pytest.mark.parametrize(
    "name, end, message",
    [
        ("model", SIZE, "lies outside main memory"),
        ("link", 1 << 32, "lie outside the 32-bit addresses"),
    ],
)
def test_outside(name, end, message):
    target = TARGETS[name]()
    for call in (
        lambda: target.write_runs(end - 100, np.zeros((2, 3), np.uint8), 98),
        lambda: target.read_runs(end - 100, 3, 98, 2),
        lambda: target.fill(end - 3, 4),
        lambda: target.read_runs(-1, 3, 4, 2),
    ):
        with pytest.raises(TargetError, match=message):
            call()
