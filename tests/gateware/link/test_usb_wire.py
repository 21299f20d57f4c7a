# SPDX-License-Identifier: BSD-2-Clause
"""The link's USB device against a host on D+ and D-."""

import random

import pytest

from quintet.gateware.link.usb.control import LINE_CODING
from quintet.gateware.link.usb.identity import MANUFACTURER, PRODUCT_ID, VENDOR_ID
from quintet.tools.link.client import LinkClient
from quintet.tools.measure.link.rates import NAK_REST, open_usb, usb_rates
from quintet.tools.measure.link.usb_bench import TransferError, USBBench, USBPipe


@pytest.fixture
def looped():
    """The device alone: what is sent to it comes back."""
    with USBBench(loop=True) as bench:
        yield bench


def text_of(bench, index):
    data = bench.descriptor(3, index, language=0x0409)
    assert data[0] == len(data) and data[1] == 3
    return data[2:].decode("utf-16-le")


def parts(configuration):
    """A configuration's descriptors, one by one."""
    while configuration:
        yield configuration[: configuration[0]]
        configuration = configuration[configuration[0] :]


def test_enumeration(looped):
    device, configuration = looped.configure()
    assert device[:2] == b"\x12\x01" and len(device) == 18 and device[7] == 64
    assert device[8:12] == VENDOR_ID.to_bytes(2, "little") + PRODUCT_ID.to_bytes(2, "little")
    assert looped.descriptor(3) == b"\x04\x03\x09\x04"
    assert [text_of(looped, index) for index in device[14:17]] == [
        MANUFACTURER,
        "quintet link",
        "bench",
    ]
    assert int.from_bytes(configuration[2:4], "little") == len(configuration)
    found = list(parts(configuration))
    interfaces = [p for p in found if p[1] == 4]
    assert [tuple(p[5:8]) for p in interfaces] == [(2, 2, 1), (10, 0, 0)] and configuration[4] == 2
    assert {(p[2], p[3], p[4] | p[5] << 8) for p in found if p[1] == 5} == {
        (0x82, 3, 8),
        (0x01, 2, 64),
        (0x81, 2, 64),
    }
    assert [p[2] for p in found if p[1] == 0x24] == [0, 1, 2, 6]
    assert looped.control(0x80, 8, length=1) == configuration[5:6], "GET_CONFIGURATION"
    assert looped.control(0x80, 0, length=2) == b"\0\0", "GET_STATUS"
    assert looped.descriptor(1, length=8) == device[:8], "no more than is asked for"
    for kind, index in ((3, 9), (7, 0), (6, 0)):
        with pytest.raises(TransferError, match="stalled"):
            looped.descriptor(kind, index)
    assert looped.descriptor(1) == device, "a stall ends its request only"


def test_requests_of_a_serial_port(looped):
    looped.configure()
    looped.control(0x21, 0x20, data=(3_000_000).to_bytes(4, "little") + b"\0\0\x08")
    assert looped.control(0xA1, 0x21, length=7) == LINE_CODING
    assert looped.control(0xA1, 0x21, length=4) == LINE_CODING[:4]
    looped.control(0x21, 0x22, value=3)
    for kind, request in ((0x21, 0x23), (0xC0, 1)):
        with pytest.raises(TransferError, match="stalled"):
            looped.control(kind, request)
    looped.push(b"still there")
    looped.run_steps(48_000)
    assert looped.pop() == b"still there"


@pytest.mark.parametrize("size", [1, 63, 64, 65, 128, 1000])
def test_bytes_and_the_end_of_a_transfer(looped, size):
    """A host's driver hands a full packet on only when a shorter one follows."""
    looped.configure()
    data = random.Random(size).randbytes(size)
    before = looped.counts["packets_in"]
    looped.push(data)
    looped.run_steps(48 * (300 + 3 * size))
    assert looped.pop() == data
    counts = looped.counts
    assert size % 64 or counts["empty"]
    assert counts["packets_in"] - before >= size // 64 + 1 and counts["retries"] == 0
    # At least two bits of rest before an answer; a host waits 16 for one.
    assert 2 <= counts["turnaround_min"] / 4 <= counts["turnaround_max"] / 4 <= 10


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_packets_lose_and_repeat_nothing(looped, seed):
    looped.configure()
    looped.host(seed=seed, spoil=8)
    data = random.Random(seed).randbytes(6000)
    looped.push(data)
    back = b""
    for _ in range(60):
        looped.run_steps(48_000)
        back += looped.pop()
        if len(back) >= len(data):
            break
    assert back == data
    assert looped.counts["spoilt"] > 30 and looped.counts["retries"] > 30
    assert len(looped.descriptor(2)) == 75, "control transfers too"


def test_a_reset_of_the_bus_begins_anew(looped):
    looped.configure()
    looped.push(b"odd toggles")
    looped.run_steps(48_000)
    assert looped.pop() == b"odd toggles"
    # Now the host asks for nothing, so that bytes wait in the device; then the cable is pulled.
    looped.polling(0)
    looped.push(b"never fetched")
    looped.run_steps(48_000)
    looped.unplug(1)
    looped.run_steps(48_000)
    looped.unplug(0)
    for address in (9, 10):
        looped.configure(address)
        looped.push(b"again")
        looped.run_steps(48_000)
        assert looped.pop() == b"again"
    assert looped.counts["retries"] == 0


def check_bulk(clock_hz, size, nak_rest, required):
    bench, link = open_usb(clock_hz, nak_rest=nak_rest)
    with bench:
        to_board, back = usb_rates(link, size)
        assert bench.counts["retries"] == 0
        print(
            f"\nUSB, {size} bytes of payload, main clock {clock_hz / 1e6:g} MHz, "
            f"{f'IN asked again after {nak_rest} bits' if nak_rest else 'IN and OUT in turns'}: "
            f"{to_board / 1e3:.0f} kB/s to the board, {back / 1e3:.0f} kB/s back"
        )
        assert to_board >= required and back >= required


def test_bulk_8k():
    check_bulk(24_000_000, 1 << 13, NAK_REST, 850_000)


@pytest.mark.long
@pytest.mark.parametrize("clock_hz", [24_000_000, 80_000_000])
@pytest.mark.parametrize("nak_rest", [0, NAK_REST])
def test_bulk_64k(clock_hz, nak_rest):
    check_bulk(clock_hz, 1 << 16, nak_rest, 900_000)


def test_link_on_damaged_packets():
    """Damaged packets are repeated by USB itself: the link above it repeats no request."""
    bench, link = open_usb(spoil=20)
    with bench:
        data = random.Random(3).randbytes(3000)
        link.write(100, data)
        assert link.read(100, 3000) == data and link.repeats == 0
        assert bench.counts["retries"] > 5


def test_dead_host_leaves_the_board_free_within_100_ms():
    bench, link = open_usb()
    with bench:

        def die(done):
            raise InterruptedError

        for call in (
            lambda: link.read(0, 40_000, progress=die),
            lambda: link.write(0, bytes(40_000), progress=die),
        ):
            with pytest.raises(InterruptedError):
                call()
            # The program is gone: nobody asks for bytes for a while, and a frame is cut in the
            # middle.
            bench.push(b"\x55" * 100)
            newcomer = LinkClient(USBPipe(bench), seed=7)
            started = newcomer.pipe.now()
            newcomer.identify()
            assert newcomer.pipe.now() - started < 0.1
