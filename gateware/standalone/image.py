# SPDX-License-Identifier: BSD-2-Clause
"""Plan image: what a board's flash memory holds for its start without a host
(docs/how/standalone.md). Pure Python."""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "FILL",
    "LAST",
    "HEADER_BYTES",
    "MAGIC",
    "VERSION",
    "BootReason",
    "BootStatus",
    "Image",
    "ImageError",
    "Segment",
    "build_hash",
    "pack",
    "regions",
    "unpack",
]

#: First bytes of an image; its version is the fourth one.
MAGIC = b"QPL"
VERSION = 2
#: Bytes of the header, its CRC-32 included.
HEADER_BYTES = 12
#: In the end of a segment, the byte address of its last word: its one word is repeated; there is
#: none, and no further one.
FILL, LAST = 1, 2


class BootStatus(enum.IntFlag):
    """Bits of the register ``soc_boot``."""

    BUSY = 1
    READY = 2
    REFUSED = 4


class BootReason(enum.IntEnum):
    """Why an image was refused: bits 6 to 4 of ``soc_boot``, and the number of blinks."""

    NONE = 0
    NO_IMAGE = 1
    VERSION = 2
    DAMAGED = 3
    BUILD = 4
    BUS = 5


class ImageError(ValueError):
    """Not a plan image that can be used; ``reason`` is a :class:`BootReason`."""

    def __init__(self, message: str, reason: BootReason):
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Segment:
    """Bytes for an address of the bus. ``repeat``: how often ``data``, then one word, is written
    there, one behind the other."""

    address: int
    data: bytes
    repeat: int = 1

    @property
    def size(self) -> int:
        """Bytes that are written."""
        return len(self.data) * self.repeat


@dataclass(frozen=True)
class Image:
    """A plan image: hash of the build that it is for, and its segments in order."""

    build: int
    segments: tuple[Segment, ...]


def build_hash(tag: str, params_hash: int) -> int:
    """Hash of a build: of its core's tag and the hash of its parameters."""
    return zlib.crc32(tag.encode("ascii") + params_hash.to_bytes(4, "little"))


def _summed(data):
    return data + zlib.crc32(data).to_bytes(4, "little")


def pack(build: int, segments: Iterable[Segment]) -> bytes:
    """The bytes of an image.

    Raises
    ------
    ValueError
        A segment is no whole words, or is empty.
    """
    out = [_summed(MAGIC + struct.pack("<BI", VERSION, build))]
    for segment in segments:
        if segment.address % 4 or len(segment.data) % 4 or not segment.data:
            raise ValueError(
                f"segment at {segment.address:#x} of {len(segment.data)} bytes: expected whole "
                f"words, one or more"
            )
        if segment.repeat != 1 and len(segment.data) != 4:
            raise ValueError(
                f"segment at {segment.address:#x}: expected one word to repeat, found "
                f"{len(segment.data)} bytes"
            )
        end = segment.address + segment.size
        if end >> 32 or (segment.address ^ (end - 4)) >> 31:
            raise ValueError(
                f"segment at {segment.address:#x} of {segment.size} bytes: expected one that ends "
                f"below {0x8000_0000 if segment.address < 0x8000_0000 else 1 << 32:#x}"
            )
        last = end - 4 | (FILL if segment.repeat != 1 else 0)
        out.append(_summed(struct.pack("<II", segment.address, last)))
        out.append(_summed(segment.data))
    out.append(_summed(struct.pack("<II", 0, LAST)))
    return b"".join(out)


def unpack(data: bytes, build: int | None = None) -> Image:
    """Reads an image as a board does; ``build``: the hash that it must have.

    Raises
    ------
    ImageError
        With the reason for which the board would refuse it.
    """
    at = 0

    def take(size, what):
        nonlocal at
        found = data[at : at + size + 4]
        if len(found) < size + 4 or _summed(found[:size]) != found:
            raise ImageError(f"plan image: {what} at byte {at} is damaged", BootReason.DAMAGED)
        at += size + 4
        return found[:size]

    if data[:3] != MAGIC:
        raise ImageError(
            f"plan image: expected the bytes {MAGIC!r} first, found {bytes(data[:3])!r}",
            BootReason.NO_IMAGE,
        )
    version, found = struct.unpack("<3xBI", take(HEADER_BYTES - 4, "the header"))
    if version != VERSION:
        raise ImageError(f"plan image of version {version}: expected {VERSION}", BootReason.VERSION)
    if build is not None and found != build:
        raise ImageError(
            f"plan image for build {found:08x}: expected {build:08x}", BootReason.BUILD
        )
    segments: list[Segment] = []
    while True:
        address, end = struct.unpack("<II", take(8, "a segment's header"))
        size, fills = (end & ~3) + 4 - address, bool(end & FILL)
        if end & LAST:
            return Image(found, tuple(segments))
        if size <= 0 or address % 4:
            raise ImageError(
                f"plan image: a segment of words from {address:#x} to {end & ~3:#x}: expected "
                "whole words, one or more",
                BootReason.DAMAGED,
            )
        body = take(4 if fills else size, "a segment")
        segments.append(Segment(address, body, size // 4 if fills else 1))


def regions(memory: bytes, touched: Sequence[tuple[int, int]]) -> list[Segment]:
    """Segments of main memory's ranges ``touched`` (first, end), rounded to words. Words that
    repeat for long are filled."""
    found: list[Segment] = []
    for first, end in _merged(touched):
        found += _filled(first, memory[first:end])
    return found


def _merged(ranges):
    merged: list[list[int]] = []
    for first, end in sorted((first & ~3, -(-end // 4) * 4) for first, end in ranges):
        if merged and first <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        elif end > first:
            merged.append([first, end])
    return merged


#: Words from which on a fill is shorter than the words themselves, its two headers counted.
_LONG = 16


def _filled(address, data):
    words = memoryview(data).cast("I")
    begin = at = 0
    while at < len(words):
        end = at + 1
        while end < len(words) and words[end] == words[at]:
            end += 1
        if end - at >= _LONG:
            if at > begin:
                yield Segment(address + 4 * begin, bytes(data[4 * begin : 4 * at]))
            yield Segment(address + 4 * at, bytes(data[4 * at : 4 * at + 4]), end - at)
            begin = end
        at = end
    if begin < len(words):
        yield Segment(address + 4 * begin, bytes(data[4 * begin :]))
