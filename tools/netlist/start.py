# SPDX-License-Identifier: BSD-2-Clause
"""Parts of a check's conversation for SoCs that need no host: the start from flash memory, and a
list of runs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ...gateware.info import CONTROL_BASE, SOC_BASE
from ...gateware.isa.parameters import params_hash
from ...gateware.standalone.image import BootStatus, Segment, build_hash, pack
from ...gateware.standalone.runlist import ListStatus, RunList
from ..selftest.finding import Finding

if TYPE_CHECKING:
    from ...gateware.soc import SoC
    from ..link.client import LinkClient
    from ..targets.link import LinkTarget

__all__ = ["SOC_BOOT", "pack_start", "start", "walked_list"]

#: Place of the start from flash memory in the SoC's registers (gateware/bus/registers.py).
SOC_BOOT = 0x14
#: Bytes of the first segment, its address, and words of the fill near the end of main memory; not
#: up to it, since the address behind it is narrower on an iCE40 than on a virtual board.
_BYTES, _AT, _FILL, _BEFORE_END = 92, 0x104, 21, 64
#: Register of every control block that the image sets: the program's address.
_PROGRAM_ADDRESS = 0x20
#: Of the list of runs: its place, its source and destination, and the bytes that it copies.
_LIST, _SOURCE, _DESTINATION, _COPIED = 0x400, 0x800, 0xA00, 73
#: Distance and number of the runs that it scatters, and their bytes.
_STRIDE, _RUNS, _RUN = 24, 5, 10


def _segments(soc: SoC) -> list[Segment]:
    rng, size = random.Random(7), soc.backing.size
    return [
        Segment(_AT, rng.randbytes(_BYTES)),
        Segment(size - _BEFORE_END - 4 * _FILL, rng.randbytes(4), _FILL),
        Segment(CONTROL_BASE + _PROGRAM_ADDRESS, (64).to_bytes(4, "little")),
    ]


def pack_start(soc: SoC) -> bytes:
    """The plan image of a check: bytes, a fill, a register."""
    assert soc.package is not None  # only a SoC with a core starts from flash memory
    build = build_hash(soc.package.isa.ISA.tag, params_hash(soc.params))
    return pack(build, _segments(soc))


def start(client: LinkClient, soc: SoC) -> Finding:
    """Whether the image has been read: its status, and everything that it fills."""
    client.identify()
    status = BootStatus(client.read_word(SOC_BASE + SOC_BOOT) & 7)
    segments = _segments(soc)
    wrong = [
        f"{segment.address:#x}"
        for segment in segments
        if client.read(segment.address, segment.size) != segment.data * segment.repeat
    ]
    ok = status == BootStatus.READY and not wrong
    return Finding(
        "flash memory",
        "start",
        ok,
        f"{sum(segment.size for segment in segments)} bytes of a plan image are in their places"
        if ok
        else f"status {status!r}, DIFFERENT at {', '.join(wrong) or 'no place'}",
    )


def walked_list(target: LinkTarget) -> Finding:
    """A list that copies and scatters bytes, without a run of the core."""
    assert target.info.memory_size is not None
    rng = random.Random(8)
    data, runs = rng.randbytes(_COPIED), rng.randbytes(_RUNS * 4 * -(-_RUN // 4))
    built = RunList(target.control)
    built.copy(_SOURCE, _DESTINATION, _COPIED)
    built.scatter(_SOURCE + 0x80, _DESTINATION + 0x80, _RUN, _STRIDE, _RUNS)
    built.end()
    target.write(_SOURCE, data)
    target.write(_SOURCE + 0x80, runs)
    target.fill(_DESTINATION, 0x100, 0)
    target.write(_LIST, built.bytes)
    target.start_list(_LIST, len(built))
    outcome = target.wait_list()
    expected = bytearray(0x100)
    expected[:_COPIED] = data
    for number in range(_RUNS):
        place = 0x80 + number * _STRIDE
        source = number * 4 * -(-_RUN // 4)
        expected[place : place + _RUN] = runs[source : source + _RUN]
    found = target.read(_DESTINATION, 0x100)
    ok = outcome.status == ListStatus.ENDED and found == bytes(expected)
    return Finding(
        "list of runs",
        "walk",
        ok,
        f"{len(built)} bytes of commands: "
        + ("equal" if ok else f"DIFFERENT, status {outcome.status!r}"),
    )
