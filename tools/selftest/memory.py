# SPDX-License-Identifier: BSD-2-Clause
"""Main memory: data lines, address lines, random words, every byte twice, and what a pause leaves
of them."""

import zlib

import numpy as np

from .finding import Finding
from .link import line_share

__all__ = ["test_memory"]

#: Bytes of random data, seconds of the pause, and bytes that are filled, of a board (all) and of a
#: simulated one.
_RANDOM = {"board": 32768, "sim": 2048}
_PAUSE = {"board": 1.0, "sim": 0.001}
_FILLED = {"board": 1 << 32, "sim": 1 << 14}
_WIRING = "look at the solder joints and at the pins in the board's file"


def test_memory(target, rng):
    kind, size = target.info.kind, target.info.memory_size
    lanes = 8 * int(target.info.memory.get("beat_bytes") or 2)
    yield _data_lines(target, lanes)
    yield _address_lines(target, size)
    data = rng.integers(0, 256, min(size, int(line_share(target, _RANDOM[kind]))), np.uint8)
    at = (size - data.size) // 2 & ~63
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
        "rows are not refreshed in time: is the clock right, and the chip the one that the "
        "board's file names?",
    )
    yield _every_byte(target, min(size, _FILLED[kind]))


def _read(target, at, size):
    return np.frombuffer(target.read(at, size), np.uint8)


def _data_lines(target, lanes):
    """Ones and zeros that walk over the lines, in one beat."""
    wide = lanes // 8
    rows = [1 << n for n in range(lanes)] + [(1 << lanes) - 1 ^ 1 << n for n in range(lanes)]
    data = b"".join(row.to_bytes(wide, "little") for row in rows)
    target.write(0, data)
    found = target.read(0, len(data))
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
            f"this line is open or shorted: {_WIRING}",
        )
    wrong = sum(a != b for a, b in zip(seen, rows, strict=True))
    return Finding(
        "memory",
        "data lines",
        False,
        f"{wrong} of {len(rows)} patterns came back otherwise",
        "no single line explains it: commands, address lines or the phase of the memory's "
        "clock (sdram in report.json)",
    )


def _address_lines(target, size):
    """A word of its own at 0 and at every power of two: what two lines confuse is found twice."""
    places = [0, *(1 << n for n in range(2, (size - 1).bit_length()))]
    for number, place in enumerate(places):
        target.write(place, (0xA500_0000 + number).to_bytes(4, "little"))
    seen = {place: int.from_bytes(target.read(place, 4), "little") for place in places}
    wrong = [place for number, place in enumerate(places) if seen[place] != 0xA500_0000 + number]
    if not wrong:
        return Finding(
            "memory",
            "address lines",
            True,
            f"{len(places)} places up to {places[-1]:#x}, each with a word of its own",
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
        f"address lines are exchanged, open or shorted: {_WIRING}",
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


def _every_byte(target, size):
    """Each byte with ones and zeros in turn, both ways, summed up by the board."""
    for value in (0x55, 0xAA):
        target.fill(0, size, value)
        crc, part = 0, bytes([value]) * 65536
        for at in range(0, size, len(part)):
            crc = zlib.crc32(part[: size - at], crc)
        found = target.checksum(0, size)
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
