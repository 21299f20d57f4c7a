# SPDX-License-Identifier: BSD-2-Clause
"""A virtual board on its SPI wires, edge by edge: the link at 20 MHz and a whole job."""

import random
import zlib

import pytest

from quintet.boards.virtual.board import open_virtual
from quintet.gateware.link.spi_format import HEADER, MOST, SPI_HZ
from quintet.tools.jobs import Job
from quintet.tools.jobs.runner import run_job
from quintet.tools.link.client import LinkClient
from quintet.tools.link.spi_pipe import SPIPipe
from quintet.tools.targets import open_target
from tests.support.tiny_core import PACKAGE

SIZE = 1 << 12


def client_of(virtual):
    client = LinkClient(SPIPipe(virtual.spi), seed=1, timeout=0.25, retry=0.1)
    client.identify()
    return client


@pytest.fixture(scope="module")
def virtual():
    with open_virtual("icebreaker", None, link="spi") as board:
        yield board


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.4])
def test_bytes_at_20_mhz(virtual, seed, jitter):
    """Whatever the phase of the host's clock and the jitter of its edges: nothing is lost, and a
    board at 24 MHz keeps up. Of its own bytes an iCE40 gives 16 a transfer, with 3 of header."""
    virtual.spi.clock(SPI_HZ, jitter, seed + 1)
    client = client_of(virtual)
    data = random.Random(seed).randbytes(SIZE)
    began = virtual.spi.now()
    client.write(seed, data)
    written = virtual.spi.now()
    assert client.read(seed, SIZE) == data
    read = virtual.spi.now()
    assert client.checksum(seed, SIZE) == zlib.crc32(data) and client.repeats == 0
    assert SIZE / (written - began) > 0.9 * SPI_HZ / 8
    assert SIZE / (read - written) > 0.75 * SPI_HZ / 8


@pytest.mark.parametrize("hz", [1_000_000, 7_300_000, 19_999_999, 33_000_000])
def test_other_clocks_of_the_host(virtual, hz):
    virtual.spi.clock(hz, 0.2, hz)
    client = client_of(virtual)
    data = random.Random(hz).randbytes(700)
    client.write(1, data)
    assert client.read(1, len(data)) == data and client.repeats == 0


def test_header_on_the_wires(virtual):
    virtual.spi.clock(SPI_HZ)
    client_of(virtual)
    assert virtual.spi.transfer(bytes(HEADER + 2)).hex() == "51ff000000"
    began = virtual.spi.now()
    virtual.spi.wait(1e-3)  # nothing waits
    assert virtual.spi.now() - began >= 0.999e-3


def test_host_that_dies_in_a_frame(virtual):
    """Bytes of a frame that was never finished; the newcomer begins with a zero."""
    virtual.spi.clock(SPI_HZ)
    client = client_of(virtual)
    client.write(0, b"as it was")
    virtual.spi.transfer(bytes((0, 0, 40)) + b"\x55" * 40)
    newcomer = LinkClient(SPIPipe(virtual.spi), seed=7, timeout=0.25, retry=0.1)
    newcomer.identify()
    assert newcomer.read(0, 9) == b"as it was" and newcomer.repeats == 0


def test_host_that_sends_without_space(virtual):
    """Frames that are cut are repeated; nothing wrong is written."""
    virtual.spi.clock(SPI_HZ)
    client = client_of(virtual)
    client.write(0, bytes(SIZE))
    noise = random.Random(5)
    for _ in range(40):
        virtual.spi.transfer(bytes((0, 0, MOST)) + noise.randbytes(MOST))
    again = client_of(virtual)
    assert again.read(0, SIZE) == bytes(SIZE)
    again.write(0, b"works")
    assert again.read(0, 5) == b"works"


def test_main_clock_of_80_mhz_and_sdram():
    with open_virtual("ulx3s-25f", PACKAGE, preset="sim", link="spi") as board:
        board.pipe.sleep(board.soc.backing.powerup_ns * 1e-9 + 20e-6)
        client = client_of(board)
        data = random.Random(8).randbytes(SIZE)
        began = board.spi.now()
        client.write(0x1234, data)
        written = board.spi.now()
        assert client.read(0x1234, SIZE) == data and client.repeats == 0
        for seconds in (written - began, board.spi.now() - written):
            assert SIZE / seconds > 0.9 * SPI_HZ / 8


def test_job_over_spi_is_that_over_the_uart():
    """Results, outcome and every counter of the core."""
    job = Job.load("firmware/opentpu/programs/matmul_n4.toml")
    found = {}
    for link in ("wire", "spi"):
        with open_target(f"sim:icebreaker/opentpu?link={link}") as target:
            assert target.info.link["kind"] == ("spi" if link == "spi" else "uart")
            result = run_job(job, target)
            found[link] = (result.raw, result.outcome)
            assert target.client.repeats == 0
    assert found["wire"] == found["spi"] and found["spi"][1].status == "done"
