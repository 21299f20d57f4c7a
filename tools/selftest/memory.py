# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of main memory: data lines, address lines, random words, every byte twice, and
retention over a pause."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..targets.link import LinkTarget
from .finding import Finding
from .link import kind_of, line_share

__all__ = ["test_memory"]

#: Bytes of random data, seconds of the pause, and bytes that are filled, of a board (all) and of a
#: simulated one.
_RANDOM = {"board": 32768, "sim": 2048}
_PAUSE = {"board": 1.0, "sim": 0.001}
_FILLED = {"board": 1 << 32, "sim": 1 << 14}
_CELLS = "block RAM of the FPGA: build for a slower clock, to tell timing from a broken FPGA"
_WIRING = "look at the solder joints and at the pins in the board's file"


@dataclass(frozen=True)
class _Region:
    """A range of main memory in a single memory: ``size`` bytes from ``base``, in beats of
    ``lanes`` bits.

    ``prefix`` stands before the names of its findings. ``anchor`` is an address of the memory, of
    which the addresses that differ from it by one line are in the region too.
    """

    base: int
    size: int
    lanes: int
    prefix: str = ""
    anchor: int = 0
    is_chip: bool = True


def _regions(info):
    size, memory = info.memory_size, info.memory
    # A beat passes the lines of a faster SDRAM in several of its cycles.
    lanes = 8 * int(memory.get("beat_bytes") or 2) // int(memory.get("rate") or 1)
    on_chip = memory.get("on_chip")
    if not on_chip:
        return [_Region(0, size, lanes)]
    border = int(on_chip["size"])
    return [
        _Region(0, border, 8 * int(on_chip["beat_bytes"]), "on chip: ", is_chip=False),
        _Region(
            border, size - border, lanes, f"{memory.get('kind', 'chip')}: ", anchor=size // 4 * 3
        ),
    ]


def test_memory(target: LinkTarget, rng: np.random.Generator) -> Iterator[Finding]:
    """Tests each region of the target's main memory."""
    for region in _regions(target.info):
        for finding in _test_region(target, rng, region):
            yield replace(finding, name=region.prefix + finding.name)


def _test_region(target, rng, region):
    kind, lanes, end = kind_of(target), region.lanes, region.base + region.size
    yield _data_lines(target, region)
    yield _address_lines(target, region)
    data = rng.integers(0, 256, min(region.size, int(line_share(target, _RANDOM[kind]))), np.uint8)
    at = (region.base + end - data.size) // 2 & ~63
    target.write(at, data.tobytes())
    yield _equal(
        "random bytes", data, _read(target, at, data.size), f"{data.size:,} bytes at {at:#x}", lanes
    )
    target.pause(_PAUSE[kind])
    yield _equal(
        "retention",
        data,
        _read(target, at, data.size),
        f"{data.size:,} bytes after {_PAUSE[kind]:g} s",
        lanes,
        (
            "rows are not refreshed in time: is the clock right, and the chip the one that the "
            "board's file names?"
        )
        if region.is_chip
        else _CELLS,
    )
    yield _every_byte(target, region.base, min(region.size, _FILLED[kind]))


def _read(target, at, size):
    return np.frombuffer(target.read(at, size), np.uint8)


def _data_lines(target, region):
    """Tests the data lines with walking ones and zeros, within one beat."""
    lanes, wide = region.lanes, region.lanes // 8
    rows = [1 << n for n in range(lanes)] + [(1 << lanes) - 1 ^ 1 << n for n in range(lanes)]
    data = b"".join(row.to_bytes(wide, "little") for row in rows)
    target.write(region.base, data)
    found = target.read(region.base, len(data))
    seen = [int.from_bytes(found[n * wide : (n + 1) * wide], "little") for n in range(len(rows))]
    if seen == rows:
        return Finding("memory", "data lines", True, f"{lanes} lines, each by itself high and low")
    always_1 = [n for n in range(lanes) if all(value >> n & 1 for value in seen)]
    always_0 = [n for n in range(lanes) if not any(value >> n & 1 for value in seen)]
    sick = [f"D{n} is always 1" for n in always_1] + [f"D{n} is always 0" for n in always_0]
    if sick and len(sick) < lanes:
        return Finding(
            "memory",
            "data lines",
            False,
            ", ".join(sick),
            f"this line is open or shorted: {_WIRING}" if region.is_chip else _CELLS,
        )
    wrong = sum(a != b for a, b in zip(seen, rows, strict=True))
    return Finding(
        "memory",
        "data lines",
        False,
        f"{wrong} of {len(rows)} patterns came back otherwise",
        (
            "no single line explains it: commands, address lines or the phase of the memory's "
            "clock (sdram in report.json)"
        )
        if region.is_chip
        else _CELLS,
    )


def _address_lines(target, region):
    """Tests the address lines: writes distinct words to the anchor and to every address that
    differs from it in one line; lines that are shorted or stuck make two addresses read alike."""
    end = region.base + region.size
    beside = [region.anchor ^ 1 << n for n in range(2, (end - 1).bit_length())]
    places = [region.anchor, *(place for place in beside if region.base <= place < end)]
    for number, place in enumerate(places):
        target.write(place, (0xA500_0000 + number).to_bytes(4, "little"))
    seen = {place: int.from_bytes(target.read(place, 4), "little") for place in places}
    wrong = [place for number, place in enumerate(places) if seen[place] != 0xA500_0000 + number]
    if not wrong:
        return Finding(
            "memory",
            "address lines",
            True,
            f"{len(places)} places up to {max(places):#x}, each with a word of its own",
        )
    known = [
        f"{place:#x} is {places[seen[place] - 0xA500_0000]:#x} too"
        for place in wrong
        if 0 <= seen[place] - 0xA500_0000 < len(places)
    ]
    return Finding(
        "memory",
        "address lines",
        False,
        "; ".join(known[:4])
        or f"words at {', '.join(hex(place) for place in wrong[:4])} were lost",
        f"address lines are exchanged, open or shorted: {_WIRING}" if region.is_chip else _CELLS,
    )


def _equal(
    name,
    data,
    found,
    what,
    lanes,
    advice="single cells: let the memory test run again, and a second board",
):
    wrong = np.flatnonzero(data != found)
    if not wrong.size:
        return Finding("memory", name, True, what)
    wide = lanes // 8
    bits = sorted(
        {
            8 * (at % wide) + bit
            for at in wrong.tolist()
            for bit in range(8)
            if (data[at] ^ found[at]) >> bit & 1
        }
    )
    lines = f", all in D{bits[0]}" if len(bits) == 1 else ""
    return Finding(
        "memory",
        name,
        False,
        f"{what}: {wrong.size:,} bytes differ, the first at {wrong[0]:#x} behind the "
        f"beginning{lines}",
        advice,
    )


def _every_byte(target, base, size):
    """Tests every byte with alternating ones and zeros, in both polarities, by checksums that the
    board computes."""
    for value in (0x55, 0xAA):
        target.fill(base, size, value)
        crc, part = 0, bytes([value]) * 65536
        for at in range(0, size, len(part)):
            crc = zlib.crc32(part[: size - at], crc)
        found = target.checksum(base, size)
        if found != crc:
            return Finding(
                "memory",
                "every byte",
                False,
                f"{size:,} bytes of {value:#x} have the checksum {found:08x}, expected {crc:08x}",
                "a cell or a row does not keep its bits: build for a slower clock, to tell "
                "margins from a broken chip",
            )
    return Finding("memory", "every byte", True, f"{size:,} bytes, ones and zeros in turn")
