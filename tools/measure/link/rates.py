# SPDX-License-Identifier: BSD-2-Clause
"""Transfer rates of the link: payload to the board and back, through a bench's UART or USB device,
with the contents checked."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....gateware.info import PROTOCOL_VERSION
from ...link.client import LinkClient
from .. import Differs, Row
from ..choice import Choice

if TYPE_CHECKING:
    from .bench import Bench
    from .usb_bench import USBBench

__all__ = [
    "BAUD",
    "HEADER",
    "NAK_REST",
    "open_usb",
    "open_wire",
    "rate_rows",
    "usb_rates",
    "wire_shares",
]

BAUD = 3_000_000
#: Content of the bench's info ROM.
HEADER = struct.pack(
    "<4sHH4s9I16s",
    b"QNTT",
    PROTOCOL_VERSION,
    16,
    b"",
    0,
    0,
    1 << 16,
    0x8000_0000,
    4096,
    0,
    0,
    0,
    24_000_000,
    b"bench",
)
#: Bits for which the host leaves an IN endpoint alone that had nothing, in the second of the
#: measurements.
NAK_REST = 4000
_PIECE = 1 << 16


def open_wire(clock_hz: int, **arguments: Any) -> tuple[Bench, LinkClient]:
    """Opens a bench with a UART: ``(bench, client)``."""
    from .bench import Bench, BenchPipe

    bench = Bench(wire=(clock_hz, BAUD), header=HEADER, **arguments)
    link = LinkClient(BenchPipe(bench, rate=BAUD / 10), seed=1)
    link.identify()
    return bench, link


def open_usb(clock_hz: int = 24_000_000, **arguments: Any) -> tuple[USBBench, LinkClient]:
    """Opens a bench with a USB device: ``(bench, client)``; ``arguments`` configure the simulated
    host."""
    from .usb_bench import USBBench, USBPipe

    bench = USBBench(clock_hz=clock_hz)
    bench.host(**arguments)
    bench.configure()
    link = LinkClient(USBPipe(bench), seed=1)
    link.identify()
    return bench, link


def _seconds(link, data):
    """Simulated seconds of transferring ``data`` to the board and back."""
    times = [link.pipe.now()]
    link.write(0, data)
    times.append(link.pipe.now())
    back = link.read(0, len(data))
    times.append(link.pipe.now())
    if back != data or link.repeats:
        raise Differs(
            f"{len(data)} bytes do not come back as they went, or {link.repeats} requests were "
            f"repeated"
        )
    return [b - a for a, b in zip(times, times[1:], strict=False)]


def wire_shares(link: LinkClient, size: int) -> list[float]:
    """Payload rate divided by line rate, to the board and back; the minimum over all transfers."""
    data = random.Random(size).randbytes(size)
    pieces = [data[at : at + _PIECE] for at in range(0, size, _PIECE)]
    shares = [
        [len(piece) * 10 / BAUD / seconds for seconds in _seconds(link, piece)] for piece in pieces
    ]
    return [min(way) for way in zip(*shares, strict=True)]


def usb_rates(link: LinkClient, size: int) -> list[float]:
    """USB transfer rates: payload bytes per second to the board and back."""
    return [size / seconds for seconds in _seconds(link, random.Random(size).randbytes(size))]


def rate_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of both kinds of link, in both directions."""
    size, clock_hz = choice.settings["size"], 1_000_000 * choice.settings["mhz"]
    for name in choice.presets:
        more = {"main clock, MHz": choice.settings["mhz"], "bytes": size}
        if name == "uart":
            bench, link = open_wire(clock_hz)
            with bench:
                for way, share in zip(
                    ("to the board", "back"), wire_shares(link, size), strict=True
                ):
                    yield Row(f"UART, {way}", 100 * share, "% of the line rate", 95, True, more)
            continue
        for rest in (0, NAK_REST):
            bench, link = open_usb(clock_hz, nak_rest=rest)
            with bench:
                for way, rate in zip(
                    ("to the board", "back"), usb_rates(link, min(size, _PIECE)), strict=True
                ):
                    yield Row(
                        f"USB, {way}{f', IN asked again after {rest} bits' if rest else ''}",
                        rate / 1e3,
                        "kB/s",
                        900 if size >= _PIECE else None,
                        True,
                        {**more, "bytes": min(size, _PIECE)},
                    )
