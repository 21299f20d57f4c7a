# SPDX-License-Identifier: BSD-2-Clause
"""The whole SoC in pysim, spoken to through its link."""

import zlib

import pytest
from amaranth.sim import Simulator

from quintet.gateware.info import CONTROL_BASE, INFO_BASE, SOC_BASE, parse_header, parse_info
from quintet.gateware.isa.parameters import params_hash
from quintet.gateware.memory.blockram import BlockRAMMemory
from quintet.gateware.soc import SoC
from quintet.tools.link.client import LinkClient
from quintet.tools.link.errors import LinkError
from quintet.tools.link.pipe import Pipe
from tests.support.tiny_core import PACKAGE

SIZE = 4096


class SimulatedPipe(Pipe):
    """The SoC's byte streams; time is the simulation's."""

    name = "simulation"
    bytes_per_second = None

    def __init__(self, soc):
        self.soc = soc
        self.cycles = 0
        self.outgoing, self.incoming = bytearray(), bytearray()
        self.sim = Simulator(soc)
        self.sim.add_clock(1e-6)
        self.sim.add_testbench(self._work, background=True)
        self.resets = 0

    async def _work(self, ctx):
        soc = self.soc
        ctx.set(soc.tx.ready, 1)
        while True:
            ctx.set(soc.rx.valid, bool(self.outgoing))
            if self.outgoing:
                ctx.set(soc.rx.payload, self.outgoing[0])
            _, _, taken, given, byte, reset = await ctx.tick().sample(
                soc.rx.ready, soc.tx.valid, soc.tx.payload, soc.reset_request
            )
            self.cycles += 1
            self.resets += reset
            if taken and self.outgoing:
                del self.outgoing[0]
            if given:
                self.incoming.append(byte)

    def write(self, data):
        self.outgoing += data

    def read(self, limit, timeout):
        end = self.now() + timeout
        while not self.incoming and self.now() < end:
            self.sim.advance()
        data = bytes(self.incoming[:limit])
        del self.incoming[:limit]
        return data

    def now(self):
        return self.cycles * 1e-6

    def close(self):
        pass


def make(**kwargs):
    return SoC(
        **{
            "board_name": "test-board",
            "clock_hz": 1_000_000,
            "memory": BlockRAMMemory(size=SIZE, beat_bytes=4),
            "package": PACKAGE,
            "link": {"kind": "pipe"},
            "watchdog": 512,
            **kwargs,
        }
    )


@pytest.fixture(scope="module")
def client():
    soc = make()
    client = LinkClient(SimulatedPipe(soc), timeout=0.5, retry=0.05, seed=1)
    client.header = client.identify()
    return client


def test_info(client):
    info = parse_header(client.header)
    assert (info.board, info.tag, info.memory_size, info.clock_hz) == (
        "test-board",
        "TINY",
        SIZE,
        1_000_000,
    )
    assert (info.control_base, info.soc_base) == (CONTROL_BASE, SOC_BASE)
    assert info.params_hash == params_hash({"size": 4})
    text = parse_info(client.read(info.info_address, info.info_length))
    assert text["isa"] == "tiny" and text["params"] == {"size": 4} and text["preset"] == "sim"
    assert text["memory"] == {"size": SIZE, "beat_bytes": 4, "kind": "block RAM"}
    assert text["link"] == {"kind": "pipe", "strided": True} and text["clock_hz"] == 1_000_000


def test_memory_and_core(client):
    data = bytes(range(1, 201))
    client.write(0x101, data)
    assert client.read(0x101, 200) == data
    base = CONTROL_BASE
    assert client.read(base, 4) == b"TINY"
    client.write_word(base + 0x20, 0x100)
    client.write_word(base + 0x24, 64)
    client.write_word(base + 0x100, 0x400)
    client.write_word(base + 0x10, 1)
    while client.read_word(base + 0x14) & 1:
        pass
    assert client.read_word(base + 0x14) == 2
    assert client.read(0x401, 63) == bytes(b ^ 0x55 for b in data[:63])
    assert int.from_bytes(client.read(base + 0x88, 8), "little") == 16


def test_runs_and_fills(client):
    image = bytearray(client.read(0x600, 256))
    client.write(0x603, b"abcdefghi", 3, 17)
    for number in range(3):
        image[3 + 17 * number : 6 + 17 * number] = b"abcdefghi"[3 * number : 3 * number + 3]
    assert client.read(0x600, 256) == image
    assert client.read(0x603, 9, 3, 17) == b"abcdefghi"
    assert client.checksum(0x603, 9, 3, 17) == zlib.crc32(b"abcdefghi")
    client.fill(0x641, 5, b"xy", stride=10, count=4)
    for number in range(4):
        image[0x41 + 10 * number : 0x46 + 10 * number] = b"xyxyx"
    client.fill(0x6FE, 1, 0xEE)
    image[0xFE] = 0xEE
    assert client.read(0x600, 256) == image
    # Registers of four bytes are written whole.
    client.fill(CONTROL_BASE + 0x28, 4, b"\0\1\0\0", stride=4, count=2)
    assert client.read(CONTROL_BASE + 0x28, 8) == b"\0\1\0\0" * 2
    client.reset_core()


def test_soc_registers(client):
    assert client.read(SOC_BASE, 4) == b"QSOC"
    first = client.read_word(SOC_BASE + 8)
    second = client.read_word(SOC_BASE + 8)
    assert 0 < second - first < 2000
    client.write_word(SOC_BASE + 0xC, 1)
    assert client.read_word(SOC_BASE + 0xC) == 1
    assert client.read_word(SOC_BASE + 0x20) == 0
    assert client.pipe.resets == 0


@pytest.mark.parametrize(
    "address", [SIZE, 0x0010_0000, 0x7FFF_FFFC, 0x8003_0000, 0x8000_1000, 0xFFFF_FFFC]
)
def test_unmapped_addresses_end_in_an_error(client, address):
    with pytest.raises(LinkError):
        client.read(address, 4)
    with pytest.raises(LinkError):
        client.write(address, bytes(4))
    client.identify()
    assert client.read(INFO_BASE, 4) == b"QNTT", "the board talks on"


def test_without_a_core():
    soc = make(package=None)
    client = LinkClient(SimulatedPipe(soc), timeout=0.5, retry=0.05, seed=1)
    info = parse_header(client.identify())
    assert info.tag is None and info.control_size == 0
    client.write(0, b"hello")
    assert client.read(0, 5) == b"hello"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"clock_hz": 1.5}, "Main clock must be an integer from 1 to 2\\^32 - 1 Hz, not 1.5"),
        ({"package": None, "preset": "sim"}, "A preset or parameters need a core"),
        ({"board_name": "a name that is too long"}, "Board name must be 1 to 16 ASCII characters"),
        ({"watchdog": 100}, "Limit of a bus cycle must be a power of two of at least 16, not 100"),
    ],
)
def test_bad_soc_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        make(**change)
