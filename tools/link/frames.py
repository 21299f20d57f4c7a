# SPDX-License-Identifier: BSD-2-Clause
"""Frames of the link and their contents: encoding and decoding on the host (docs/how/link.md)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from quintet.gateware.link.protocol import ANSWER, MAX_RUN, Operation, Status, step_of

from .access import Access
from .pipe import BytesLike

__all__ = ["Answer", "Decoder", "Request", "cobs_decode", "cobs_encode", "frame", "join_writes"]

#: Longest frame that can be an answer: 65,536 bytes of data, COBS, and everything else, rounded up.
LONGEST = 66_000


def cobs_encode(contents: bytes) -> bytes:
    """Encodes ``contents`` by consistent overhead byte stuffing, so that it has no zero byte."""
    encoded = bytearray()
    blocks = contents.split(b"\0")
    for number, block in enumerate(blocks):
        while len(block) > 254:
            encoded.append(255)
            encoded += block[:254]
            block = block[254:]
        # A block of 254 bytes at the end of everything needs no further one; one before a zero
        # does.
        if len(block) == 254 and number < len(blocks) - 1:
            encoded.append(255)
            encoded += block
            block = b""
        encoded.append(len(block) + 1)
        encoded += block
    return bytes(encoded)


def cobs_decode(encoded: bytes) -> bytes | None:
    """Decodes the contents of a frame (without its final zero); ``None`` if it is damaged."""
    contents = bytearray()
    position = 0
    while position < len(encoded):
        code = encoded[position]
        block = encoded[position + 1 : position + code]
        if code == 0 or len(block) != code - 1:
            return None
        contents += block
        position += code
        if code != 255 and position < len(encoded):
            contents.append(0)
    return bytes(contents)


def frame(contents: bytes) -> bytes:
    """Builds a frame from its contents: CRC appended, COBS encoded, zero at the end."""
    return cobs_encode(contents + struct.pack("<I", zlib.crc32(contents))) + b"\0"


@dataclass(frozen=True)
class Request:
    """One request. ``length`` is the number of bytes that it reads, sums or fills; ``data`` is the
    data of a write, or the pattern (4 bytes) of a fill. A strided request covers runs of ``run``
    bytes (1 to 256), ``stride`` bytes from start to start."""

    operation: Operation
    address: int = 0
    length: int = 0
    data: bytes = b""
    run: int = 0
    stride: int = 0

    def encode(self, session: bytes, sequence: int) -> bytes:
        """Encodes the request as a frame, for a session (2 bytes) and a sequence number."""
        contents = struct.pack("<B2sB", self.operation, session, sequence & 0xFF)
        if self.operation == Operation.FILL:
            contents += self.data
        if self.operation.strided:
            contents += struct.pack("<Bh", self.run & 0xFF, step_of(self.run, self.stride))
        body = self.data if self.operation.carries else struct.pack("<H", self.length & 0xFFFF)
        return frame(contents + struct.pack("<I", self.address) + body)

    @property
    def answer_data(self) -> int:
        """Number of data bytes in an error-free answer."""
        return 0 if self.operation.writes else 4 if self.operation.sums else self.length

    @property
    def span(self) -> int:
        """Bytes of memory or registers that the request covers."""
        return self.length or len(self.data)

    @property
    def line_bytes(self) -> tuple[int, int]:
        """Bytes on the line for the request and an error-free answer, including the zeros that end
        them."""
        asked = (
            12
            + (len(self.data) if self.operation.writes else 2)
            + (3 if self.operation.strided else 0)
        )
        if self.operation == Operation.FILL:
            asked += 2
        answered = 9 + self.answer_data
        return asked + asked // 254 + 2, answered + answered // 254 + 2

    @property
    def unseen(self) -> int:
        """Bytes that the board processes while the line is idle."""
        return self.span if self.operation.sums or self.operation == Operation.FILL else 0

    @property
    def end(self) -> int:
        """Address after the last byte."""
        if not self.operation.strided:
            return self.address + self.span
        before = (self.span - 1) // self.run
        return max(
            self.address + min(self.run, self.span),
            self.address + before * (self.stride - self.run) + self.span,
        )

    def __str__(self):
        if self.operation == Operation.IDENTIFY:
            return "identify"
        runs = (
            f" in runs of {self.run}, {self.stride} apart,"
            if self.operation.strided and self.run != self.stride
            else ""
        )
        return (
            f"{self.operation.name.lower().partition('_')[0]} of {self.span} bytes{runs} at "
            f"{self.address:#010x}"
        )


def join_writes(writes: Sequence[Access], most: int) -> list[Access | Request]:
    """Consecutive writes of one range each, of equal length and at equal distance, forward or back,
    as one strided request of at most ``most`` bytes if a frame can express it; others as they
    are."""
    groups: list[list[Access]] = []
    for access in writes:
        if groups and _continues(groups[-1], access, most):
            groups[-1].append(access)
        else:
            groups.append([access])
    return [
        first
        if not rest
        else Request(
            Operation.WRITE_STRIDED,
            first.address,
            data=b"".join(access.data or b"" for access in (first, *rest)),
            run=first.size,
            stride=rest[0].address - first.address,
        )
        for first, *rest in groups
    ]


def _continues(group, access, most):
    """Whether a write can follow those of a group in their request."""
    first, last = group[0], group[-1]
    if access.run is not None or first.run is not None:
        return False
    if not 0 < access.size == first.size <= MAX_RUN or (len(group) + 1) * access.size > most:
        return False
    gap = access.address - last.address
    if len(group) == 1:
        return step_of(access.size, gap) is not None
    return gap == last.address - group[-2].address


@dataclass(frozen=True)
class Answer:
    """One answer. ``expected`` and ``address`` are present if the status is not OK."""

    operation: Operation
    session: bytes
    sequence: int
    status: Status
    data: bytes = b""
    expected: int | None = None
    address: int | None = None

    def encode(self) -> bytes:
        """Encodes the answer as a frame."""
        body = self.data
        if self.status != Status.OK:
            body += struct.pack("<BI", self.expected, self.address)
        head = struct.pack("<B2sB", ANSWER | self.operation, self.session, self.sequence)
        return frame(head + body + bytes([self.status]))

    @classmethod
    def decode(cls, contents: bytes) -> Answer | None:
        """Decodes an answer from the contents of a frame without its CRC; ``None`` if they are not
        an answer."""
        if len(contents) < 5 or contents[0] & 0xF8 != ANSWER or contents[-1] not in set(Status):
            return None
        operation, session, sequence = struct.unpack("<B2sB", contents[:4])
        status, data = Status(contents[-1]), contents[4:-1]
        expected = address = None
        if status != Status.OK:
            if len(data) < 5:
                return None
            expected, address = struct.unpack("<BI", data[-5:])
            data = b""
        return cls(Operation(operation & 7), session, sequence, status, data, expected, address)


class Decoder:
    """Splits received bytes into frames; yields the contents of undamaged frames, without CRC.

    Attributes
    ----------
    damaged : int
        Frames that were dropped.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self.damaged = 0

    def feed(self, received: BytesLike) -> list[bytes]:
        """Returns the contents of the frames that these bytes complete."""
        self._rest += received
        *frames, rest = (
            bytes(self._rest).split(b"\0") if b"\0" in received else (bytes(self._rest),)
        )
        # Noise without a zero must not fill the memory; what is cut off was no frame.
        self._rest = bytearray(rest[-LONGEST:])
        good = []
        for encoded in frames:
            contents = cobs_decode(encoded)
            if not encoded:
                continue
            if (
                contents is None
                or len(contents) < 4
                or zlib.crc32(contents[:-4]) != struct.unpack("<I", contents[-4:])[0]
            ):
                self.damaged += 1
                continue
            good.append(contents[:-4])
        return good
