# SPDX-License-Identifier: BSD-2-Clause
"""The pipe over SPI transfers, against a model of the board's side, and Linux's spidev."""

import random
import sys
import types
import zlib

import pytest

from quintet.gateware.link.spi_format import HEADER, MARK, MOST, SPACE_UNIT, SPI_HZ
from quintet.tools.errors import NoDeviceError, TargetError
from quintet.tools.link.client import LinkClient
from quintet.tools.link.device_model import DeviceModel, WordMemory
from quintet.tools.link.errors import LinkError
from quintet.tools.link.ports import open_pipe
from quintet.tools.link.spi_pipe import SPIPipe
from quintet.tools.measure.link import rates
from quintet.tools.selftest.ladder import explain_silence
from quintet.tools.targets import open_target
from quintet.tools.targets.names import parse_target
from quintet.tools.targets.serial_port import port_options

INFO = 0x8002_0000


class FakeBus:
    """A board on SPI wires: queues of 512 and 256 bytes before a ``DeviceModel``.

    ``slow``: seconds that the board needs for a byte; ``mark``: its first byte; ``lengths``: of the
    transfers.
    """

    def __init__(self, device, *, slow=0.0, hz=SPI_HZ, mark=MARK):
        self.device, self.slow, self.hz, self.mark = device, slow, hz, mark
        self.name = "spi:fake"
        self.time = self.free = 0.0
        self.inward, self.outward, self.behind = bytearray(), bytearray(), bytearray()
        self.lengths, self.closed = [], False

    def _work(self):
        """What the board has done by now."""
        while self.inward and self.free <= self.time:
            self.free = max(self.free, self.time - 1e-3) + self.slow
            self.behind += self.device.feed(bytes([self.inward.pop(0)]))
        taken = min(len(self.behind), 256 - len(self.outward))
        self.outward += self.behind[:taken]
        del self.behind[:taken]

    def transfer(self, data):
        assert HEADER <= len(data) <= HEADER + MOST
        self._work()
        self.lengths.append(len(data))
        space, waiting = min(255, (512 - len(self.inward)) // SPACE_UNIT), len(self.outward)
        waiting = min(waiting, MOST)
        size = len(data) - HEADER
        answer = bytes(self.outward[: min(waiting, size)])
        del self.outward[: len(answer)]
        came = data[HEADER : HEADER + data[2]]
        assert len(came) == data[2] <= 512 - len(self.inward), "more than there is space for"
        self.inward += came
        self.time += len(data) * 8 / self.hz
        return bytes((self.mark, space, waiting)) + answer.ljust(size, b"\0")

    def wait(self, seconds):
        self.time += seconds
        self._work()

    sleep = wait

    def now(self):
        return self.time

    def close(self):
        self.closed = True


def board():
    memory = WordMemory(1 << 16)
    info = WordMemory(64, INFO)
    info.data[:] = rates.HEADER
    return DeviceModel([memory, info], info_address=INFO)


@pytest.mark.parametrize("slow", [0.0, 3e-7, 2e-6])
def test_link_over_transfers(slow):
    """Boards faster and slower than the wires; the space is never exceeded (the model says so)."""
    bus = FakeBus(board(), slow=slow)
    client = LinkClient(SPIPipe(bus), seed=1)
    client.identify()
    data = random.Random(2).randbytes(5000)
    client.write(0x40, data)
    assert client.read(0x40, len(data)) == data
    assert client.checksum(0x40, len(data)) == zlib.crc32(data)
    assert client.repeats == 0


def test_rate():
    """A board that is fast enough gets nine tenths of what the wires carry."""
    pipe = SPIPipe(FakeBus(board()))
    client = LinkClient(pipe, seed=1)
    client.identify()
    data = random.Random(2).randbytes(40_000)
    began = pipe.now()
    client.write(0, data)
    written = pipe.now()
    assert client.read(0, len(data)) == data
    for seconds in (written - began, pipe.now() - written):
        assert len(data) / seconds > 0.9 * SPI_HZ / 8


def test_a_waiting_host_does_not_flood_the_wires():
    bus = FakeBus(board())
    pipe = SPIPipe(bus)
    assert pipe.read(64, 1.0) == b"" and pipe.now() >= 1.0
    assert len(bus.lengths) < 1100


def test_a_read_takes_what_it_asked_for():
    bus = FakeBus(board())
    bus.outward += b"0123456789"
    pipe = SPIPipe(bus)
    assert pipe.read(4, 0.1) == b"0123" and pipe.read(100, 0.1) == b"456789"
    assert len(bus.lengths) == 1


def test_board_that_goes_away():
    """Without the mark nothing of a transfer counts, neither way."""
    bus = FakeBus(board())
    pipe = SPIPipe(bus, write_timeout=0.01)
    pipe.ask()
    bus.mark = 0xFF
    bus.outward += b"noise"
    assert pipe.read(10, 0.001) == b""
    with pytest.raises(LinkError, match="spi:fake: the board has taken nothing for 0.01 s"):
        pipe.write(b"request")
    with pytest.raises(LinkError, match="no board on spi:fake: expected 0x51 .*found 0xff"):
        pipe.ask()
    pipe.close()
    pipe.close()
    assert bus.closed
    with pytest.raises(LinkError, match="spi:fake is closed"):
        pipe.read(1, 0)


# Linux's spidev


class SpiDev:
    """The library's class, with a board behind bus 3, device 1."""

    opened = None

    def open(self, bus, device):
        if (bus, device) != (3, 1):
            raise FileNotFoundError(2, "No such file or directory")
        self.bus = FakeBus(board())
        SpiDev.opened = self

    def xfer2(self, values):
        assert self.max_speed_hz and self.mode == 0
        return list(self.bus.transfer(bytes(values)))

    def close(self):
        self.bus.close()


@pytest.fixture
def spidev(monkeypatch):
    monkeypatch.setitem(sys.modules, "spidev", types.SimpleNamespace(SpiDev=SpiDev))


def test_spidev_carries_the_link(spidev):
    with open_pipe("spi:/dev/spidev3.1", speed=8_000_000) as pipe:
        assert SpiDev.opened.max_speed_hz == 8_000_000
        assert pipe.bytes_per_second == pytest.approx(1e6 * MOST / (MOST + HEADER))
        pipe.write(b"\0")
        assert pipe.read(1, 0) == b""
    assert SpiDev.opened.bus.closed


def test_spidev_without_a_board(spidev, monkeypatch):
    monkeypatch.setattr(FakeBus, "transfer", lambda self, data: bytes(len(data)))
    with pytest.raises(LinkError, match="no board on spi:/dev/spidev3.1: .*found 0x00"):
        open_target("spi:/dev/spidev3.1")
    assert SpiDev.opened.bus.closed


def test_spidev_that_is_not_there(spidev):
    with pytest.raises(NoDeviceError, match="cannot open spi:/dev/spidev0.0: no such port"):
        open_target("spi:/dev/spidev0.0")
    with pytest.raises(NoDeviceError, match="/dev/ttyUSB0: expected /dev/spidevBUS.DEVICE"):
        open_target("spi:/dev/ttyUSB0")


def test_library_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "spidev", None)
    with pytest.raises(NoDeviceError, match=r"the library spidev.*missing: pip install .*spi"):
        open_target("spi:/dev/spidev3.1")


def test_options_of_a_port():
    assert port_options("spi:/dev/spidev0.0?speed=5000000&timeout=3") == (
        "spi:/dev/spidev0.0",
        {"speed": 5_000_000},
        {"timeout": 3.0},
        "",
    )
    with pytest.raises(TargetError, match="speed = 0: expected a number of Hz"):
        port_options("spi:/dev/spidev0.0?speed=0")
    for wrong in ("spi:/dev/spidev0.0?baud=9600", "/dev/ttyUSB0?speed=9600"):
        with pytest.raises(TargetError, match="expected baud=N .* speed=HZ for SPI"):
            port_options(wrong)


def test_silence_has_no_other_rates():
    """The clock is the host's own: nothing is tried at others."""
    error = LinkError("silent")
    assert explain_silence(parse_target("spi:/dev/spidev3.1"), error) is error
