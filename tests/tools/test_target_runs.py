# SPDX-License-Identifier: BSD-2-Clause
"""Targets: accesses in runs of bytes and fills, on the model and over the link."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.link.protocol import INFO_ADDRESS
from quintet.tools.errors import TargetError
from quintet.tools.link.access import Access
from quintet.tools.link.client import LinkClient
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.targets.link import LinkTarget
from quintet.tools.targets.model import ModelTarget
from tests.tools.link.fake_pipe import FakePipe

SIZE = 1 << 16
TEXT = zlib.compress(b'{"board": "fake"}')


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
    (written,) = target.transfer([Access(address, run=run, stride=stride, data=rows.tobytes())])
    for number, row in enumerate(rows):
        image[address + number * stride :][:run] = row
    assert target.read(0, SIZE) == image.tobytes()
    (back,) = target.transfer([Access(address, rows.size, run, stride)])
    assert back == rows.tobytes() and written == b""
    target.fill(address, run, value)
    image[address : address + run] = value
    assert target.read(0, SIZE) == image.tobytes()


def test_progress(target):
    told = []
    target.transfer([Access(0, run=3, stride=64, data=bytes(300))], lambda *done: told.append(done))
    target.transfer([Access(0, 300, 3, 64)], lambda *done: told.append(done))
    target.fill(0, 300, progress=lambda *done: told.append(done))
    assert set(told[-1:]) <= {(300, 300)} and told == [pair for pair in told if pair[1] == 300]


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda t: t.transfer([Access(0, run=0, stride=8, data=b"")]),
            "run = 0: expected 1 or more",
        ),
        (
            lambda t: t.transfer([Access(0, run=4, stride=3, data=bytes(8))]),
            "stride = 3: expected 4 or more",
        ),
        (
            lambda t: t.transfer([Access(0, run=4, stride=8, data=bytes(9))]),
            "size = 9: expected a whole number of runs of 4",
        ),
        (lambda t: t.transfer([Access(0, 3, 0, 3)]), "run = 0: expected 1 or more"),
        (lambda t: t.transfer([Access(0, 3, 3, 2)]), "stride = 2: expected 3 or more"),
        (lambda t: t.transfer([Access(0, -3, 3, 4)]), "count = -1: expected 0 or more"),
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
        lambda: target.transfer([Access(end - 100, run=3, stride=98, data=bytes(6))]),
        lambda: target.transfer([Access(end - 100, 6, 3, 98)]),
        lambda: target.fill(end - 3, 4),
        lambda: target.transfer([Access(-1, 6, 3, 4)]),
    ):
        with pytest.raises(TargetError, match=message):
            call()
