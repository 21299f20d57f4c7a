# SPDX-License-Identifier: BSD-2-Clause
"""Constants of the link protocol (docs/how/link.md), for gateware and host. Pure Python."""

import enum

__all__ = [
    "ANSWER",
    "FIRST_STRIDED",
    "INFO_ADDRESS",
    "INFO_BYTES",
    "MAX_DATA",
    "MAX_RUN",
    "OVERHEAD",
    "VERSION",
    "Operation",
    "Status",
    "step_of",
    "stride_of",
]

#: Version of the protocol, for word 1 of the info header, and the first one with strided requests.
VERSION = 2
FIRST_STRIDED = 2

#: Set in the first byte of an answer.
ANSWER = 0x80

#: Where the info ROM lies, and how much of it identify asks for.
INFO_ADDRESS = 0x8002_0000
INFO_BYTES = 64

#: Most data bytes of a write request.
MAX_DATA = 512

#: Most bytes of a run of a strided request.
MAX_RUN = 256

#: Bytes of a request around its data: operation, session (2), sequence, address (4), CRC (4).
OVERHEAD = 12


class Operation(enum.IntEnum):
    """Operation codes of requests."""

    IDENTIFY = 0
    READ = 1
    WRITE = 2
    CHECKSUM = 3
    FILL = 4
    READ_STRIDED = 5
    WRITE_STRIDED = 6
    CHECKSUM_STRIDED = 7

    @property
    def strided(self) -> bool:
        """Whether the operation addresses strided runs of bytes."""
        return self >= 4

    @property
    def writes(self) -> bool:
        """Whether the operation writes."""
        return self in (Operation.WRITE, Operation.WRITE_STRIDED, Operation.FILL)

    @property
    def carries(self) -> bool:
        """Whether the request carries data."""
        return self in (Operation.WRITE, Operation.WRITE_STRIDED)

    @property
    def sums(self) -> bool:
        """Whether the operation answers with a checksum."""
        return self in (Operation.CHECKSUM, Operation.CHECKSUM_STRIDED)


class Status(enum.IntEnum):
    """Status codes of answers."""

    OK = 0
    BUS_ERROR = 1
    SEQUENCE = 2
    SESSION = 3
    BAD_REQUEST = 4


def step_of(run: int, stride: int) -> int | None:
    """Encodes a stride for a frame: minus the words of a run of ``run`` bytes that does not begin
    at a word's first byte; ``None`` if a frame cannot encode it."""
    step = stride - (run + 3 & ~3) - 4
    return step if -0x8000 <= step < 0x8000 else None


def stride_of(run: int, step: int) -> int:
    """Decodes a stride from a frame, the inverse of :func:`step_of`."""
    return step + (run + 3 & ~3) + 4
